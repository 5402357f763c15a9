import { Effect, type FileSystem } from "effect"
import { Flag } from "effect/cli"
import * as Json from "../../domain/Json.ts"
import type { Variables } from "../../domain/run/Run.ts"
import { type Failure, usage } from "../Failure.ts"
import { readText } from "../Files.ts"

/** `--var name=text` and `--json-var name=json`, both repeatable. */
export const variableOptions = {
  text: Flag.String("var").pipe(
    Flag.withMetavar("name=text|@file"),
    Flag.withDescription("A variable with this text, or the text of a file; may be repeated"),
    Flag.repeated
  ),
  json: Flag.String("json-var").pipe(
    Flag.withMetavar("name=json|@file"),
    Flag.withDescription("A variable with this JSON value, or that of a file; may be repeated"),
    Flag.repeated
  )
}

/** Splits `name=value`. */
export const split = (option: string, assignment: string) => {
  const at = assignment.indexOf("=")
  return at < 1
    ? Effect.fail(usage(`${option} takes name=value, not ${JSON.stringify(assignment)}`))
    : Effect.succeed([assignment.slice(0, at), assignment.slice(at + 1)] as const)
}

/** `@file` is the text of a file, `@-` of standard input. `@@` stands for `@` at the beginning of a text. */
const textOf = (option: string, value: string) => {
  if (!value.startsWith("@")) return Effect.succeed(value)
  if (value.startsWith("@@")) return Effect.succeed(value.slice(1))
  return Effect.mapError(readText(value.slice(1)), (detail) =>
    usage(`${option}: ${detail}; for a text that begins with @, write @@`)
  )
}

const jsonOf = (option: string, value: string) =>
  Effect.flatMap(textOf(option, value), (text) =>
    Effect.try({
      try: () => Json.parse(text),
      catch: () => usage(`${option} is not JSON: ${JSON.stringify(value)}`)
    })
  )

export interface GivenVariables {
  readonly text: ReadonlyArray<string>
  readonly json: ReadonlyArray<string>
}

/** All variables. A repeated name is an error. */
export const variablesOf = Effect.fn("Cli.variablesOf")(function* (
  given: GivenVariables
): Effect.fn.Return<Variables, Failure, FileSystem.FileSystem> {
  const pairs: Array<readonly [string, unknown]> = []
  for (const assignment of given.text) {
    const [name, value] = yield* split("--var", assignment)
    pairs.push([name, yield* textOf(`--var ${name}`, value)])
  }
  for (const assignment of given.json) {
    const [name, value] = yield* split("--json-var", assignment)
    pairs.push([name, yield* jsonOf(`--json-var ${name}`, value)])
  }
  const twice = pairs.find(([name], index) => pairs.some(([other], before) => before < index && other === name))
  if (twice !== undefined) return yield* usage(`the variable ${twice[0]} is given twice`)
  return Object.fromEntries(pairs)
})
