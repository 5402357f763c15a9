import { Schema } from "effect"
import { WebhookId } from "../domain/Id.ts"
import { RunState } from "../domain/run/RunState.ts"

/** What the event `change` of `GET /api/events` carries, as JSON. Only a hint: one may be missed or come twice. */
export const ChangeEvent = Schema.Struct({
  /** As they are now; new ones too. */
  runs: Schema.Array(RunState),
  /** Created, edited or deleted. */
  webhooks: Schema.Array(WebhookId),
  /** More has changed than is named. */
  incomplete: Schema.Boolean
}).annotations({ identifier: "ChangeEvent" })
export type ChangeEvent = typeof ChangeEvent.Type
