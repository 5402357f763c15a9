import { SqlClient, type Statement } from "@effect/sql"
import { DateTime, Effect } from "effect"
import { bounded } from "../database/Database.ts"
import { acceptedBetweenById, newestBefore } from "./AcceptedBetween.ts"

/** How long hours and days are kept: a little longer than anyone may ask for. */
const keptHours = { days: 8 }
const keptDays = { days: 32 }

/** Changes moved by one statement. */
const changesInOneStep = 10_000

/**
 * `HistoryStore.rollUp`. One server at a time: it locks the row of `run_counts_state`, and the statements after that see
 * the runs and the changes of their counts in one snapshot. So each run is counted once, whatever happens meanwhile.
 */
export const makeRollUp = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /**
   * The end of a `with` query: adds the rows of `source` to the counts and durations, of webhooks that are still there, in
   * the order of their keys.
   */
  const add = (source: Statement.Fragment) => sql`
    source(webhook_id, accepted_hour, status, took_ms, runs) as materialized (${source}), known as materialized (
      select w.id from webhook_trigger.webhooks w where w.id in (select webhook_id from source)
      order by w.id for key share
    ), placed as materialized (
      select source.webhook_id, u.hours, date_bin(u.hours * interval '1 hour', accepted_hour, 'epoch') as begins_at,
        source.status, source.took_ms, source.runs
      from source join known on known.id = source.webhook_id,
        (
          select 1::smallint, hours_from from webhook_trigger.run_counts_state
          union all select 24, days_from from webhook_trigger.run_counts_state
        ) as u(hours, kept_from)
      where accepted_hour >= u.kept_from
    ), counted as (
      insert into webhook_trigger.run_counts
      select webhook_id, hours, begins_at, status, sum(runs) from placed
      group by 1, 2, 3, 4 having sum(runs) <> 0 order by 1, 2, 3, 4
      on conflict (webhook_id, hours, begins_at, status) do update set runs = run_counts.runs + excluded.runs
    ), timed as (
      insert into webhook_trigger.run_durations
      select webhook_id, hours, begins_at, took_ms, sum(runs) from placed where took_ms is not null
      group by 1, 2, 3, 4 having sum(runs) <> 0 order by 1, 2, 3, 4
      on conflict (webhook_id, hours, begins_at, took_ms) do update set runs = run_durations.runs + excluded.runs
    )`

  /** Whether there are more. Changes of what is not counted yet are dropped: it is counted as it is by then. */
  const addChanges = Effect.gen(function* () {
    const [row] = yield* sql<{ readonly taken: number }>`
      with taken as materialized (
        delete from webhook_trigger.run_count_changes c
        using (select ctid from webhook_trigger.run_count_changes limit ${changesInOneStep}) as first
        where c.ctid = first.ctid
        returning c.*
      ), waiting as (
        insert into webhook_trigger.lane_counts
        select team, webhook_id, accepted_hour, sum(runs) from taken where status = 'queued'
        group by 1, 2, 3 having sum(runs) <> 0
        on conflict (team, webhook_id, accepted_hour) do update set runs = lane_counts.runs + excluded.runs
      ), ${add(sql`
        select t.webhook_id, t.accepted_hour, t.status, t.took_ms, t.runs
        from taken t, webhook_trigger.run_counts_state s
        where t.status <> 'queued' and (s.uncounted_before is null or t.accepted_hour >= s.uncounted_before)`)}
      select count(*)::int as taken from taken`
    const { taken } = row!
    if (taken > 0) yield* sql`delete from webhook_trigger.lane_counts where runs = 0`
    return taken === changesInOneStep
  })

  /** Counts the newest hour, with runs in it, of those that are not counted. */
  const countHour = Effect.fnUntraced(function* (until: DateTime.Utc) {
    const [row] = yield* sql<{ readonly newest: Date | null }>`
      select max(accepted_at) filter (where accepted_at >= s.days_from) as newest
      from webhook_trigger.run_counts_state s left join (${newestBefore(sql, until)}) as n on true`
    if (!row?.newest) {
      yield* sql`update webhook_trigger.run_counts_state set uncounted_before = null`
      return
    }
    const newest = DateTime.add(DateTime.unsafeFromDate(row.newest), { minutes: 1 })
    const from = DateTime.startOf(DateTime.min(newest, DateTime.subtract(until, { millis: 1 })), "hour")
    const hour = sql`date_bin('1 hour', r.accepted_at, 'epoch')`
    yield* sql`
      with dropped as (
        delete from webhook_trigger.run_count_changes
        where status <> 'queued'
          and accepted_hour >= ${DateTime.toDateUtc(from)} and accepted_hour < ${DateTime.toDateUtc(until)}
      ), ${add(sql`
        select r.webhook_id, ${hour}, r.status,
          webhook_trigger.duration_class(r.status, r.started_at, r.finished_at), count(*)
        from webhook_trigger.runs r
        where ${sql.and(acceptedBetweenById(sql, { from, to: until }))}
          and r.webhook_id is not null and r.finished_at is not null
        group by 1, 2, 3, 4`)}
      update webhook_trigger.run_counts_state set uncounted_before = ${DateTime.toDateUtc(from)}`
  })

  /** Deletes what is older than anyone asks for, once an hour. */
  const forget = Effect.fnUntraced(function* (now: DateTime.Utc) {
    const hours = DateTime.toDateUtc(DateTime.startOf(DateTime.subtract(now, keptHours), "hour"))
    const days = DateTime.toDateUtc(DateTime.startOf(DateTime.subtract(now, keptDays), "day"))
    const moved = yield* sql`
      update webhook_trigger.run_counts_state set hours_from = ${hours}, days_from = ${days}
      where hours_from < ${hours} or days_from < ${days} returning 1`
    if (moved.length === 0) return
    for (const table of ["run_counts", "run_durations"]) {
      yield* sql`
        delete from ${sql(`webhook_trigger.${table}`)}
        where (hours = 1 and begins_at < ${hours}) or (hours = 24 and begins_at < ${days})`
    }
  })

  const rollUp = Effect.fnUntraced(function* (now: DateTime.Utc) {
    // Of tables that are never analyzed PostgreSQL expects so many rows that it would compile the statements: for 0.6 s.
    const [state] = yield* sql<{ readonly uncounted_before: Date | null }>`
      select uncounted_before, set_config('jit', 'off', true)
      from webhook_trigger.run_counts_state for update skip locked`
    if (state === undefined) return false
    yield* forget(now)
    const more = yield* addChanges
    if (state.uncounted_before === null) return more
    yield* countHour(DateTime.unsafeFromDate(state.uncounted_before))
    return true
  }, sql.withTransaction)

  return Effect.fn("HistoryStore.rollUp")(function* (now: DateTime.Utc) {
    return yield* rollUp(now)
  }, bounded)
})
