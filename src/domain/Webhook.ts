import { Schema } from "effect"
import { WebhookId } from "./Id.ts"
import { TeamName } from "./Team.ts"
import { time } from "./Time.ts"

const Name = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(255),
  Schema.annotations({ description: "What people call it; need not be unique." })
)
const PromptTemplate = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(65_536),
  Schema.annotations({ description: "The prompt, with `{{name}}` where a variable goes." })
)
const TimeoutSeconds = Schema.Int.pipe(
  Schema.between(1, 86_400),
  Schema.annotations({
    description: "Seconds to wait for an answer; absent: the server's `WEBHOOK_TIMEOUT`.",
    message: () => ({ message: "must be a whole number of seconds from 1 to 86400", override: true })
  })
)
const MaxConcurrent = Schema.Int.pipe(
  Schema.between(1, 10_000),
  Schema.annotations({
    description: "Simultaneous runs; absent: the server's `WEBHOOK_MAX_CONCURRENT`.",
    message: () => ({ message: "must be a whole number from 1 to 10000", override: true })
  })
)
const Enabled = Schema.Boolean.annotations({ description: "Switched off, it answers triggers with 404." })

/** A stored definition: whoever knows its token may send its prompt, filled in, to its team. */
export const Webhook = Schema.Struct({
  id: WebhookId,
  name: Name,
  team: TeamName,
  prompt_template: PromptTemplate,
  variables: Schema.Array(Schema.String).annotations({
    description: "The names found in the template, each once, in order of appearance."
  }),
  timeout_seconds: Schema.optionalWith(TimeoutSeconds, { exact: true }),
  max_concurrent: Schema.optionalWith(MaxConcurrent, { exact: true }),
  enabled: Enabled,
  token_hint: Schema.String.annotations({ description: "The end of the token, to tell tokens apart: `…x7Qa`." }),
  created_at: time("When it was made."),
  updated_at: time("When it was last edited, or given a new token."),
  last_triggered_at: Schema.optionalWith(time("When it last accepted a trigger; absent: never."), { exact: true })
}).annotations({ identifier: "Webhook", description: "Whoever knows its token may send its prompt to its team." })
export type Webhook = typeof Webhook.Type

/** What its maker says of a new webhook. */
export const WebhookDraft = Schema.Struct({
  name: Name,
  team: TeamName,
  prompt_template: PromptTemplate,
  timeout_seconds: Schema.optionalWith(TimeoutSeconds, { exact: true }),
  max_concurrent: Schema.optionalWith(MaxConcurrent, { exact: true }),
  enabled: Schema.optionalWith(Enabled, { exact: true })
}).annotations({ identifier: "WebhookDraft", description: "A new webhook." })
export type WebhookDraft = typeof WebhookDraft.Type

const orDefault = (schema: typeof TimeoutSeconds) =>
  Schema.NullOr(schema).annotations({ description: "`null` gives it back to the server's default." })

/** The fields to change; `null` gives a timeout or limit back to the global default. */
export const WebhookEdit = Schema.Struct({
  name: Schema.optionalWith(Name, { exact: true }),
  team: Schema.optionalWith(TeamName, { exact: true }),
  prompt_template: Schema.optionalWith(PromptTemplate, { exact: true }),
  timeout_seconds: Schema.optionalWith(orDefault(TimeoutSeconds), { exact: true }),
  max_concurrent: Schema.optionalWith(orDefault(MaxConcurrent), { exact: true }),
  enabled: Schema.optionalWith(Enabled, { exact: true })
}).annotations({ identifier: "WebhookEdit", description: "The fields to change." })
export type WebhookEdit = typeof WebhookEdit.Type
