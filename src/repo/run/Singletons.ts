/** Runs that are on one at a time, by the webhook's `singleton`. */
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { notify } from "../Changes.ts"
import { bounded } from "../database/Database.ts"
import { runColumns, runFromRow } from "../RunColumns.ts"
import { type CancelEvent, isRetry, type NewRun, type SingletonRuns } from "./RunStore.ts"

/**
 * Its acceptance depends on other runs with its key, or ends them, so it comes after that of another server. A retry depends
 * on its failed run, which may be superseded.
 */
export const isExclusive = (run: NewRun): boolean =>
  run.singleton !== undefined && (run.singleton.on_new !== "queue" || isRetry(run))

/** `RunStore.cancelSingletons`. */
export const makeCancelSingletons = Effect.map(SqlClient.SqlClient, (sql) =>
  Effect.fn("RunStore.cancelSingletons")(function* (
    { key, team, webhook_id }: SingletonRuns,
    { at, idempotency, received_at }: CancelEvent & { readonly at: DateTime.Utc }
  ) {
    const received = sql`${DateTime.toDateUtc(received_at)}::timestamptz`
    const first =
      idempotency === undefined
        ? sql`select ${received} as received_at`
        : sql`
          insert into webhook_trigger.cancel_events as e (webhook_id, idempotency_key, received_at, expires_at)
          values (${webhook_id}::uuid, ${idempotency.key}, ${received}, ${DateTime.toDateUtc(idempotency.expires_at)})
          on conflict (webhook_id, idempotency_key) do update set received_at = least(e.received_at, excluded.received_at)
          returning received_at`
    const rows = yield* sql`
      with first as materialized (${first}), cancelled as materialized (
        select c.* from first, lateral webhook_trigger.cancel_singletons(
          array[${webhook_id}::uuid], array[${team}::text], array[${key}::text], array[null::uuid], 'event',
          ${DateTime.toDateUtc(at)}::timestamptz, first.received_at
        ) as c
      ), ${notify(sql, "RunEnded", sql`select id::text as name from cancelled`)}
      select ${runColumns}, (select count(*) from notified) from cancelled r`
    return rows.map((row) => runFromRow(row))
  }, bounded)
)
