import { Schema } from "effect"
import { WebhookId } from "./Id.ts"
import { TeamName } from "./Team.ts"

const Name = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255))
const PromptTemplate = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(65_536))
const TimeoutSeconds = Schema.Int.pipe(Schema.between(1, 86_400))
const MaxConcurrent = Schema.Int.pipe(Schema.between(1, 10_000))

/** A stored definition: whoever knows its token may send its prompt, filled in, to its team. */
export const Webhook = Schema.Struct({
  id: WebhookId,
  name: Name,
  team: TeamName,
  prompt_template: PromptTemplate,
  /** The placeholder names found in the template, each once, in order of appearance. */
  variables: Schema.Array(Schema.String),
  /** Seconds to wait for an answer; absent: the global `WEBHOOK_TIMEOUT`. */
  timeout_seconds: Schema.optionalWith(TimeoutSeconds, { exact: true }),
  /** Simultaneous runs of this webhook; absent: the global `WEBHOOK_MAX_CONCURRENT`. */
  max_concurrent: Schema.optionalWith(MaxConcurrent, { exact: true }),
  enabled: Schema.Boolean,
  /** The end of the token, to tell tokens apart: `…x7Qa`. */
  token_hint: Schema.String,
  created_at: Schema.Date,
  updated_at: Schema.Date,
  last_triggered_at: Schema.optionalWith(Schema.Date, { exact: true })
}).annotations({ identifier: "Webhook" })
export type Webhook = typeof Webhook.Type

/** What its maker says of a new webhook. */
export const WebhookDraft = Schema.Struct({
  name: Name,
  team: TeamName,
  prompt_template: PromptTemplate,
  timeout_seconds: Schema.optionalWith(TimeoutSeconds, { exact: true }),
  max_concurrent: Schema.optionalWith(MaxConcurrent, { exact: true }),
  enabled: Schema.optionalWith(Schema.Boolean, { exact: true })
}).annotations({ identifier: "WebhookDraft" })
export type WebhookDraft = typeof WebhookDraft.Type

/** The fields to change; `null` gives a timeout or limit back to the global default. */
export const WebhookEdit = Schema.Struct({
  name: Schema.optionalWith(Name, { exact: true }),
  team: Schema.optionalWith(TeamName, { exact: true }),
  prompt_template: Schema.optionalWith(PromptTemplate, { exact: true }),
  timeout_seconds: Schema.optionalWith(Schema.NullOr(TimeoutSeconds), { exact: true }),
  max_concurrent: Schema.optionalWith(Schema.NullOr(MaxConcurrent), { exact: true }),
  enabled: Schema.optionalWith(Schema.Boolean, { exact: true })
}).annotations({ identifier: "WebhookEdit" })
export type WebhookEdit = typeof WebhookEdit.Type
