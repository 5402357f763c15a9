/** Objects on the command line: a webhook by its ID or name, a run by its ID or a part of it. */
import { Effect, Schema } from "effect"
import type { HttpClient } from "effect/http"
import type { Client } from "../api/Client.ts"
import { pageSize } from "../api/PageSize.ts"
import { RunId } from "../domain/Id.ts"
import { phaseOf } from "../domain/run/RunStatus.ts"
import type { RunSummary } from "../domain/run/RunSummary.ts"
import type { Connection } from "./Call.ts"
import { exitCodes, Failure, refused } from "./Failure.ts"
import { isId, shortIdLength, time } from "./Output.ts"

export const noWebhook = (ref: string) =>
  `No webhook has the id or name ${JSON.stringify(ref)}; see webhook-trigger webhook list`

/** The objects whose IDs begin or end with the text. */
const withEnd = <A extends { readonly id: string }>(data: ReadonlyArray<A>, ref: string): ReadonlyArray<A> => {
  const part = ref.toLowerCase()
  return isPart(ref) ? data.filter(({ id }) => id.startsWith(part) || id.endsWith(part)) : []
}
const isPart = (ref: string) => /^[0-9a-f-]{4,}$/i.test(ref)

const onlyOne = <A extends { readonly id: string }>(ref: string, found: ReadonlyArray<A>, missing: string) =>
  found.length === 1
    ? Effect.succeed(found[0]!)
    : found.length === 0
      ? refused(missing)
      : refused(`${found.length} ids begin or end with ${ref}`, found.map(({ id }) => id).join(", "))

type Params = Readonly<Record<string, unknown>>
type ListOf = (
  client: Client,
  params: any
) => Effect.Effect<{ readonly data: ReadonlyArray<{ readonly id: string }> }, unknown, HttpClient.HttpClient>

/** Finds what a list has, by its ID or a part of that. A whole ID needs no request. */
export const findIn =
  (list: ListOf) =>
  ({ call }: Pick<Connection, "call">, ref: string, params: Params, missing: string) =>
    isId(ref)
      ? Effect.succeed({ id: ref })
      : Effect.flatMap(
          isPart(ref) ? call((client) => list(client, params)) : Effect.succeed({ data: [] }),
          ({ data }) => onlyOne(ref, withEnd(data, ref), missing)
        )

/** Finds the webhook by its ID or a part of it, or by its name if that is unique. */
export const findWebhook = Effect.fn("Cli.findWebhook")(function* ({ call }: Pick<Connection, "call">, ref: string) {
  if (isId(ref)) return yield* call((client) => client.webhooks.show({ params: { id: ref } }), noWebhook(ref))
  const { data } = yield* call((client) => client.webhooks.list())
  const named = data.filter(({ name }) => name === ref)
  if (named.length > 1) {
    const ids = named.map(({ id }) => id).join(", ")
    return yield* refused("More than one webhook has this name", `use its id: ${ids}`)
  }
  return named[0] ?? (yield* onlyOne(ref, withEnd(data, ref), noWebhook(ref)))
})

export const noRun = (ref: string) => `No run has the id ${JSON.stringify(ref)}; see webhook-trigger run list`

/** The newest runs, among which a part of an ID is searched. */
const searched = 1_000
/** The candidates that an error names. */
const shown = 10

const several = (part: string, of: ReadonlyArray<RunSummary>) =>
  new Failure({
    exit: exitCodes.refused,
    title: `${of.length} runs have an id that begins or ends with ${part}`,
    faults: of
      .slice(0, shown)
      .map((run) => ({ pointer: run.run_id, detail: `${phaseOf(run)}, accepted ${time(run.accepted_at)}` }))
  })

const withPart = Effect.fnUntraced(function* ({ call }: Pick<Connection, "call">, ref: string) {
  const part = ref.toLowerCase()
  const found: Array<RunSummary> = []
  let cursor: string | null | undefined
  for (let read = 0; read < searched && cursor !== null; read += pageSize.maximum) {
    const page = yield* call((client) =>
      client.runs.list({ query: { limit: pageSize.maximum, cursor: cursor ?? undefined } })
    )
    found.push(...page.data.filter(({ run_id }) => run_id.startsWith(part) || run_id.endsWith(part)))
    cursor = page.next_cursor
    // So many random digits are those of one run.
    if (found.length === 1 && found[0]!.run_id.endsWith(part) && part.length >= shortIdLength) break
  }
  if (found.length > 1) return yield* several(part, found)
  return (
    found[0]?.run_id ??
    (yield* refused(
      `None of the newest ${searched.toLocaleString("en")} runs has an id that begins or ends with ${part}; see webhook-trigger run list`
    ))
  )
})

/** The ID of the run: itself, the beginning or end of one, or `last`. A whole ID needs no request. */
export const findRun = Effect.fn("Cli.findRun")(function* (connection: Pick<Connection, "call">, ref: string) {
  if (Schema.is(RunId)(ref)) return ref
  if (ref === "last") {
    const { data } = yield* connection.call((client) => client.runs.list({ query: { limit: 1 } }))
    return data[0]?.run_id ?? (yield* refused("There are no runs yet"))
  }
  return yield* isPart(ref) ? withPart(connection, ref) : refused(noRun(ref))
})
