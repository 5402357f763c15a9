/** The runs of an acceptance as input rows of its statements. */
import { Duration } from "effect"
import { parseRate } from "../../../domain/webhook/Rate.ts"
import type { NewRun } from "../../run/RunStore.ts"
import { limitTypes } from "./WebhookLimits.ts"

export type NewRunWebhook = NonNullable<NewRun["webhook"]>

/** A field of `NewRun` under its own name. One that is missing in `toInput` does not compile. */
type InputField = Exclude<
  keyof NewRun,
  "run_id" | "webhook" | "timeout" | "max_work" | "idempotency" | "coalesce" | "singleton"
>

/** Field by field: spreading the run, with its many optional fields, takes eight times as long as all this. */
export const toInput =
  (isCounted: (webhook: NewRunWebhook) => boolean = () => false) =>
  (run: NewRun, ord: number) => {
    const { run_id, webhook, timeout, max_work, idempotency, coalesce, singleton } = run
    const rate = webhook?.rate === undefined ? undefined : parseRate(webhook.rate)
    return {
      ord,
      id: run_id,
      source: run.source,
      team: run.team,
      mode: run.mode,
      title: run.title,
      prompt: run.prompt,
      layout: run.layout,
      agent: run.agent,
      variables: run.variables,
      files: run.files?.map(({ bytes: _, source: __, ...file }) => file),
      thread_key: run.thread_key,
      singleton_key: singleton?.key,
      on_new: singleton?.on_new,
      replay_of: run.replay_of,
      chained_from: run.chained_from,
      chain_depth: run.chain_depth,
      attempt: run.attempt,
      max_attempts: run.max_attempts,
      retry_after_seconds: run.retry_after_seconds,
      deadline_at: run.deadline_at,
      accepted_at: run.accepted_at,
      traceparent: run.traceparent,
      triggered_by: run.triggered_by,
      asked_by: run.asked_by,
      callback_url: run.callback_url,
      webhook_version: run.webhook_version === undefined ? webhook?.version : (run.webhook_version ?? undefined),
      webhook_id: webhook?.id,
      token_hash: webhook?.token_hash,
      version: webhook?.version,
      max_queued: webhook && isCounted(webhook) ? webhook.max_queued : undefined,
      rate_runs: rate?.runs,
      rate_seconds: rate?.seconds,
      budget_runs: webhook?.budget?.runs,
      budget_usd: webhook?.budget?.cost_usd,
      unknown_usd: webhook?.budget?.unknown_cost_usd,
      timeout_ms: Math.round(Duration.toMillis(timeout)),
      max_work_ms: max_work && Math.round(Duration.toMillis(max_work)),
      idempotency_key: idempotency?.key,
      idempotency_expires_at: idempotency?.expires_at,
      request_hash: idempotency?.request_hash,
      window_key: coalesce?.key,
      window_until: coalesce?.until,
      window_latest: coalesce && (coalesce.latest ?? coalesce.until),
      window_template: coalesce?.template,
      window_request: coalesce?.request,
      approval_until: run.approval_until
    } satisfies { readonly [Field in InputField]: NewRun[Field] | undefined } & Readonly<Record<string, unknown>>
  }

/** The columns of `runs` that are set at acceptance. */
export const storedTypes = {
  id: "uuid",
  source: "text",
  webhook_id: "uuid",
  webhook_version: "int",
  team: "text",
  mode: "text",
  title: "text",
  prompt: "text",
  layout: "json",
  agent: "json",
  variables: "json",
  files: "json",
  timeout_ms: "bigint",
  max_work_ms: "int",
  thread_key: "text",
  singleton_key: "text",
  replay_of: "uuid",
  chained_from: "uuid",
  chain_depth: "int",
  attempt: "int",
  max_attempts: "int",
  retry_after_seconds: "int",
  deadline_at: "timestamptz",
  accepted_at: "timestamptz",
  traceparent: "text",
  triggered_by: "text",
  asked_by: "text",
  callback_url: "text",
  idempotency_key: "text",
  idempotency_expires_at: "timestamptz",
  request_hash: "bytea"
} as const

/** A field of `NewRun` without a line here does not compile. */
export const inputTypes = {
  ...storedTypes,
  ...limitTypes,
  on_new: "text",
  window_key: "text",
  window_until: "timestamptz",
  window_latest: "timestamptz",
  window_template: "json",
  window_request: "json",
  approval_until: "timestamptz",
  ord: "int",
  token_hash: "bytea",
  version: "int"
} as const satisfies {
  readonly [Name in keyof ReturnType<ReturnType<typeof toInput>>]-?: string
}
