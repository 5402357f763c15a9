import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { RunId } from "../../domain/Id.ts"
import { Run } from "../../domain/run/Run.ts"
import { Admin } from "../Auth.ts"
import { pageSize } from "../PageSize.ts"
import {
  BadRequest,
  Conflict,
  ContentTooLarge,
  NotFound,
  ServiceUnavailable,
  TooManyRequests,
  UnprocessableContent,
  UnsupportedMediaType
} from "../Problem.ts"
import { exportPaths } from "./ExportPaths.ts"
import { mostReplayed, ReplayBody, Replayed, ReplayList, ReplayManyBody } from "./Replays.ts"
import { RunFilterParameters, RunList, RunPage } from "./RunPage.ts"
import { Accepted, Answered, Failed, IdempotencyKey, TimedOut, TimedOutInPage, Wait } from "./Trigger.ts"

const path = Schema.Struct({ run_id: Schema.String.annotations({ description: "The run's id." }) })

/** What the cancelling of several runs returns. */
export const Cancelled = Schema.Struct({
  cancelled: Schema.Number.annotations({ description: "How many runs that were." })
}).annotations({ description: "They are cancelled." })

/** What the cancelling of all that waits returns. */
export const QueueCancelled = Schema.Struct({
  cancelled: Schema.Number.annotations({ description: "How many runs and messages that were, which are never sent." }),
  retries: Schema.Number.annotations({ description: "How many failed runs that were, which are not tried again." })
}).annotations({ description: "All that waited is cancelled; with `dry_run=true`, what would be." })

export const DryRun = Schema.Struct({
  dry_run: Schema.optional(
    Schema.Literal("true", "false").annotations({
      description: "`true`: nothing is cancelled, and the response says how much would be."
    })
  )
})

/** Up to a page of runs. */
export const RunIds = Schema.Struct({
  run_ids: Schema.Array(RunId).pipe(
    Schema.minItems(1),
    Schema.maxItems(pageSize.maximum),
    Schema.annotations({ description: `The ids of 1 to ${pageSize.maximum} runs.` })
  )
})

/** A body that is written as the runs are read. */
const text = (contentType: string, description: string) =>
  Schema.String.annotations({ description }).pipe(HttpApiSchema.withEncoding({ kind: "Text", contentType }))

export class Runs extends HttpApiGroup.make("runs")
  .add(
    HttpApiEndpoint.get("list", "/api/runs")
      .setUrlParams(RunList)
      .addSuccess(RunPage)
      .addError(BadRequest)
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "Find runs",
          description:
            "The runs of all webhooks and teams, and chat messages, newest first, page by page: those that fulfil every condition. A rare text or state is looked for during half a second; then the page has what was found, and `searched_back_to`. Long texts are cut, as in a webhook's history."
        })
      )
  )
  .add(
    HttpApiEndpoint.get("exportCsv", exportPaths.csv)
      .setUrlParams(RunFilterParameters)
      .addSuccess(text("text/csv; charset=utf-8", "The runs as CSV (RFC 4180), with a line of column names."))
      .addError(BadRequest)
      .addError(NotFound)
      .addError(TooManyRequests)
      .annotateContext(
        OpenApi.annotations({
          summary: "Export runs as CSV",
          description:
            "All runs that fulfil the conditions, newest first, with whole texts, as they are read. A text that a spreadsheet would take for a formula begins with an apostrophe. A connection that is closed early shows that the export is not complete."
        })
      )
  )
  .add(
    HttpApiEndpoint.get("exportJsonLines", exportPaths.jsonl)
      .setUrlParams(RunFilterParameters)
      .addSuccess(text("application/jsonl", "The runs, each as one line of JSON."))
      .addError(BadRequest)
      .addError(NotFound)
      .addError(TooManyRequests)
      .annotateContext(
        OpenApi.annotations({
          summary: "Export runs as JSON Lines",
          description: "The same as CSV, each run as `GET /api/runs/:run_id` shows it."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("cancelSome", "/api/runs/cancel")
      .setPayload(RunIds)
      .addSuccess(Cancelled)
      .addError(BadRequest)
      .addError(ContentTooLarge)
      .addError(UnsupportedMediaType)
      .addError(UnprocessableContent)
      .annotateContext(
        OpenApi.annotations({
          summary: "Cancel several runs",
          description:
            "Each as by itself. Those that have ended in another way, and those that are not there, stay as they are and are not counted."
        })
      )
  )
  .add(
    HttpApiEndpoint.get("show", "/api/runs/:run_id")
      .setPath(path)
      .addSuccess(Run)
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "Show a run",
          description: "The whole run: a webhook's, or a chat message to a team."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("cancel", "/api/runs/:run_id/cancel")
      .setPath(path)
      .addSuccess(Run)
      .addError(NotFound)
      .addError(Conflict)
      .annotateContext(
        OpenApi.annotations({
          summary: "Cancel a run",
          description:
            "Ends it as `cancelled`, for its caller and in the history. One that is queued is never sent; of one that was sent, the leader is asked to stop, and its slots are free when the leader is done with it or its timeout has passed (`released_at`). Cancelling again changes nothing. A failed run that is to be tried again (`retry_at`) is not, and stays `error`."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("replay", "/api/runs/:run_id/replay")
      .setPath(path)
      .setUrlParams(Wait)
      .setHeaders(IdempotencyKey)
      .setPayload(ReplayBody)
      .addSuccess(Accepted)
      .addSuccess(Answered)
      .addError(TimedOut)
      .addError(TimedOutInPage)
      .addError(Failed)
      .addError(BadRequest)
      .addError(NotFound)
      .addError(Conflict)
      .addError(ContentTooLarge)
      .addError(UnsupportedMediaType)
      .addError(UnprocessableContent)
      .annotateContext(
        OpenApi.annotations({
          summary: "Replay a run",
          description:
            "Starts a new run of the same webhook, with the same or other values, at the end of the lane of its team; its `replay_of` is this run. A chat message is sent again to its team, with the same or another text. With `Idempotency-Key`, once, however often the request is sent. With `wait=true` the response is held until the new run has ended, as for a trigger."
        })
      )
  )
  .add(
    HttpApiEndpoint.get("replays", "/api/runs/:run_id/replays")
      .setPath(path)
      .addSuccess(ReplayList)
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({ summary: "List a run's replays", description: "The runs that repeat this one." })
      )
  )
  .add(
    HttpApiEndpoint.post("replayMany", "/api/runs/replay")
      .setHeaders(IdempotencyKey)
      .setPayload(ReplayManyBody)
      .addSuccess(Replayed)
      .addError(BadRequest)
      .addError(NotFound)
      .addError(ContentTooLarge)
      .addError(UnsupportedMediaType)
      .addError(UnprocessableContent)
      .annotateContext(
        OpenApi.annotations({
          summary: "Replay many runs",
          description: `Repeats up to ${mostReplayed} runs, in their order: either \`run_ids\`, or the ended runs of a webhook (\`webhook_id\`) or of a team's webhooks and its chat messages (\`team\`) that no other run repeats yet. Answers when all are stored, or are known to be refused. With \`Idempotency-Key\` each is repeated once, however often the request is sent.`
        })
      )
  )
  .addError(ServiceUnavailable)
  .middleware(Admin)
  .annotateContext(OpenApi.annotations({ title: "Runs", description: "The history, run by run." })) {}
