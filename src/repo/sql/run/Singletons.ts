/** Runs that are on one at a time, by the webhook's `singleton`: a part of accepting runs (`Insert.ts`). */
import { SqlClient, type Statement } from "@effect/sql"
import { DateTime, Effect } from "effect"
import { type CancelEvent, isRetry, type NewRun, type SingletonRuns } from "../../run/RunStore.ts"
import { notify } from "../Changes.ts"
import { bounded } from "../database/Database.ts"
import { isWaiting, runColumns, runFromRow } from "../RunColumns.ts"

/**
 * Its acceptance depends on other runs with its key, or ends them, so it comes after that of another server. A retry depends
 * on its failed run, which may be superseded.
 */
export const isExclusive = (run: NewRun): boolean =>
  run.singleton !== undefined && (run.singleton.on_new !== "queue" || isRetry(run))

interface Singletons {
  /** The column `on_run` of an input `i`: the run with its key that is on. Its lock comes before all others. */
  readonly onRun: Statement.Fragment
  /** The run for which the input `i` is skipped. */
  readonly skippedFor: Statement.Fragment
  /** Whether the input `i` takes the place of a queued run: the queue gets no longer. */
  readonly takesPlace: Statement.Fragment
  /** The query `replaced`, of the runs that inserted ones have superseded, and how to read it. */
  readonly replaced: Statement.Fragment
  readonly superseded?: Statement.Fragment
}

const none = (sql: SqlClient.SqlClient): Singletons => ({
  onRun: sql``,
  skippedFor: sql`null::uuid`,
  takesPlace: sql`false`,
  replaced: sql``
})

/**
 * The functions that read and cancel the runs of a key see what was committed before they got the lock, and what this
 * statement has inserted. So of several new runs with one key, the last one remains.
 *
 * @param after a condition that holds once the failed runs of accepted retries have been changed
 */
export const singletonsOf = (
  sql: SqlClient.SqlClient,
  runs: ReadonlyArray<NewRun>,
  { after, at }: { readonly after: Statement.Fragment; readonly at: DateTime.Utc }
): Singletons =>
  !runs.some(isExclusive)
    ? none(sql)
    : {
        onRun: sql`, case when i.on_new <> 'queue' or i.attempt > 1 then
          webhook_trigger.singleton_on(i.webhook_id, i.team, i.singleton_key)
        end as on_run`,
        skippedFor: sql`case when i.on_new = 'skip' then i.on_run end`,
        takesPlace: sql`i.on_new is not distinct from 'supersede' and i.on_run is not null and exists (
          select from webhook_trigger.runs q where q.id = i.on_run and ${isWaiting}
        )`,
        superseded: sql`select * from replaced`,
        replaced: sql`replaced as materialized (
        select s.* from (
          select array_agg(webhook_id) as hooks, array_agg(team) as lanes, array_agg(singleton_key) as keys, array_agg(id) as newer
          from (
            select distinct on (p.webhook_id, p.team, p.singleton_key) p.webhook_id, p.team, p.singleton_key, p.id
            from placed p join inserted using (id) where p.on_new = 'supersede' ${after}
            order by p.webhook_id, p.team, p.singleton_key, p.ord desc
          ) as newest
        ) as n, lateral webhook_trigger.cancel_singletons(
          n.hooks, n.lanes, n.keys, n.newer, 'superseded', ${DateTime.toDateUtc(at)}::timestamptz, 'infinity'
        ) as s
        where n.hooks is not null
      ),`
      }

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
