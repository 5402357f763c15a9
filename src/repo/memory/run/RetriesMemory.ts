import { type Context, DateTime, Effect } from "effect"
import type { RunRow } from "../../../domain/run/Run.ts"
import type { QueuedRuns, RunStore } from "../../run/RunStore.ts"
import { isRunOf } from "../access/OwnerStoreMemory.ts"
import { isAfter, type StoredRun, type Tables } from "../Tables.ts"

/** Failed runs with a pending retry, for the methods of `RunStore`. */
export const makeRetries = (
  tables: Tables
): Pick<Context.Tag.Service<RunStore>, "retriesDue" | "callOffRetries" | "callOffRetriesOf" | "countRetries"> => {
  const { webhooks, where } = tables
  const settleRetry = makeSettleRetry(tables)

  const waitingRetries = (of: QueuedRuns) =>
    where(
      (row) =>
        row.retry_at !== undefined &&
        isRunOf(tables, row, of.owners) &&
        ("team" in of ? webhooks.get(row.webhook_id!)?.team === of.team : row.webhook_id === of.webhook_id)
    )

  return {
    retriesDue: (now, { limit, except }) =>
      Effect.sync(() =>
        where(({ retry_at, webhook_id }) => !!retry_at && !isAfter(retry_at, now) && !except.includes(webhook_id!))
          .map(({ row }) => row)
          .sort((a, b) => DateTime.distance(b.retry_at!, a.retry_at!))
          .slice(0, limit)
          .map(({ run_id }) => run_id)
      ),
    callOffRetries: (ids, by) =>
      Effect.sync(() => {
        const waiting = where(({ run_id, retry_at }) => retry_at !== undefined && ids.includes(run_id))
        for (const run of waiting) settleRetry(run, by === undefined ? {} : { cancelled_by: by })
        return new Set(waiting.map(({ row }) => row.run_id))
      }),
    callOffRetriesOf: (of, by) =>
      Effect.sync(() => {
        const waiting = waitingRetries(of)
        for (const run of waiting) settleRetry(run, by === undefined ? {} : { cancelled_by: by })
        return waiting.length
      }),
    countRetries: (of) => Effect.sync(() => waitingRetries(of).length)
  }
}

/** The run's retry is no longer pending. */
export const makeSettleRetry =
  ({ notify }: Tables) =>
  (failed: StoredRun, fields: Pick<RunRow, "retried_by" | "cancelled_by">): void => {
    const { retry_at: _, ...row } = failed.row
    failed.row = { ...row, ...fields }
    notify({ _tag: "RunEnded", run_id: row.run_id })
  }
