/** A run on the command line: its ID, the beginning or end of one, or `last`. */
import { Effect, Schema } from "effect"
import { Argument } from "effect/cli"
import type { Client } from "../../api/Client.ts"
import { pageSize } from "../../api/PageSize.ts"
import { RunId } from "../../domain/Id.ts"
import { phaseOf } from "../../domain/run/RunStatus.ts"
import type { RunSummary } from "../../domain/run/RunSummary.ts"
import { exitCodes, Failure } from "../Failure.ts"
import { shortIdLength, time } from "../Output.ts"

export const runArgument = Argument.String({ name: "run-id" }).pipe(
  Argument.withDescription("The run's ID, the beginning or end of one, or `last` for the newest run")
)

export const runNotFound = (ref: string) => `No run has the id ${JSON.stringify(ref)}; see webhook-trigger run list`

/** The newest runs, among which a part of an ID is searched. */
const searched = 1_000
/** The candidates that an error names. */
const shown = 10

const isPart = (ref: string): boolean => /^[0-9a-f-]{4,}$/i.test(ref)

const refused = (title: string, of: ReadonlyArray<RunSummary> = []) =>
  new Failure({
    exit: exitCodes.refused,
    title,
    faults: of
      .slice(0, shown)
      .map((run) => ({ pointer: run.run_id, detail: `${phaseOf(run)}, accepted ${time(run.accepted_at)}` }))
  })

const withPart = Effect.fnUntraced(function* (client: Client, ref: string) {
  const part = ref.toLowerCase()
  const found: Array<RunSummary> = []
  let cursor: string | null | undefined
  for (let read = 0; read < searched && cursor !== null; read += pageSize.maximum) {
    const urlParams = { limit: pageSize.maximum, cursor }
    const page = yield* client.runs.list({ urlParams })
    found.push(...page.data.filter(({ run_id }) => run_id.startsWith(part) || run_id.endsWith(part)))
    cursor = page.next_cursor
    // So many random digits are those of one run.
    if (found.length === 1 && found[0]!.run_id.endsWith(part) && part.length >= shortIdLength) break
  }
  if (found.length === 0) {
    return yield* refused(
      `None of the newest ${searched.toLocaleString("en")} runs has an id that begins or ends with ${part}; see webhook-trigger run list`
    )
  }
  if (found.length > 1) return yield* refused(`${found.length} runs have an id that begins or ends with ${part}`, found)
  return found[0]!.run_id
})

/** The run's ID. A whole ID needs no request. */
export const findRun = Effect.fn("Cli.findRun")(function* (client: Client, ref: string) {
  if (Schema.is(RunId)(ref)) return ref
  if (ref === "last") {
    const { data } = yield* client.runs.list({ urlParams: { limit: 1 } })
    return data[0]?.run_id ?? (yield* refused("There are no runs yet"))
  }
  return yield* isPart(ref) ? withPart(client, ref) : refused(runNotFound(ref))
})
