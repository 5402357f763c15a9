import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { RunId } from "../../domain/Id.ts"
import { Run } from "../../domain/run/Run.ts"
import { maxFile, mostFiles, RunFile } from "../../domain/run/RunFile.ts"
import { RunUsage } from "../../domain/run/RunUsage.ts"
import { ShownRun } from "../../domain/run/ShownRun.ts"
import { Admin } from "../access/Auth.ts"
import { described, streamedText } from "../Endpoint.ts"
import { runExports } from "../ExportPaths.ts"
import { listFields } from "../List.ts"
import { pageSize } from "../PageSize.ts"
import { BadRequest, bodyFaults, Conflict, NotAcceptable, NotFound, TooManyRequests } from "../Problem.ts"
import { EventQuery, EventStream, eventsDescription, LastEventId, NothingMore } from "./EventStream.ts"
import { mostReplayed, ReplayBody, Replayed, ReplayList, ReplayManyBody, refusal } from "./Replays.ts"
import { Accepted, Answered, Failed, IdempotencyKey, TimedOut, TimedOutInPage, Wait } from "./RunAnswers.ts"
import { RunFilterParameters, RunList, RunPage } from "./RunPage.ts"
import { StepList, stepsDescription } from "./Steps.ts"

const path = Schema.Struct({ run_id: Schema.String.annotate({ description: "The run's id." }) })

const FileList = Schema.Struct(listFields(RunFile, "In order.")).annotate({
  identifier: "RunFileList",
  description: "The files of a run."
})

const fileContent = Schema.Uint8Array.annotate({ description: "The file's content." }).pipe(
  HttpApiSchema.asUint8Array()
)

export const Cancelled = Schema.Struct({
  cancelled: Schema.Array(RunId).annotate({
    description: "The runs that were cancelled, or whose retry or agent was."
  }),
  refused: Schema.Array(Schema.Struct({ run_id: RunId, ...refusal })).annotate({
    description: "The runs that could not be cancelled, and why."
  })
}).annotate({ identifier: "Cancelled", description: "The result for each run." })

export const QueueCancelled = Schema.Struct({
  cancelled: Schema.Finite.annotate({ description: "The number of queued runs and messages; they are never sent." }),
  retries: Schema.Finite.annotate({ description: "The number of failed runs that are not retried." })
}).annotate({ description: "What was cancelled or, with `dry_run=true`, would be cancelled." })

export const DryRun = Schema.Struct({
  dry_run: Schema.optional(
    Schema.Literals(["true", "false"]).annotate({
      description: "`true`: only counts; nothing is cancelled."
    })
  )
})

export const Approval = Schema.Struct({
  decision: Schema.Literals(["approve", "deny"]).annotate({
    description: "`approve`: the run may be sent. `deny`: it is cancelled."
  })
})

/** Up to a page of runs. */
export const RunIds = Schema.Struct({
  run_ids: Schema.Array(RunId)
    .check(Schema.isMinLength(1), Schema.isMaxLength(pageSize.maximum))
    .annotate({ description: `The ids of 1 to ${pageSize.maximum} runs.` })
})

export class Runs extends HttpApiGroup.make("runs")
  .add(
    HttpApiEndpoint.get("list", "/api/runs", {
      query: RunList,
      success: RunPage,
      error: [BadRequest, NotFound]
    }).annotateMerge(
      described(
        "Find runs",
        "The runs of all webhooks and teams, and chat messages, newest first, in pages. Filters combine with AND. A search stops after half a second; then the page has `searched_back_to` and the runs found so far. Long texts are truncated, as in a webhook's history."
      )
    )
  )
  .add(
    HttpApiEndpoint.get("usage", "/api/runs/usage", {
      query: RunFilterParameters,
      success: RunUsage,
      error: [BadRequest, NotFound]
    }).annotateMerge(
      described(
        "Sum the usage of runs",
        "Tokens and cost of all runs that match the filters, as their agents reported them. The search stops after half a second; then the sum has `searched_back_to`."
      )
    )
  )
  .add(
    HttpApiEndpoint.get("exportCsv", runExports.csv, {
      query: RunFilterParameters,
      success: streamedText("text/csv; charset=utf-8", "The runs as CSV (RFC 4180), with a header line."),
      error: [BadRequest, NotFound, TooManyRequests]
    }).annotateMerge(
      described(
        "Export runs as CSV",
        "Streams all runs that match the filters, newest first, with complete texts. A text that a spreadsheet could read as a formula gets a leading apostrophe. If the connection closes early, the export is incomplete."
      )
    )
  )
  .add(
    HttpApiEndpoint.get("exportJsonLines", runExports.jsonl, {
      query: RunFilterParameters,
      success: streamedText("application/jsonl", "The runs, one JSON object per line."),
      error: [BadRequest, NotFound, TooManyRequests]
    }).annotateMerge(
      described(
        "Export runs as JSON Lines",
        "Like the CSV export. Each run has the fields of `GET /api/runs/:run_id`, and its `steps` if it has any."
      )
    )
  )
  .add(
    HttpApiEndpoint.post("cancelSome", "/api/runs/cancel", {
      payload: RunIds,
      success: Cancelled,
      error: bodyFaults
    }).annotateMerge(
      described(
        "Cancel several runs",
        "Cancels each run like a single one. `refused` lists the runs that have already ended or do not exist."
      )
    )
  )
  .add(
    HttpApiEndpoint.get("show", "/api/runs/:run_id", {
      params: path,
      success: ShownRun,
      error: NotFound
    }).annotateMerge(
      described(
        "Show a run",
        "A run of a webhook, or a chat message to a team. `waits_for` says why it is still queued."
      )
    )
  )
  .add(
    HttpApiEndpoint.get("events", "/api/runs/:run_id/events", {
      params: path,
      query: EventQuery,
      headers: LastEventId,
      success: [EventStream, NothingMore],
      error: [BadRequest, NotAcceptable, NotFound, TooManyRequests]
    }).annotateMerge(described("Follow a run", eventsDescription))
  )
  .add(
    HttpApiEndpoint.get("steps", "/api/runs/:run_id/steps", {
      params: path,
      success: StepList,
      error: NotFound
    }).annotateMerge(described("List a run's steps", stepsDescription))
  )
  .add(
    HttpApiEndpoint.get("files", "/api/runs/:run_id/files", {
      params: path,
      success: FileList,
      error: NotFound
    }).annotateMerge(
      described(
        "List a run's files",
        `The files that came with the request (\`in-…\`), and those that the agent left in \`out/\` (\`out-…\`): up to ${mostFiles} of each, of ${maxFile / 1e6} MB.`
      )
    )
  )
  .add(
    HttpApiEndpoint.get("file", "/api/runs/:run_id/files/:file_id", {
      params: Schema.Struct({ ...path.fields, file_id: Schema.String.annotate({ description: "The file's id." }) }),
      success: fileContent,
      error: NotFound
    }).annotateMerge(
      described("Download a file of a run", "Always as an attachment without a type: browsers never show or run it.")
    )
  )
  .add(
    HttpApiEndpoint.post("cancel", "/api/runs/:run_id/cancel", {
      params: path,
      success: Run,
      error: [NotFound, Conflict]
    }).annotateMerge(
      described(
        "Cancel a run",
        "Ends the run as `cancelled`. A queued run is never sent. If the run was already sent, its leader is told to stop, and its team and slots become free when the leader has stopped, or 30 seconds later (`released_at`). A timed-out run whose agent still works (`stop_at` without `released_at`) stays `timeout`, and its leader is told to stop. For a failed run with a pending retry (`retry_at`), only the retry is cancelled; the run stays `error`. Cancelling again changes nothing."
      )
    )
  )
  .add(
    HttpApiEndpoint.post("decide", "/api/runs/:run_id/approval", {
      params: path,
      payload: Approval,
      success: Run,
      error: [...bodyFaults, NotFound, Conflict]
    }).annotateMerge(
      described(
        "Approve or deny a run",
        "For a run that waits for its approval (`held_for`). An approved run takes its place in its team's lane; a denied one is cancelled. The first decision counts: later ones get 409 with the code `approval_over`."
      )
    )
  )
  .add(
    HttpApiEndpoint.post("start", "/api/runs/:run_id/start", {
      params: path,
      success: Run,
      error: NotFound
    }).annotateMerge(
      described(
        "Start a held run early",
        "A run that waits for its time or its window (`held_for`) takes its place in its team's lane within a second, or waits for its approval, if it needs one. Changes nothing for another run."
      )
    )
  )
  .add(
    HttpApiEndpoint.post("replay", "/api/runs/:run_id/replay", {
      params: path,
      query: Wait,
      headers: IdempotencyKey,
      payload: ReplayBody,
      success: [Accepted, Answered],
      error: [TimedOut, TimedOutInPage, Failed, ...bodyFaults, NotFound, Conflict]
    }).annotateMerge(
      described(
        "Replay a run",
        "Starts a new run of the same webhook, optionally with new values, at the end of its team's lane. `replay_of` of the new run is this run. A chat message is sent to its team again, optionally with a new text. With `Idempotency-Key`, repeated requests start only one run. With `wait=true` the response waits until the new run ends, as for a trigger."
      )
    )
  )
  .add(
    HttpApiEndpoint.get("replays", "/api/runs/:run_id/replays", {
      params: path,
      success: ReplayList,
      error: NotFound
    }).annotateMerge(described("List a run's replays", "The runs whose `replay_of` or `retry_of` is this run."))
  )
  .add(
    HttpApiEndpoint.post("replayMany", "/api/runs/replay", {
      headers: IdempotencyKey,
      payload: ReplayManyBody,
      success: Replayed,
      error: [...bodyFaults, NotFound]
    }).annotateMerge(
      described(
        "Replay many runs",
        `Replays up to ${mostReplayed} runs in order: either \`run_ids\`, or all ended runs without a replay of a webhook (\`webhook_id\`) or of a team's webhooks and chat messages (\`team\`). The response comes when all new runs are stored. With \`Idempotency-Key\`, repeated requests replay each run only once.`
      )
    )
  )
  .middleware(Admin)
  .annotateMerge(OpenApi.annotations({ title: "Runs", description: "The history of runs." })) {}
