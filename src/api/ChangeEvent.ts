import { Schema } from "effect"
import { WebhookId } from "../domain/Id.ts"
import { RunState } from "../domain/run/RunState.ts"

/** The data of the event `change` of `GET /api/events`, as JSON. Only a hint: events may be lost or repeated. */
export const ChangeEvent = Schema.Struct({
  /** The current state of new and changed runs. */
  runs: Schema.Array(RunState),
  /** Created, edited or deleted. */
  webhooks: Schema.Array(WebhookId),
  /** Some of their requests were stored: rejected or ignored ones, or those that they store. */
  requests: Schema.Array(WebhookId),
  /** There were more changes. */
  incomplete: Schema.Boolean
}).annotate({ identifier: "ChangeEvent" })
export type ChangeEvent = typeof ChangeEvent.Type
