import { Schema } from "effect"
import { RunId, WebhookId } from "./Id.ts"
import { TeamName } from "./Team.ts"

/** `queued` → `running` → one of the other three, which are final. */
export const RunStatus = Schema.Literal("queued", "running", "success", "error", "timeout")
export type RunStatus = typeof RunStatus.Type

export const RunMode = Schema.Literal("async", "wait")
export type RunMode = typeof RunMode.Type

/** Whether a webhook was triggered or a chat message was written to the team. */
export const RunSource = Schema.Literal("webhook", "chat")
export type RunSource = typeof RunSource.Type

/**
 * Why a run ended as `error`: the leader said so (`agent_error`), the team's queue went away (`team_gone`), the broker
 * gave the prompt up (`undeliverable`), somebody stopped it (`cancelled`).
 */
export const RunErrorCode = Schema.Literal("agent_error", "team_gone", "undeliverable", "cancelled")
export const RunError = Schema.Struct({ code: RunErrorCode, message: Schema.String })
export type RunError = typeof RunError.Type

/** The values for a template's placeholders, as the caller sent them: any JSON. */
export const Variables = Schema.Record({ key: Schema.String, value: Schema.Unknown })
export type Variables = { readonly [name: string]: unknown }

/** One execution, as the history keeps it. */
export const Run = Schema.Struct({
  run_id: RunId,
  source: RunSource,
  /** Absent for a chat message. */
  webhook_id: Schema.optionalWith(WebhookId, { exact: true }),
  team: TeamName,
  mode: RunMode,
  status: RunStatus,
  accepted_at: Schema.Date,
  /** When the broker confirmed the prompt. */
  sent_at: Schema.optionalWith(Schema.Date, { exact: true }),
  /** When the leader said that it started; of an ended run whose leader said nothing, when it was sent. */
  started_at: Schema.optionalWith(Schema.Date, { exact: true }),
  finished_at: Schema.optionalWith(Schema.Date, { exact: true }),
  /** Milliseconds from `started_at` to `finished_at`. */
  duration_ms: Schema.optionalWith(Schema.Number, { exact: true }),
  variables: Variables,
  conversation: Schema.Struct({
    prompt: Schema.String,
    /** The agent's answer; of a `timeout` run, one that came late. */
    response: Schema.optionalWith(Schema.String, { exact: true })
  }),
  error: Schema.optionalWith(RunError, { exact: true })
}).annotations({ identifier: "Run" })
export type Run = typeof Run.Type

/** How a run ends. */
export type Outcome =
  | { readonly status: "success"; readonly response: string }
  | { readonly status: "error"; readonly error: RunError }
  | { readonly status: "timeout" }

export const isFinal = (status: RunStatus): boolean => status !== "queued" && status !== "running"
