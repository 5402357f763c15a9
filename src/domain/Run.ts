import { Schema } from "effect"
import { RunId, WebhookId } from "./Id.ts"
import { TeamName } from "./Team.ts"
import { time } from "./Time.ts"

export const RunStatus = Schema.Literal("queued", "running", "success", "error", "timeout").annotations({
  identifier: "RunStatus",
  description: "`queued`, then `running`, then one of the other three, which are final."
})
export type RunStatus = typeof RunStatus.Type

export const RunMode = Schema.Literal("async", "wait").annotations({
  description: "Whether the caller waits for the answer."
})
export type RunMode = typeof RunMode.Type

export const RunSource = Schema.Literal("webhook", "chat").annotations({
  description: "Whether a webhook was triggered or a chat message was written to the team."
})
export type RunSource = typeof RunSource.Type

export const RunErrorCode = Schema.Literal("agent_error", "team_gone", "undeliverable", "cancelled").annotations({
  description:
    "The leader said so (`agent_error`), the team's queue went away (`team_gone`), the broker gave the prompt up (`undeliverable`), somebody stopped it (`cancelled`)."
})
export const RunError = Schema.Struct({
  code: RunErrorCode,
  message: Schema.String.annotations({ description: "What happened, in the leader's or the server's words." })
}).annotations({ identifier: "RunError", description: "Why the run ended as `error`." })
export type RunError = typeof RunError.Type

export type Variables = { readonly [name: string]: unknown }

const isObject = (value: unknown): value is Variables =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Taken as it is and not copied, as a `Schema.Record` would, which loses the name `__proto__` on the way. */
export const Variables: Schema.Schema<Variables> = Schema.declare(isObject, {
  identifier: "Variables",
  description: "The values for the template's placeholders, as the caller sent them: any JSON.",
  message: () => "must be an object",
  jsonSchema: { type: "object", additionalProperties: true }
})

const optionalTime = (description: string) => Schema.optionalWith(time(description), { exact: true })

/** One execution, as the history keeps it. */
export const Run = Schema.Struct({
  run_id: RunId,
  source: RunSource,
  webhook_id: Schema.optionalWith(WebhookId.annotations({ description: "Absent for a chat message." }), {
    exact: true
  }),
  team: TeamName,
  mode: RunMode,
  status: RunStatus,
  accepted_at: time("When the run was kept, and 202 could be sent."),
  sent_at: optionalTime("When the broker confirmed the prompt."),
  started_at: optionalTime(
    "When the leader said that it started; of an ended run whose leader said nothing, when it was sent."
  ),
  finished_at: optionalTime("When the run ended."),
  duration_ms: Schema.optionalWith(
    Schema.Number.annotations({ description: "Milliseconds from `started_at` to `finished_at`." }),
    { exact: true }
  ),
  variables: Variables,
  conversation: Schema.Struct({
    prompt: Schema.String.annotations({ description: "The rendered prompt, as the leader got it." }),
    response: Schema.optionalWith(
      Schema.String.annotations({ description: "The agent's answer; of a `timeout` run, one that came late." }),
      { exact: true }
    )
  }).annotations({ description: "What was asked and answered." }),
  error: Schema.optionalWith(RunError, { exact: true })
}).annotations({ identifier: "Run", description: "One execution, as the history keeps it." })
export type Run = typeof Run.Type

/** How a run ends. */
export type Outcome =
  | { readonly status: "success"; readonly response: string }
  | { readonly status: "error"; readonly error: RunError }
  | { readonly status: "timeout" }

export const isFinal = (status: RunStatus): boolean => status !== "queued" && status !== "running"
