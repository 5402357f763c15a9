/** Runs as files, of any number: they are written as they are read, a few at a time. */
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { DateTime, Effect, Option, Schedule, Schema, Stream } from "effect"
import { Run } from "../domain/Run.ts"
import { Webhooks } from "../engine/Webhooks.ts"
import { HistoryStore } from "../repo/HistoryStore.ts"
import type { RunFilter } from "../repo/RunQuery.ts"
import * as Body from "./Body.ts"
import { csvLine } from "./Csv.ts"

/** Whole texts may have megabytes each. */
const readAtOnce = 25

/** The database may be away for a moment in the middle of an export. */
const retries = Schedule.intersect(Schedule.exponential("200 millis"), Schedule.recurs(5))

type Request = HttpServerRequest.HttpServerRequest

interface Format {
  readonly contentType: string
  readonly file: string
  readonly head: string
  /** `nameOf` gives the name of the run's webhook. */
  readonly line: (run: Run, nameOf: (run: Run) => string | undefined) => string
}

const time = (at: DateTime.Utc | undefined): string | undefined => at && DateTime.formatIso(at)

const columns: ReadonlyArray<readonly [string, (run: Run, name: string | undefined) => string | number | undefined]> = [
  ["run_id", (run) => run.run_id],
  ["status", (run) => run.status],
  ["source", (run) => run.source],
  ["webhook_id", (run) => run.webhook_id],
  ["webhook", (_, name) => name],
  ["team", (run) => run.team],
  ["mode", (run) => run.mode],
  ["accepted_at", (run) => time(run.accepted_at)],
  ["sent_at", (run) => time(run.sent_at)],
  ["started_at", (run) => time(run.started_at)],
  ["finished_at", (run) => time(run.finished_at)],
  ["duration_ms", (run) => run.duration_ms],
  ["error_code", (run) => run.error?.code],
  ["error_message", (run) => run.error?.message],
  ["variables", (run) => JSON.stringify(run.variables)],
  ["prompt", (run) => run.conversation.prompt],
  ["response", (run) => run.conversation.response]
]

export const csv: Format = {
  contentType: "text/csv; charset=utf-8",
  file: "runs.csv",
  head: csvLine(columns.map(([name]) => name)),
  line: (run, nameOf) => csvLine(columns.map(([, valueOf]) => valueOf(run, nameOf(run))))
}

const toJson = Schema.encodeSync(Schema.parseJson(Run))

export const jsonLines: Format = {
  contentType: "application/jsonl",
  file: "runs.jsonl",
  head: "",
  line: (run) => `${toJson(run)}\n`
}

/**
 * Writes the runs that fulfil the filter. Fails as long as nothing is written; what fails later closes the connection, so
 * that nobody takes the part for the whole.
 */
export const make = Effect.gen(function* () {
  const history = yield* HistoryStore
  const webhooks = yield* Webhooks

  return Effect.fn("RunExport.respond")(function* (request: Request, filter: RunFilter, format: Format) {
    const names = new Map((yield* webhooks.list).map(({ id, name }) => [id, name]))
    const nameOf = ({ webhook_id }: Run) => webhook_id && names.get(webhook_id)
    const read = (cursor: string | undefined) =>
      history.wholeRuns({ ...filter, limit: readAtOnce, ...(cursor !== undefined && { cursor }) })
    const first = yield* read(undefined)
    const others = Stream.unfoldEffect(first.next_cursor, (cursor) =>
      cursor === null
        ? Effect.succeedNone
        : Effect.map(Effect.retry(read(cursor), retries), (page) => Option.some([page, page.next_cursor] as const))
    )
    const lines = Stream.map(Stream.concat(Stream.make(first), others), ({ data }) =>
      data.map((run) => format.line(run, nameOf)).join("")
    )
    const body = Stream.concat(Stream.make(format.head), lines).pipe(
      Stream.filter((text) => text !== ""),
      Stream.encodeText,
      Stream.tapErrorCause(() => Effect.sync(() => Body.nodeRequest(request)?.destroy()))
    )
    return HttpServerResponse.stream(body, {
      contentType: format.contentType,
      headers: { "content-disposition": `attachment; filename="${format.file}"`, "x-accel-buffering": "no" }
    })
  })
})
