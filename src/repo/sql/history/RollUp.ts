import { SqlClient, type Statement } from "@effect/sql"
import { DateTime, Effect } from "effect"
import { bounded } from "../database/Database.ts"

/** How long hours and days are kept: a little longer than anyone can ask for. */
const keptHours = { days: 8 }
const keptDays = { days: 32 }

/** Number of changes that one statement moves. */
const changesInOneStep = 10_000

/**
 * `HistoryStore.rollUp`. One server at a time: it locks the row of `run_counts_state`, and the following statements see
 * runs and changes in one snapshot. So each run is counted once.
 */
export const makeRollUp = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /** Parts of a `with` query: a portion of the changes, which leaves its table. */
  const takenFrom = (table: string) => sql`
    taken as materialized (
      delete from ${sql(`webhook_trigger.${table}`)} c
      using (select ctid from ${sql(`webhook_trigger.${table}`)} limit ${changesInOneStep}) as first
      where c.ctid = first.ctid
      returning c.*
    )`

  /** The taken changes of existing webhooks, once for hours and once for days. Their rows are locked in order. */
  const placed = (which: Statement.Fragment) => sql`
    source as materialized (select * from taken where ${which}), known as materialized (
      select w.id from webhook_trigger.webhooks w where w.id in (select webhook_id from source)
      order by w.id for key share
    ), placed as materialized (
      select source.*, u.hours, date_bin(u.hours * interval '1 hour', accepted_hour, 'epoch') as begins_at
      from source join known on known.id = source.webhook_id,
        (
          select 1::smallint, hours_from from webhook_trigger.run_counts_state
          union all select 24, days_from from webhook_trigger.run_counts_state
        ) as u(hours, kept_from)
      where accepted_hour >= u.kept_from
    )`

  /** Whether more changes are left. */
  const addCounts = Effect.gen(function* () {
    const [row] = yield* sql<{ readonly taken: number }>`
      with ${takenFrom("run_count_changes")}, waiting as (
        insert into webhook_trigger.lane_counts
        select team, webhook_id, accepted_hour, sum(runs) from taken where status = 'queued'
        group by 1, 2, 3 having sum(runs) <> 0
        on conflict (team, webhook_id, accepted_hour) do update set runs = lane_counts.runs + excluded.runs
      ), ${placed(sql`status <> 'queued'`)}, counted as (
        insert into webhook_trigger.run_counts
        select webhook_id, hours, begins_at, status, sum(runs) from placed
        group by 1, 2, 3, 4 having sum(runs) <> 0 order by 1, 2, 3, 4
        on conflict (webhook_id, hours, begins_at, status) do update set runs = run_counts.runs + excluded.runs
      ), timed as (
        insert into webhook_trigger.run_durations
        select webhook_id, hours, begins_at, took_ms, sum(runs) from placed where took_ms is not null
        group by 1, 2, 3, 4 having sum(runs) <> 0 order by 1, 2, 3, 4
        on conflict (webhook_id, hours, begins_at, took_ms) do update set runs = run_durations.runs + excluded.runs
      )
      select count(*)::int as taken from taken`
    const { taken } = row!
    if (taken > 0) yield* sql`delete from webhook_trigger.lane_counts where runs = 0`
    return taken === changesInOneStep
  })

  /** Whether more changes are left. */
  const addUsage = Effect.gen(function* () {
    const [row] = yield* sql<{ readonly taken: number }>`
      with ${takenFrom("run_usage_changes")}, ${placed(sql`true`)}, added as (
        insert into webhook_trigger.run_usage
        select webhook_id, hours, begins_at, amount, sum(runs), sum(total) from placed
        group by 1, 2, 3, 4 order by 1, 2, 3, 4
        on conflict (webhook_id, hours, begins_at, amount) do update set
          runs = run_usage.runs + excluded.runs, total = run_usage.total + excluded.total
      )
      select count(*)::int as taken from taken`
    return row!.taken === changesInOneStep
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

  const rollUp = Effect.fnUntraced(function* (now: DateTime.Utc) {
    // PostgreSQL expects so many rows of tables that are never analyzed that it would compile the statements: 0.6 s.
    const [state] = yield* sql`
      select set_config('jit', 'off', true)
      from webhook_trigger.run_counts_state for update skip locked`
    if (state === undefined) return false
    yield* forget(now)
    const [moreCounts, moreUsage] = [yield* addCounts, yield* addUsage]
    return moreCounts || moreUsage
  }, sql.withTransaction)

  return Effect.fn("HistoryStore.rollUp")(function* (now: DateTime.Utc) {
    return yield* rollUp(now)
  }, bounded)
})
