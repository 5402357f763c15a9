/** The runs of an acceptance as data for the function `step`. */
import { Duration } from "effect"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import type { HeldFor } from "../../domain/run/Held.ts"
import { parseRate } from "../../domain/webhook/Rate.ts"
import { jsonOf } from "../Columns.ts"
import { sentFiles } from "./FileContents.ts"
import { type AcceptOptions, isRetry, type NewRun } from "./RunStore.ts"
import { isExclusive } from "./Singletons.ts"

/** Why a webhook does not accept a run. */
type WebhookRefusal = "webhook full" | "budget of runs" | "budget of cost" | "rate"

/** The statement's result for a run. */
export interface RunResult {
  readonly outcome: "accepted" | "unknown" | "edited" | "full" | WebhookRefusal | "repeats" | "skipped"
  readonly retry_after_ms: number | null
  readonly used_of_day: number | null
  /** For a skipped run: the one that is on. */
  readonly skipped_for: RunId | null
}

export const accepted: RunResult = { outcome: "accepted", retry_after_ms: null, used_of_day: null, skipped_for: null }

/** The features that some runs need beyond the plain way of an acceptance. */
type Feature = "limits" | "queues" | "costs" | "singletons" | "retries" | "windows" | "threads"

/** A field of `NewRun` that is stored under its own name. One that is missing in `toRow` does not compile. */
type StoredField = Exclude<
  keyof NewRun,
  "run_id" | "webhook" | "timeout" | "max_work" | "idempotency" | "coalesce" | "singleton" | "hold"
>

/** When it replaces the runs with its key; absent: it replaces none. */
const supersedes = ({ singleton }: NewRun) =>
  singleton?.on_new === "supersede" ? (singleton.supersede_when ?? "accepted") : undefined

const holdOf = ({ coalesce, hold, needs_approval }: NewRun) => ({
  held_for: coalesce === undefined ? hold?.for : ("window" satisfies HeldFor),
  held_until: coalesce === undefined ? hold?.until : coalesce.until,
  needs_approval
})

/** Field by field: spreading the run, with its many optional fields, takes eight times as long as all this. */
const toRow = (run: NewRun, ord: number) => {
  const { run_id, webhook, timeout, max_work, idempotency, singleton } = run
  return {
    ord,
    id: run_id,
    source: run.source,
    webhook_id: webhook?.id,
    webhook_version: run.webhook_version === undefined ? webhook?.version : (run.webhook_version ?? undefined),
    team: run.team,
    mode: run.mode,
    title: run.title,
    prompt: run.prompt,
    layout: run.layout,
    agent: run.agent,
    variables: run.variables,
    files: run.files?.map(({ bytes: _, source: __, ...file }) => file),
    timeout_ms: Math.round(Duration.toMillis(timeout)),
    max_work_ms: max_work && Math.round(Duration.toMillis(max_work)),
    thread_key: run.thread_key,
    singleton_key: singleton?.key,
    supersedes: supersedes(run),
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
    idempotency_key: idempotency?.key,
    idempotency_expires_at: idempotency?.expires_at,
    request_hash: idempotency?.request_hash,
    ...holdOf(run)
  } satisfies { readonly [Field in StoredField]: NewRun[Field] | undefined } & Readonly<Record<string, unknown>>
}

/** The data for its checks, and for what follows from them. */
const toCheck = (run: NewRun, ord: number, isCounted: boolean) => {
  const { webhook, coalesce, singleton } = run
  const rate = webhook?.rate === undefined ? undefined : parseRate(webhook.rate)
  return {
    ord,
    id: run.run_id,
    webhook_id: webhook?.id,
    token_hash: webhook?.token_hash,
    version: webhook?.version,
    team: run.team,
    mode: run.mode,
    accepted_at: run.accepted_at,
    deadline_at: run.deadline_at,
    ...holdOf(run),
    idempotency_key: run.idempotency?.key,
    thread_key: run.thread_key,
    singleton_key: singleton?.key,
    on_new: singleton?.on_new,
    supersedes: supersedes(run),
    is_exclusive: isExclusive(run) || undefined,
    replay_of: run.replay_of,
    attempt: run.attempt,
    max_queued: isCounted ? webhook?.max_queued : undefined,
    rate_runs: rate?.runs,
    rate_seconds: rate?.seconds,
    budget_runs: webhook?.budget?.runs,
    budget_usd: webhook?.budget?.cost_usd,
    unknown_usd: webhook?.budget?.unknown_cost_usd,
    window_key: coalesce?.key,
    window_latest: coalesce && (coalesce.latest ?? coalesce.until),
    window_template: coalesce?.template,
    window_request: coalesce?.request
  }
}

/** The parameters of the function `step` for these runs. Null: there is none. */
interface AcceptInput {
  readonly checks: string | null
  readonly rows: string | null
  readonly files: string | null
  readonly hooks: ReadonlyArray<WebhookId>
  readonly lanes: ReadonlyArray<string>
  readonly features: ReadonlyArray<Feature>
}

const nothing: AcceptInput = { checks: null, rows: null, files: null, hooks: [], lanes: [], features: [] }

/** `countQueuedOf`: the webhooks whose own queues are checked; absent: all. */
export const acceptInput = (
  runs: ReadonlyArray<NewRun>,
  { countQueuedOf }: Pick<AcceptOptions, "countQueuedOf">
): AcceptInput => {
  if (runs.length === 0) return nothing
  const hooks = new Set<WebhookId>()
  const lanes = new Set<string>()
  const features = new Set<Feature>()
  const checks = runs.map((run, ord) => {
    const { webhook } = run
    const check = toCheck(
      run,
      ord,
      webhook !== undefined && (countQueuedOf === undefined || countQueuedOf.has(webhook.id))
    )
    if (webhook !== undefined) hooks.add(webhook.id)
    lanes.add(run.team)
    if (check.max_queued !== undefined) features.add("limits").add("queues")
    if (check.rate_runs !== undefined || webhook?.budget !== undefined) features.add("limits")
    if (check.budget_usd !== undefined) features.add("costs")
    if (check.is_exclusive) features.add("singletons")
    if (isRetry(run)) features.add("retries")
    if (check.window_key !== undefined) features.add("windows")
    if (run.thread_key !== undefined) features.add("threads")
    return check
  })
  const files = sentFiles(runs)
  return {
    checks: jsonOf(checks),
    rows: jsonOf(runs.map(toRow)),
    files: files === undefined ? null : jsonOf(files),
    hooks: [...hooks],
    lanes: [...lanes],
    features: [...features]
  }
}
