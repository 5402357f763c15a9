import { Options } from "@effect/cli"
import { Effect } from "effect"
import type { Variables } from "../../domain/run/Run.ts"
import { type Failure, usage } from "../Failure.ts"

/** `--var name=text` and `--json-var name=<json>`, both repeatable. */
export const variableOptions = {
  text: Options.text("var").pipe(
    Options.withPseudoName("name=text"),
    Options.withDescription("A variable with this text; may be repeated"),
    Options.repeated
  ),
  json: Options.text("json-var").pipe(
    Options.withPseudoName("name=json"),
    Options.withDescription("A variable with this JSON value; may be repeated"),
    Options.repeated
  )
}

/** Splits `name=value`. */
export const split = (option: string, assignment: string) => {
  const at = assignment.indexOf("=")
  return at < 1
    ? Effect.fail(usage(`${option} takes name=value, not ${JSON.stringify(assignment)}`))
    : Effect.succeed([assignment.slice(0, at), assignment.slice(at + 1)] as const)
}

const parseJson = (name: string, text: string) =>
  Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: () => usage(`--json-var ${name} is not JSON: ${JSON.stringify(text)}`)
  })

export interface GivenVariables {
  readonly text: ReadonlyArray<string>
  readonly json: ReadonlyArray<string>
}

/** All variables. A repeated name is an error. */
export const variablesOf = Effect.fn("Cli.variablesOf")(function* (
  given: GivenVariables
): Effect.fn.Return<Variables, Failure> {
  const pairs: Array<readonly [string, unknown]> = []
  for (const assignment of given.text) pairs.push(yield* split("--var", assignment))
  for (const assignment of given.json) {
    const [name, text] = yield* split("--json-var", assignment)
    pairs.push([name, yield* parseJson(name, text)])
  }
  const twice = pairs.find(([name], index) => pairs.some(([other], before) => before < index && other === name))
  if (twice !== undefined) return yield* usage(`the variable ${twice[0]} is given twice`)
  return Object.fromEntries(pairs)
})
