import { Schema, Struct } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { RunSummary } from "../domain/run/RunSummary.ts"
import { Activity, Statistics, StatisticsRange, Totals, WorkNow } from "../domain/run/Statistics.ts"
import { optional } from "../domain/Time.ts"
import { WebhookDraft } from "../domain/webhook/Webhook.ts"
import { Admin } from "./access/Auth.ts"
import { listFields } from "./List.ts"
import { Limit } from "./PageSize.ts"
import { BadRequest, bodyFaults, Conflict, NotFound, TooManyRequests } from "./Problem.ts"
import {
  Accepted,
  Answered,
  Cancelled,
  Failed,
  IdempotencyKey,
  Ignored,
  SampleBody,
  TimedOut,
  TimedOutInPage,
  Wait
} from "./run/RunAnswers.ts"

/** The server's version, drivers and defaults for webhooks. */
export const Server = Schema.Struct({
  version: Schema.String,
  /** The drivers' names; `embedded` for a driver in the server's process. */
  database: Schema.String,
  bus: Schema.String,
  /** How the server's program is started, for lines to paste. */
  command: Schema.String,
  /** Agents whose programs are installed where the server runs, with an example of each command line; only for an admin without limits. */
  agents: optional(Schema.Array(Schema.Struct({ title: Schema.String, example: Schema.String }))),
  /** The server's address for callers: the first part of every trigger URL. */
  public_url: Schema.String,
  /** Whether the server has `/docs` and `/openapi.json`. */
  api_docs: Schema.Boolean,
  webhook_timeout_seconds: Schema.Finite,
  webhook_max_work_seconds: Schema.Finite,
  webhook_max_concurrent: Schema.Finite,
  webhook_max_queued: Schema.Finite
}).annotate({ identifier: "Server" })
export type Server = typeof Server.Type

/** A template in the editor, and sample values. */
export const DraftBody = Schema.Struct({
  ...Struct.pick(WebhookDraft.fields, ["prompt_template", "template_language", "input", "fence", "coalesce"]),
  ...SampleBody.fields
})

/** A template in the editor, as parsed and rendered by the server. */
const DraftPreview = Schema.Struct({
  /** The variables' names. */
  variables: Schema.Array(Schema.String),
  /** The variables' positions in UTF-16 code units, if known. */
  places: optional(
    Schema.Array(Schema.Struct({ start: Schema.Finite, end: Schema.Finite, optional: optional(Schema.Boolean) }))
  ),
  /** A syntax error. */
  fault: optional(
    Schema.Struct({ offset: Schema.Finite, line: Schema.Finite, column: Schema.Finite, reason: Schema.String })
  ),
  /** The prompt. A piece with a name is a value. */
  prompt: optional(Schema.Array(Schema.Struct({ text: Schema.String, name: optional(Schema.String) }))),
  /** The reason if there is no prompt. */
  refused: optional(Schema.String)
}).annotate({ identifier: "DraftPreview" })
export type DraftPreview = typeof DraftPreview.Type

/** The agents' current work. */
export const Now = Schema.Struct({
  /** By team. */
  work: Schema.Array(WorkNow)
}).annotate({ identifier: "Now" })
export type Now = typeof Now.Type

/** More data for the web UI; not in OpenAPI. */
export class Overview extends HttpApiGroup.make("overview")
  .add(HttpApiEndpoint.get("server", "/api/server", { success: Server }))
  .add(
    HttpApiEndpoint.get("activity", "/api/activity", { success: Schema.Struct(listFields(Activity, "By webhook.")) })
  )
  .add(HttpApiEndpoint.get("totals", "/api/totals", { success: Totals }))
  .add(HttpApiEndpoint.get("now", "/api/now", { success: Now }))
  .add(
    HttpApiEndpoint.get("statistics", "/api/webhooks/:id/statistics", {
      params: Schema.Struct({ id: Schema.String }),
      query: Schema.Struct({ range: Schema.optional(StatisticsRange) }),
      success: Statistics,
      error: [BadRequest, NotFound]
    })
  )
  .add(
    /** Triggers a webhook with the admin key instead of its token. */
    HttpApiEndpoint.post("run", "/api/webhooks/:id/runs", {
      params: Schema.Struct({ id: Schema.String }),
      query: Wait,
      headers: IdempotencyKey,
      payload: SampleBody,
      success: [Accepted, Answered, Ignored, Cancelled],
      error: [TimedOut, TimedOutInPage, Failed, ...bodyFaults, NotFound, Conflict, TooManyRequests]
    })
  )
  .add(
    HttpApiEndpoint.post("previewDraft", "/api/templates/preview", {
      payload: DraftBody,
      success: DraftPreview,
      error: bodyFaults
    })
  )
  .add(
    HttpApiEndpoint.get("teamRuns", "/api/teams/:team/runs", {
      params: Schema.Struct({ team: Schema.String }),
      query: Schema.Struct({ limit: Schema.optional(Limit) }),
      success: Schema.Struct(listFields(RunSummary, "Newest first.")),
      error: [BadRequest, NotFound]
    })
  )
  .add(
    /**
     * Server-sent events: `change` carries a `ChangeEvent`, at most a few times a second. After a reconnect the client
     * must reload everything.
     */
    HttpApiEndpoint.get("events", "/api/events", {
      success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/event-stream" })),
      error: TooManyRequests
    })
  )
  .middleware(Admin)
  .annotate(OpenApi.Exclude, true) {}
