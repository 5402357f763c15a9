import { DateTime, Duration, Effect } from "effect"
import { SqlClient, Statement } from "effect/sql"
import { bounded } from "../database/Database.ts"

/** How long hours and days are kept: a little longer than anyone can ask for. */
const keptHours = { days: 8 }
const keptDays = { days: 32 }

/** Number of ends that one statement counts. */
const endsInOneStep = 10_000

/**
 * `from ${uncounted}`: the ends of webhooks' runs that the kept counts do not contain yet, with the columns that are
 * counted. Always read by the index of `recorded_at`. A statement that adds both up counts each end once.
 */
export const uncounted = Statement.fragment([
  Statement.literal(`(
  select webhook_id, date_bin('1 hour', accepted_at, 'epoch') as accepted_hour, status,
    webhook_trigger.duration_class(status, started_at, finished_at) as took_ms, report
  from webhook_trigger.runs
  where webhook_id is not null and recorded_at >= (select counted_to from webhook_trigger.run_counts_state)
  order by recorded_at offset 0
) as uncounted`)
])

/** Adds rows to the usage that is kept. They are in the order of its key, so that statements do not deadlock. */
export const addUsage = (sql: SqlClient.SqlClient, rows: Statement.Fragment): Statement.Fragment => sql`
  insert into webhook_trigger.run_usage ${rows} order by 1, 2, 3, 4
  on conflict (webhook_id, hours, begins_at, amount) do update set
    runs = run_usage.runs + excluded.runs, total = run_usage.total + excluded.total`

/**
 * `HistoryStore.rollUp`. One server at a time: it locks the row of `run_counts_state`. The ends of one step are those that
 * were stored from `counted_to` on and before a time at which every transaction that stored an earlier one is over. So
 * each is counted once, whenever its run was accepted, and whatever the clocks of the servers say.
 */
export const makeRollUp = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /** Whether more ends are left. */
  const count = Effect.fnUntraced(function* (settled: Duration.Duration) {
    // `recorded_at` is the time at which its transaction began, which `pg_stat_activity` shows of those that are under way.
    // A transaction that has written nothing for so long is no end: a dump, for instance, takes hours.
    const [row] = yield* sql<{ readonly more: boolean }>`
      with state as materialized (
        select s.*, greatest(s.counted_to, least(
          now() - ${Duration.toMillis(settled)}::float8 * interval '1 millisecond',
          (
            select min(a.xact_start) from pg_stat_activity a
            where a.datname = current_database() and (a.backend_xid is not null or a.xact_start > now() - interval '10 seconds')
          )
        )) as settled
        from webhook_trigger.run_counts_state s
      ), step as materialized (
        select counted_to, hours_from, days_from, coalesce(next.begins, settled) as ends, next.begins is not null as more
        from state left join lateral (
          select r.recorded_at as begins from webhook_trigger.runs r
          where r.webhook_id is not null and r.recorded_at >= state.counted_to and r.recorded_at < state.settled
          order by r.recorded_at limit 1 offset ${endsInOneStep}
        ) as next on next.begins > state.counted_to
      ), ended as materialized (
        select r.webhook_id, date_bin('1 hour', r.accepted_at, 'epoch') as accepted_hour, r.status,
          webhook_trigger.duration_class(r.status, r.started_at, r.finished_at) as took_ms, r.report
        from webhook_trigger.runs r
        where r.webhook_id is not null
          and r.recorded_at >= (select counted_to from step) and r.recorded_at < (select ends from step)
      ), known as materialized (
        select w.id from webhook_trigger.webhooks w where w.id in (select webhook_id from ended)
        order by w.id for key share
      ), placed as materialized (
        select ended.*, u.hours, date_bin(u.hours * interval '1 hour', accepted_hour, 'epoch') as begins_at
        from ended join known on known.id = ended.webhook_id, step,
          lateral (values (1::smallint, step.hours_from), (24, step.days_from)) as u(hours, kept_from)
        where accepted_hour >= u.kept_from
      ), counted as (
        insert into webhook_trigger.run_counts
        select webhook_id, hours, begins_at, status, count(*) from placed group by 1, 2, 3, 4 order by 1, 2, 3, 4
        on conflict (webhook_id, hours, begins_at, status) do update set runs = run_counts.runs + excluded.runs
      ), timed as (
        insert into webhook_trigger.run_durations
        select webhook_id, hours, begins_at, took_ms, count(*) from placed where took_ms is not null
        group by 1, 2, 3, 4 order by 1, 2, 3, 4
        on conflict (webhook_id, hours, begins_at, took_ms) do update set runs = run_durations.runs + excluded.runs
      ), used as (
        ${addUsage(
          sql,
          sql`
            select webhook_id, hours, begins_at, a.amount, count(*), sum(a.total)
            from placed, webhook_trigger.usage_amounts(placed.report) a where placed.report is not null group by 1, 2, 3, 4`
        )}
      ), moved as (
        update webhook_trigger.run_counts_state s set counted_to = step.ends from step
      )
      select more from step`
    return row!.more
  })

  /** Once an hour, deletes counts that are too old. */
  const forget = Effect.fnUntraced(function* (now: DateTime.Utc) {
    const hours = DateTime.toDateUtc(DateTime.startOf(DateTime.subtract(now, keptHours), "hour"))
    const days = DateTime.toDateUtc(DateTime.startOf(DateTime.subtract(now, keptDays), "day"))
    const moved = yield* sql`
      update webhook_trigger.run_counts_state set hours_from = ${hours}, days_from = ${days}
      where hours_from < ${hours} or days_from < ${days} returning 1`
    if (moved.length === 0) return
    for (const table of ["run_counts", "run_durations", "run_usage"]) {
      yield* sql`
        delete from ${sql(`webhook_trigger.${table}`)}
        where (hours = 1 and begins_at < ${hours}) or (hours = 24 and begins_at < ${days})`
    }
  })

  /**
   * Counts a portion of the ends that were stored at least `settled` ago, and returns true if more are left. `activity`
   * and `statistics` count newer ends when they are read, so they do not depend on it. It counts each end once, whenever
   * its run was accepted. What is counted stays when runs are purged.
   */
  const rollUp = Effect.fnUntraced(function* (now: DateTime.Utc, settled: Duration.Duration) {
    const [state] = yield* sql`select 1 from webhook_trigger.run_counts_state for update skip locked`
    if (state === undefined) return false
    yield* forget(now)
    return yield* count(settled)
  }, sql.withTransaction)

  return Effect.fn("HistoryStore.rollUp")(rollUp, bounded)
})
