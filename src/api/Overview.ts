import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { Run, Variables } from "../domain/Run.ts"
import { Activity, Statistics, StatisticsRange } from "../domain/Statistics.ts"
import { Admin } from "./Auth.ts"
import {
  BadRequest,
  Conflict,
  NoSuchThing,
  OutOfReach,
  TooLarge,
  TooMany,
  Unprocessable,
  WrongMediaType
} from "./Problem.ts"
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
      .addError(TooLarge)
      .addError(WrongMediaType)
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
