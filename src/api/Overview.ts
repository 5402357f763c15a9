import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { WebhookId } from "../domain/Id.ts"
import { Run, Variables } from "../domain/Run.ts"
import { Admin } from "./Auth.ts"
import { BadRequest, Conflict, NoSuchThing, OutOfReach, TooMany, Unprocessable } from "./Problem.ts"
import { Accepted, Answered, Failed, TimedOut, Wait } from "./Trigger.ts"

/** What the server is, and what holds where a webhook says nothing. */
export const Server = Schema.Struct({
  version: Schema.String,
  database: Schema.Literal("postgresql", "embedded"),
  bus: Schema.Literal("rabbitmq", "embedded"),
  /** Where callers reach the service; the first part of every trigger URL. */
  public_url: Schema.String,
  webhook_timeout_seconds: Schema.Number,
  webhook_max_concurrent: Schema.Number,
  webhook_max_queued: Schema.Number
}).annotations({ identifier: "Server" })
export type Server = typeof Server.Type

/** How runs ended, counted by when they were accepted. */
export const Counts = Schema.Struct({
  success: Schema.Number,
  error: Schema.Number,
  timeout: Schema.Number,
  /** Not finished: queued or running. */
  live: Schema.Number
})
export type Counts = typeof Counts.Type

/** A webhook's last 24 hours. */
export const Activity = Schema.Struct({
  webhook_id: WebhookId,
  /** 24 hours, oldest first; the last one is the running hour. */
  hours: Schema.Array(Counts)
}).annotations({ identifier: "Activity" })
export type Activity = typeof Activity.Type

export const StatisticsRange = Schema.Literal("24h", "7d", "30d")
export type StatisticsRange = typeof StatisticsRange.Type

export const StatisticsBucket = Schema.Struct({
  ...Counts.fields,
  /** When the bucket begins; it ends where the next one begins. */
  at: Schema.Date,
  /** Milliseconds, over the runs that ended as success; absent when there are none. */
  median_ms: Schema.optionalWith(Schema.Number, { exact: true }),
  slowest_ms: Schema.optionalWith(Schema.Number, { exact: true })
})
export type StatisticsBucket = typeof StatisticsBucket.Type

export const Statistics = Schema.Struct({
  /** Runs that hold a slot now, of `limit` that may. */
  slots_in_use: Schema.Number,
  limit: Schema.Number,
  /** Accepted and waiting for a slot or for the team. */
  queued: Schema.Number,
  buckets: Schema.Array(StatisticsBucket)
}).annotations({ identifier: "Statistics" })
export type Statistics = typeof Statistics.Type

/** What the web UI shows beside the records themselves. */
export class Overview extends HttpApiGroup.make("overview")
  .add(HttpApiEndpoint.get("server", "/api/server").addSuccess(Server))
  .add(HttpApiEndpoint.get("activity", "/api/activity").addSuccess(Schema.Array(Activity)))
  .add(
    HttpApiEndpoint.get("statistics", "/api/webhooks/:id/statistics")
      .setPath(Schema.Struct({ id: Schema.String }))
      .setUrlParams(Schema.Struct({ range: Schema.optional(StatisticsRange) }))
      .addSuccess(Statistics)
      .addError(BadRequest)
      .addError(NoSuchThing)
  )
  .add(
    /** Triggers a webhook with the admin key in place of its token: a test, or a run repeated. */
    HttpApiEndpoint.post("run", "/api/webhooks/:id/runs")
      .setPath(Schema.Struct({ id: Schema.String }))
      .setUrlParams(Wait)
      .setPayload(Schema.Struct({ variables: Variables }))
      .addSuccess(Accepted)
      .addSuccess(Answered)
      .addError(TimedOut)
      .addError(Failed)
      .addError(BadRequest)
      .addError(NoSuchThing)
      .addError(Conflict)
      .addError(Unprocessable)
      .addError(TooMany)
  )
  .add(
    HttpApiEndpoint.get("teamRuns", "/api/teams/:team/runs")
      .setPath(Schema.Struct({ team: Schema.String }))
      .setUrlParams(
        Schema.Struct({
          limit: Schema.optional(Schema.NumberFromString.pipe(Schema.int(), Schema.between(1, 100)))
        })
      )
      .addSuccess(Schema.Array(Run))
      .addError(BadRequest)
      .addError(NoSuchThing)
  )
  .add(
    /**
     * Server-sent events: `change` names what may have changed (`runs`, `webhooks`), at most a few times a second.
     * Only a wake-up, so a client reads what it shows again; after a reconnect it reads everything.
     */
    HttpApiEndpoint.get("events", "/api/events").addSuccess(
      Schema.String.pipe(HttpApiSchema.withEncoding({ kind: "Text", contentType: "text/event-stream" }))
    )
  )
  .addError(OutOfReach)
  .middleware(Admin) {}
