/**
 * Exports any number of runs as files. Runs are read once the client has received the previous ones. So an export holds
 * about a megabyte of them in memory, whether or not its client reads.
 */
import { Context, type Duration, Effect, Layer, Schedule, Schema, type Scope, Semaphore, Stream } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import {
  type InvalidParameter,
  type NotFound,
  TooManyExports,
  type Unauthorized,
  type Unavailable
} from "../../../domain/Errors.ts"
import type { RunId } from "../../../domain/Id.ts"
import * as Json from "../../../domain/Json.ts"
import { Run } from "../../../domain/run/Run.ts"
import type { RunSummary } from "../../../domain/run/RunSummary.ts"
import type { Step } from "../../../domain/run/Step.ts"
import { Webhooks } from "../../../engine/manage/Webhooks.ts"
import { HistoryStore } from "../../../repo/history/HistoryStore.ts"
import type { RunFilter } from "../../../repo/history/RunQuery.ts"
import { ProgressStore } from "../../../repo/run/ProgressStore.ts"
import * as FileStream from "./FileStream.ts"

/** Summaries per page. The runs themselves are read a few at a time. */
const pageSize = 100

/** Runs are read together up to this many bytes of text. A longer run is read alone. */
const bytesTogether = 1024 ** 2

/** How many runs are read together: each may have steps. */
const mostTogether = 20

/** How many unfinished runs are read together: each may have a long answer by then. */
const mostUnanswered = 4

/** Retries, since the database may be unreachable for a moment during an export. */
const retries = Schedule.max([Schedule.exponential("200 millis"), Schedule.recurs(5)])

/** The retries of a check that can also refuse for good. */
const whileUnavailable = { schedule: retries, while: ({ _tag }: Unauthorized | Unavailable) => _tag === "Unavailable" }

type Request = HttpServerRequest.HttpServerRequest

export interface Format extends FileStream.File {
  readonly head: string
  /** A run's line; `nameOf` gives the name of the run's webhook. */
  readonly line: (run: ExportedRun, nameOf: (run: Run) => string | undefined) => string
  readonly hasSteps?: boolean
}

type ExportedRun = Run & { readonly steps?: ReadonlyArray<Step> }

const toJson = Schema.encodeSync(Run)

export const jsonLines: Format = {
  contentType: "application/jsonl",
  file: "runs.jsonl",
  head: "",
  hasSteps: true,
  line: ({ steps, ...run }) => `${Json.stringify({ ...toJson(run), ...(steps && { steps }) })}\n`
}

const weightOf = ({ sizes: { variables, prompt, response, error = 0 }, status }: RunSummary): number =>
  variables + prompt + error + (response ?? (status === "error" ? 0 : bytesTogether / mostUnanswered))

const noSteps: ReadonlyMap<RunId, ReadonlyArray<Step>> = new Map()

/** Groups of runs that are read together. */
const groupsOf = (runs: ReadonlyArray<RunSummary>): ReadonlyArray<ReadonlyArray<RunId>> => {
  const groups: Array<Array<RunId>> = []
  let weight = 0
  for (const run of runs) {
    weight += weightOf(run)
    if (groups.length > 0 && weight <= bytesTogether && groups.at(-1)!.length < mostTogether)
      groups.at(-1)!.push(run.run_id)
    else {
      groups.push([run.run_id])
      weight = weightOf(run)
    }
  }
  return groups
}

interface Limits {
  /** The maximum number of exports in this process. */
  readonly atOnce: number
  /** A client that reads nothing for this long is disconnected, since it keeps others from exporting. */
  readonly patience: Duration.Input
}

export class RunExport extends Context.Service<
  RunExport,
  {
    /** One of the exports in this process, until the scope closes. */
    readonly place: Effect.Effect<void, TooManyExports, Scope.Scope>
    /**
     * Writes the runs that match the filter. Can fail until something is written. A later failure closes the
     * connection, so that nobody takes a part for the whole. `stillSignedIn` is asked before runs are read.
     */
    readonly respond: (
      request: Request,
      filter: RunFilter,
      format: Format,
      stillSignedIn: Effect.Effect<void, Unauthorized | Unavailable>
    ) => Effect.Effect<
      HttpServerResponse.HttpServerResponse,
      InvalidParameter | NotFound | TooManyExports | Unavailable,
      Scope.Scope
    >
  }
>()("webhook-trigger/RunExport") {
  static readonly layerWith = ({
    atOnce,
    patience
  }: Limits): Layer.Layer<RunExport, never, HistoryStore | ProgressStore | Webhooks> =>
    Layer.effect(
      RunExport,
      Effect.gen(function* () {
        const history = yield* HistoryStore
        const progress = yield* ProgressStore
        const webhooks = yield* Webhooks
        // While a driver reads long texts, it uses several times their size in memory.
        const reading = yield* Semaphore.make(1)

        let open = 0
        const place = Effect.asVoid(
          Effect.acquireRelease(
            Effect.suspend(() => (open < atOnce ? Effect.sync(() => open++) : new TooManyExports({ limit: atOnce }))),
            () => Effect.sync(() => open--)
          )
        )

        const pages = (filter: RunFilter) => (cursor: string | undefined) =>
          history.runs({ ...filter, limit: pageSize, ...(cursor !== undefined && { cursor }) })

        const runsOf = (ids: ReadonlyArray<RunId>, hasSteps: boolean) =>
          Effect.zip(history.runsByIds(ids), hasSteps ? progress.stepsOf(ids) : Effect.succeed(noSteps)).pipe(
            reading.withPermits(1),
            Effect.retry(retries),
            Effect.map(([found, stepsOf]) => {
              const byId = new Map(found.map((run) => [run.run_id, run]))
              return ids.flatMap((id): ReadonlyArray<ExportedRun> => {
                const [run, steps] = [byId.get(id), stepsOf.get(id)]
                return run === undefined ? [] : [{ ...run, ...(steps && { steps }) }]
              })
            })
          )

        const respond = Effect.fn("RunExport.respond")(function* (
          request: Request,
          filter: RunFilter,
          format: Format,
          stillSignedIn: Effect.Effect<void, Unauthorized | Unavailable>
        ) {
          yield* place
          const names = new Map((yield* webhooks.list).map(({ id, name }) => [id, name]))
          const nameOf = ({ webhook_id }: Run) => webhook_id && names.get(webhook_id)
          const read = pages(filter)
          const first = yield* read(undefined)
          const others = Stream.unfold(first.next_cursor, (cursor) =>
            cursor === null
              ? Effect.undefined
              : Effect.map(Effect.retry(read(cursor), retries), (page) => [page, page.next_cursor] as const)
          )
          const lines = Stream.concat(Stream.make(first), others).pipe(
            Stream.map(({ data }) => groupsOf(data)),
            Stream.flattenIterable,
            Stream.tap(() => Effect.retry(stillSignedIn, whileUnavailable)),
            Stream.mapEffect((ids) => runsOf(ids, format.hasSteps === true)),
            Stream.map((runs) => runs.map((run) => format.line(run, nameOf)).join(""))
          )
          return FileStream.respond(request, format, Stream.concat(Stream.succeed(format.head), lines), patience)
        })
        return RunExport.of({ place, respond })
      })
    )

  static readonly layer = RunExport.layerWith({ atOnce: 4, patience: "1 minute" })
}
