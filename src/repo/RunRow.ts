import type { RunId, WebhookId } from "../domain/Id.ts"
import type { Run, RunError, RunMode, RunSource, RunStatus, Variables } from "../domain/Run.ts"
import type { TeamName } from "../domain/Team.ts"
import type { Dispatchable } from "./Repo.ts"

/** A run as every `Repo` stores it: the columns of the table `runs`. */
export interface RunRow {
  readonly id: RunId
  readonly source: RunSource
  readonly webhook_id: WebhookId | null
  readonly team: TeamName
  readonly mode: RunMode
  readonly status: RunStatus
  readonly prompt: string
  readonly variables: Variables
  readonly response: string | null
  readonly error_code: RunError["code"] | null
  readonly error_message: string | null
  readonly timeout_ms: number
  readonly deadline_at: Date | null
  readonly accepted_at: Date
  /** Just before it is published. */
  readonly admitted_at: Date | null
  readonly sent_at: Date | null
  readonly started_at: Date | null
  readonly finished_at: Date | null
}

export const toRun = (row: RunRow): Run => ({
  run_id: row.id,
  source: row.source,
  ...(row.webhook_id !== null && { webhook_id: row.webhook_id }),
  team: row.team,
  mode: row.mode,
  status: row.status,
  accepted_at: row.accepted_at,
  ...(row.sent_at !== null && { sent_at: row.sent_at }),
  ...(row.started_at !== null && { started_at: row.started_at }),
  ...(row.finished_at !== null && { finished_at: row.finished_at }),
  ...(row.started_at !== null &&
    row.finished_at !== null && { duration_ms: Math.max(0, row.finished_at.getTime() - row.started_at.getTime()) }),
  variables: row.variables,
  conversation: { prompt: row.prompt, ...(row.response !== null && { response: row.response }) },
  ...(row.error_code !== null && { error: { code: row.error_code, message: row.error_message ?? "" } })
})

/** What the dispatcher needs of a run, and of its webhook as it is now. */
export type DispatchableRow = Pick<
  RunRow,
  "id" | "source" | "webhook_id" | "team" | "mode" | "status" | "prompt" | "timeout_ms" | "deadline_at" | "admitted_at"
> & { readonly webhook_name: string | null; readonly max_concurrent: number | null }

export const toDispatchable = (row: DispatchableRow): Dispatchable => ({
  run_id: row.id,
  source: row.source,
  ...(row.webhook_id !== null && {
    webhook: {
      id: row.webhook_id,
      name: row.webhook_name ?? "",
      ...(row.max_concurrent !== null && { max_concurrent: row.max_concurrent })
    }
  }),
  team: row.team,
  mode: row.mode,
  prompt: row.prompt,
  timeout_ms: row.timeout_ms,
  ...(row.deadline_at !== null && { deadline_at: row.deadline_at }),
  status: row.status === "running" ? "running" : "queued",
  admitted: row.admitted_at !== null
})

/**
 * Text as every `Repo` can keep it: PostgreSQL takes no U+0000, and UTF-8 no lone surrogate; each becomes U+FFFD. A
 * leader's answer is kept in this way rather than lost.
 */
export const storable = (text: string): string => text.replace(/[\0\p{Surrogate}]/gu, "\ufffd")
