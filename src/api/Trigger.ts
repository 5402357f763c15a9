import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { RunId } from "../domain/Id.ts"
import { RunError, RunStatus, Variables } from "../domain/Run.ts"
import {
  BadRequest,
  Conflict,
  NoSuchThing,
  NotAllowed,
  OutOfReach,
  TooLarge,
  TooMany,
  Unprocessable,
  WrongMediaType
} from "./Problem.ts"

/** `wait=true` holds the answer back until the run has ended. */
export const Wait = Schema.Struct({ wait: Schema.optional(Schema.Literal("true", "false")) })

export const Accepted = Schema.Struct({ status: Schema.Literal("accepted"), run_id: RunId }).annotations(
  HttpApiSchema.annotations({ status: 202 })
)
export const Answered = Schema.Struct({ status: Schema.Literal("success"), response: Schema.String, run_id: RunId })
export const TimedOut = Schema.Struct({ status: Schema.Literal("timeout"), run_id: RunId }).annotations(
  HttpApiSchema.annotations({ status: 408 })
)
export const Failed = Schema.Struct({ status: Schema.Literal("error"), run_id: RunId, error: RunError }).annotations(
  HttpApiSchema.annotations({ status: 502 })
)

/** A run as its caller may see it: nothing but the outcome. */
export const CallersRun = Schema.Struct({
  run_id: RunId,
  status: RunStatus,
  started_at: Schema.optionalWith(Schema.Date, { exact: true }),
  finished_at: Schema.optionalWith(Schema.Date, { exact: true }),
  duration_ms: Schema.optionalWith(Schema.Number, { exact: true }),
  response: Schema.optionalWith(Schema.String, { exact: true }),
  error: Schema.optionalWith(RunError, { exact: true })
}).annotations({ identifier: "CallersRun" })
export type CallersRun = typeof CallersRun.Type

/** What callers use. The token in the path is the only credential. */
export class Trigger extends HttpApiGroup.make("trigger")
  .add(
    HttpApiEndpoint.post("trigger", "/webhook/trigger/:token")
      .setPath(Schema.Struct({ token: Schema.String }))
      .setUrlParams(Wait)
      .setPayload(Schema.Struct({ variables: Variables }))
      .addSuccess(Accepted)
      .addSuccess(Answered)
      .addError(TimedOut)
      .addError(Failed)
      .addError(NotAllowed)
      .addError(WrongMediaType)
      .addError(TooLarge)
      .addError(BadRequest)
      .addError(Unprocessable)
      .addError(Conflict)
      .addError(TooMany)
  )
  .add(
    HttpApiEndpoint.get("run", "/webhook/trigger/:token/runs/:run_id")
      .setPath(Schema.Struct({ token: Schema.String, run_id: Schema.String }))
      .setUrlParams(Wait)
      .addSuccess(CallersRun)
      .addError(BadRequest)
  )
  .addError(NoSuchThing)
  .addError(OutOfReach) {}
