import { DateTime, Duration, Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import { finalStatuses } from "../../domain/run/RunStatus.ts"
import type { RunBucket } from "../../domain/run/Statistics.ts"
import { usageAmounts } from "../../domain/run/UsageSum.ts"
import { isTeamOf, type Teams } from "../access/Ownership.ts"
import { fromRow, list } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { inLane, isOut, isWaiting, live } from "../RunColumns.ts"
import type { QueuedFacts } from "./HistoryStore.ts"
import { uncounted } from "./RollUp.ts"

/**
 * The part of `HistoryStore` that counts runs: the kept counts by hour and day, the ends that `rollUp` has not added yet,
 * and the runs that have not ended.
 */
export const makeStatistics = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /** The few unfinished runs that are out, always read by the index of those. */
  const inFlight = sql`(
    select webhook_id, accepted_at from webhook_trigger.runs
    where status in ${live} and admitted_at is not null order by team offset 0
  ) as in_flight`

  const sums = list([
    ...finalStatuses.map((status) => `coalesce(sum(runs) filter (where status = '${status}'), 0)::int as ${status}`),
    "coalesce(sum(runs) filter (where status is null), 0)::int as live"
  ])

  /** The usage of a group of rows of `run_usage`; null without any. An amount that no run reported is absent. */
  const usage = sql.literal(`
    case when sum(runs) filter (where amount = 'reported') > 0 then json_strip_nulls(json_build_object(
      'reported', sum(runs) filter (where amount = 'reported'),
      ${usageAmounts
        .map(
          (amount) => `'${amount}', case when sum(runs) filter (where amount = '${amount}') > 0 then
            (sum(total) filter (where amount = '${amount}'))::float8 end`
        )
        .join(", ")}
    )) end as usage`)

  /** A query's parts for the steps from `since` on. */
  const stepsOf = (since: DateTime.Utc, step: Duration.Duration) => {
    const from = sql`${DateTime.toDateUtc(since)}::timestamptz`
    const millis = Duration.toMillis(step)
    const day = Duration.toMillis(Duration.days(1))
    const wholeDays = since.epochMilliseconds % day === 0 && millis % day === 0
    return {
      from,
      /** The beginning of the step that contains this time. Of all functions of time, the cheapest for many rows. */
      begin: (time: string) =>
        sql`date_bin(${millis} * interval '1 millisecond', ${sql.literal(time)}, ${from}) as begin`,
      /** The number of the step, for the few rows of a result. */
      bucket: sql`round(extract(epoch from begin - ${from}) * 1000 / ${millis})::int as bucket`,
      /** The kept counts, of `run_counts`, `run_durations` or `run_usage`. */
      kept: sql`hours = ${sql.literal(wholeDays ? "24" : "1")} and begins_at >= ${from}`,
      /** The newest ends, which are not among the kept counts. */
      ends: sql`${uncounted} where accepted_hour >= ${from}`,
      /** Their usage. */
      usages: sql`${uncounted}, webhook_trigger.usage_amounts(report) where report is not null and accepted_hour >= ${from}`
    }
  }

  /**
   * How the runs accepted since then ended and what they used, by webhook and time step, without empty steps. `since`
   * is a whole hour in UTC and `step` some hours, or midnight and some days. Hours are kept for a week, days for a
   * month.
   */
  const activity = Effect.fn("HistoryStore.activity")(function* (since: DateTime.Utc, step: Duration.Duration) {
    const { begin, bucket, ends, from, kept, usages } = stepsOf(since, step)
    const rows = yield* sql`
      with counts as (
        select webhook_id, begin, ${sums} from (
          select webhook_id, ${begin("begins_at")}, status, runs from webhook_trigger.run_counts where ${kept}
          union all
          select webhook_id, ${begin("accepted_hour")}, status, 1 from ${ends}
          union all
          select webhook_id, ${begin("accepted_at")}, null, 1 from webhook_trigger.runs
          where ${isWaiting} and webhook_id is not null and accepted_at >= ${from}
          union all
          select webhook_id, ${begin("accepted_at")}, null, 1 from ${inFlight}
          where webhook_id is not null and accepted_at >= ${from}
        ) as each
        group by webhook_id, begin
      ), used as (
        select webhook_id, begin, ${usage} from (
          select webhook_id, ${begin("begins_at")}, amount, runs, total from webhook_trigger.run_usage where ${kept}
          union all
          select webhook_id, ${begin("accepted_hour")}, amount, 1, total from ${usages}
        ) as each
        group by webhook_id, begin
      )
      select webhook_id, ${bucket}, ${list([...finalStatuses, "live", "usage"])}
      from counts left join used using (webhook_id, begin)`
    return rows.map((row) => fromRow<RunBucket & { readonly webhook_id: WebhookId }>(row))
  }, bounded)

  /** By time step, with durations, for the webhooks for which `of` holds. */
  const bucketsOf = Effect.fnUntraced(function* (of: Statement.Fragment, since: DateTime.Utc, step: Duration.Duration) {
    const { begin, bucket, ends, from, kept, usages } = stepsOf(since, step)
    const rows = yield* sql`
      with counts as (
        select begin, ${sums} from (
          select ${begin("begins_at")}, status, runs from webhook_trigger.run_counts where ${of} and ${kept}
          union all
          select ${begin("accepted_hour")}, status, 1 from ${ends} and ${of}
          union all
          select ${begin("accepted_at")}, null, 1 from webhook_trigger.runs
          where ${isWaiting} and ${of} and accepted_at >= ${from}
          union all
          select ${begin("accepted_at")}, null, 1 from ${inFlight}
          where ${of} and accepted_at >= ${from}
        ) as each
        group by begin
      ), durations as (
        select begin, took_ms, sum(runs)::int as runs from (
          select ${begin("begins_at")}, took_ms, runs from webhook_trigger.run_durations
          where ${of} and ${kept}
          union all
          select ${begin("accepted_hour")}, took_ms, 1 from ${ends} and ${of} and took_ms is not null
        ) as each
        group by begin, took_ms
      ), ranked as (
        select begin, took_ms, sum(runs) over (partition by begin order by took_ms) as up_to,
          sum(runs) over (partition by begin) as runs
        from durations
      ), times as (
        select begin, max(took_ms)::float8 as slowest_ms, (
          min(took_ms) filter (where up_to >= (runs + 1) / 2) + min(took_ms) filter (where up_to >= runs / 2 + 1)
        )::float8 / 2 as median_ms
        from ranked group by begin
      ), used as (
        select begin, ${usage} from (
          select ${begin("begins_at")}, amount, runs, total from webhook_trigger.run_usage
          where ${of} and ${kept}
          union all
          select ${begin("accepted_hour")}, amount, 1, total from ${usages} and ${of}
        ) as each
        group by begin
      )
      select ${bucket}, ${list([...finalStatuses, "live", "median_ms", "slowest_ms", "usage"])}
      from counts left join times using (begin) left join used using (begin)`
    return rows.map((row) => fromRow<RunBucket>(row))
  }, bounded)

  /** The same for one webhook, with durations: six binary digits, rounded down. */
  const statistics = Effect.fn("HistoryStore.statistics")(
    (id: WebhookId, since: DateTime.Utc, step: Duration.Duration) => bucketsOf(sql`webhook_id = ${id}`, since, step)
  )

  /** The same for all webhooks, or those of these teams. */
  const totals = Effect.fn("HistoryStore.totals")((owners: Teams, since: DateTime.Utc, step: Duration.Duration) => {
    const owned = sql`webhook_id in (select id from webhook_trigger.webhooks where ${isTeamOf(sql, "team", owners)})`
    return bucketsOf(owners === undefined ? sql`webhook_id is not null` : owned, since, step)
  })

  /** The webhook's runs that hold a slot, and those that wait for one. */
  const slots = Effect.fn("HistoryStore.slots")(function* (id: WebhookId) {
    const [row] = yield* sql<{ readonly slots_in_use: number; readonly queued: number }>`
      select
        (select count(*)::int from webhook_trigger.runs r where ${isOut} and webhook_id = ${id}) as slots_in_use,
        (select count(*)::int from webhook_trigger.runs where ${isWaiting} and webhook_id = ${id}) as queued`
    return row!
  }, bounded)

  /** The facts about why a queued run may wait; undefined if it is not queued. Counts the runs ahead up to `most`. */
  const queuedFacts = Effect.fn("HistoryStore.queuedFacts")(function* (id: RunId, most: number) {
    const [row] = yield* sql`
      select own.admitted_at is not null as is_admitted, t.paused_at is not null as is_paused, t.resting_until, t.resting_reason,
        own.mode = 'async' and own.deadline_at is not null as needs_leader, (
          select count(*)::int from (
            select from webhook_trigger.runs r where r.team = own.team and r.place < own.place and ${inLane} limit ${most}
          ) as lane
        ) as ahead, (
          select r.status from webhook_trigger.runs r where r.team = own.team and ${isOut}
        ) as out, w.max_concurrent is not null and w.max_concurrent <= (
          select count(*) from webhook_trigger.runs r where ${isOut} and r.webhook_id = own.webhook_id
        ) as webhook_is_full
      from webhook_trigger.runs own left join webhook_trigger.teams t on t.team = own.team
        left join webhook_trigger.webhooks w on w.id = own.webhook_id
      where own.id = ${id} and own.status = 'queued'`
    return row && fromRow<QueuedFacts>(row)
  }, bounded)

  return { activity, queuedFacts, statistics, slots, totals }
})
