/** Measurements for the rules of alerts: by index, or from the counts that are kept. */
import { DateTime, Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { WebhookId } from "../../domain/Id.ts"
import type { RunError } from "../../domain/run/Run.ts"
import type { RunStatus } from "../../domain/run/RunStatus.ts"
import type { DayUse } from "../../domain/webhook/Budget.ts"
import { uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { uncounted } from "../history/RollUp.ts"

/** How many runs may have ended in another order than they were accepted in, and still count right. */
const unordered = 50

export const makeMeasured = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /** The newest runs of a webhook `w` with this status after a place in the order of acceptance, as an index has them. */
  const newest = (status: RunStatus, seq: Statement.Fragment, limit: number) => sql`(
    select r.finished_at from webhook_trigger.runs r
    where r.webhook_id = w.id and r.status = ${status} and r.seq > ${seq}
      and r.error_code is distinct from ${"budget_exceeded" satisfies RunError["code"]}
    order by r.seq desc limit ${limit}::int
  )`

  /**
   * How many runs of each webhook failed or timed out since its last success, and since it was resumed or enabled, in the
   * order of acceptance; more than `most` count as `most`. Runs over a budget do not count. Webhooks without any are absent.
   *
   * Each webhook is a few steps in one index: to its last success, and on to its failures after that.
   */
  const failuresInARow = Effect.fn("AlertStore.failuresInARow")(function* (most: number) {
    const rows = yield* sql<{ readonly webhook_id: WebhookId; readonly failures: number }>`
      select w.id as webhook_id, failed.failures from webhook_trigger.webhooks w
      cross join lateral (
        select coalesce((
          select r.seq from webhook_trigger.runs r
          where r.webhook_id = w.id and r.status = 'success' order by r.seq desc limit 1
        ), 0) as seq
      ) as good
      cross join lateral (
        select count(*)::int as failures from (
          ${newest("error", sql`good.seq`, most + unordered)} union all ${newest("timeout", sql`good.seq`, most + unordered)}
        ) as each
        where w.failures_since is null or each.finished_at > w.failures_since
      ) as failed
      where failed.failures > 0`
    return new Map(rows.map(({ failures, webhook_id }) => [webhook_id, Math.min(failures, most)]))
  }, bounded)

  /** The paused webhooks that have had a successful run since the pause. */
  const recovered = bounded(
    sql<{ readonly id: WebhookId }>`
      select w.id from webhook_trigger.webhooks w where w.paused_at is not null and exists (
        select from ${newest("success", sql`0`, unordered)} as each where each.finished_at > w.paused_at
      )`
  ).pipe(
    Effect.map((rows) => new Set(rows.map(({ id }) => id))),
    Effect.withSpan("AlertStore.recovered")
  )

  /** The successful runs accepted since a whole hour, by webhook, with the 95th percentile of their durations. */
  const durations = Effect.fn("AlertStore.durations")(function* (since: DateTime.Utc) {
    const from = sql`${DateTime.toDateUtc(since)}::timestamptz`
    return yield* sql<{ readonly webhook_id: WebhookId; readonly runs: number; readonly p95_ms: number }>`
      with durations as (
        select webhook_id, took_ms, sum(runs) as runs from (
          select webhook_id, took_ms, runs from webhook_trigger.run_durations where hours = 1 and begins_at >= ${from}
          union all
          select webhook_id, took_ms, 1 from ${uncounted} where took_ms is not null and accepted_hour >= ${from}
        ) as each
        group by 1, 2
      ), ranked as (
        select webhook_id, took_ms, sum(runs) over (partition by webhook_id order by took_ms) as up_to,
          sum(runs) over (partition by webhook_id) as runs
        from durations
      )
      select webhook_id, max(runs)::int as runs, (min(took_ms) filter (where up_to >= runs * 0.95))::float8 as p95_ms
      from ranked group by 1`
  }, bounded)

  /** `HistoryStore.dayUse` of several webhooks; those without any use are absent. */
  const dayUses = Effect.fn("AlertStore.dayUses")(function* (ids: ReadonlyArray<WebhookId>, at: DateTime.Utc) {
    if (ids.length === 0) return new Map<WebhookId, DayUse>()
    const day = sql`(${DateTime.toDateUtc(at)}::timestamptz at time zone 'utc')::date`
    const rows = yield* sql<DayUse & { readonly webhook_id: WebhookId }>`
      select w.id as webhook_id, coalesce(r.day_runs, 0) as runs, coalesce(c.priced_runs, 0) as priced_runs,
        coalesce(c.cost_usd, 0) as cost_usd
      from (select unnest(${uuids(sql, ids)}) as id) as w
        left join webhook_trigger.webhook_rates r on r.webhook_id = w.id and r.day = ${day}
        left join webhook_trigger.costs_of_day(${uuids(sql, ids)}, ${day}) as c on c.webhook_id = w.id`
    return new Map(rows.map(({ webhook_id, ...use }) => [webhook_id, use]))
  }, bounded)

  return { failuresInARow, recovered, durations, dayUses }
})
