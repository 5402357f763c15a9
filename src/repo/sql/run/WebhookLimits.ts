/** The webhooks' own limits, as a part of the accepting statement (`Accept.ts`). */
import { type SqlClient, Statement } from "@effect/sql"
import { costsOfDay } from "../history/DayUse.ts"
import { queueLengths } from "./LaneStoreSql.ts"

/** The columns of an input run with its webhook's limits. */
export const limitTypes = {
  max_queued: "int",
  rate_runs: "int",
  rate_seconds: "int",
  budget_runs: "int",
  budget_usd: "float8",
  unknown_usd: "float8"
} as const

/** Why a webhook does not accept a run. */
export type WebhookRefusal = "webhook full" | "budget of runs" | "budget of cost" | "rate"

/**
 * `limited`: the rows of `candidate`, each with `refusal` (a `WebhookRefusal`, or null), for a run refused by the rate
 * with `retry_after_ms`, and for one refused by a budget with `used_of_day`, before this statement. `consumed` takes accepted runs out of the buckets; it follows `inserted`.
 */
export interface WebhookLimits {
  readonly limited: Statement.Fragment
  readonly consumed: Statement.Fragment
}

/** Whether any of the runs has a limit of this kind: its webhook's queue, rate, or budget of runs or cost per day. */
export interface LimitsShape {
  readonly countsOwn: boolean
  readonly rates: boolean
  readonly budgets: boolean
  readonly costs: boolean
}

/** Nothing to check, as for most runs. */
const none: WebhookLimits = {
  limited: Statement.unsafeFragment(
    "limited as (select c.*, null::text as refusal, null::float8 as retry_after_ms, null::float8 as used_of_day from candidate c),"
  ),
  consumed: Statement.unsafeFragment("")
}

/**
 * A webhook's candidates reach the limits in their order: accepted ones come first, so the number of candidates before
 * a run is the number of those taken before it, as long as it matters. One that takes the place of a queued run makes the
 * queue no longer.
 *
 * The buckets are locked in one order, after their webhooks, which a deletion locks first. A statement that had to wait
 * for a bucket reads what the last commit left in it.
 */
export const webhookLimits = (sql: SqlClient.SqlClient, shape: LimitsShape): WebhookLimits => {
  const { budgets, costs, countsOwn, rates } = shape
  if (!countsOwn && !rates && !budgets) return none

  const queue = countsOwn
    ? queueLengths(sql, sql`webhook_id in (select i.webhook_id from input i where i.max_queued is not null)`)
    : sql`select null::uuid as webhook_id, 0 as length`
  /** A replay has neither, so it takes nothing from its webhook's bucket. */
  const counts = (run: string) =>
    sql.literal(
      `(${["rate_runs", "budget_runs", "budget_usd"].map((limit) => `${run}.${limit} is not null`).join(" or ")})`
    )
  const bucket =
    rates || budgets
      ? sql`
        select b.* from webhook_trigger.webhook_rates b
        where b.webhook_id in (
          select w.id from webhook w join input i on i.webhook_id = w.id where ${counts("i")}
        )
        order by b.webhook_id for update`
      : sql`select b.* from webhook_trigger.webhook_rates b where false`
  return {
    limited: sql`own_queue as materialized (${queue}), bucket as materialized (${bucket}),
      ${spent(sql, costs)} filled as (
        select c.*, coalesce(q.length, 0) as own_length,
          count(*) filter (where ${counts("c")}) over own as place,
          count(*) filter (where not c.takes_place) over own - 1 - c.is_next::int as waits_before,
          least(c.rate_runs, greatest(0, coalesce(b.used, 0)
            - greatest(0, extract(epoch from now() - b.at)::float8) * c.rate_runs / c.rate_seconds)) as used,
          greatest(b.day, today.day) as day,
          case when b.day >= today.day then b.day_runs else 0 end as day_runs,
          coalesce(s.priced_runs, 0) as priced_runs, coalesce(s.cost_usd, 0) as cost_usd
        from today cross join candidate c left join own_queue q using (webhook_id) left join bucket b using (webhook_id)
          left join spent s using (webhook_id)
        window own as (partition by c.webhook_id order by c.ord)
      ), limited as (
        select f.*, case
            when not f.takes_place and f.own_length + f.waits_before >= f.max_queued then 'webhook full'
            when f.day_runs + f.place > f.budget_runs then 'budget of runs'
            when f.cost_usd + greatest(0, f.day_runs + f.place - 1 - f.priced_runs) * f.unknown_usd >= f.budget_usd
              then 'budget of cost'
            when f.place > floor(f.rate_runs - f.used) then 'rate'
          end as refusal,
          case when f.day_runs + f.place > f.budget_runs then f.day_runs
            else f.cost_usd + greatest(0, f.day_runs - f.priced_runs) * f.unknown_usd end as used_of_day,
          (1 - (f.rate_runs - f.used) + floor(f.rate_runs - f.used)) * f.rate_seconds / f.rate_runs * 1000 as retry_after_ms
        from filled f
      ),`,
    consumed:
      rates || budgets
        ? sql`consumed as (
        update webhook_trigger.webhook_rates b set
          used = case when t.is_rated then t.used + t.runs else b.used end,
          at = case when t.is_rated then greatest(b.at, now()) else b.at end,
          day = t.day, day_runs = t.day_runs + t.runs
        from (
          select p.webhook_id, max(p.used) as used, bool_or(p.rate_runs is not null) as is_rated, max(p.day) as day,
            max(p.day_runs) as day_runs, count(*) as runs
          from placed p join inserted i on i.id = p.id where ${counts("p")} group by p.webhook_id
        ) as t
        where b.webhook_id = t.webhook_id
      ),`
        : sql``
  }
}

/**
 * `today`: the day of these runs, in UTC. `spent`: what the runs of that day cost each webhook with such a budget, and
 * how many of them reported it.
 */
const spent = (sql: SqlClient.SqlClient, costs: boolean): Statement.Fragment => {
  const webhooks = sql`select i.webhook_id from input i where i.budget_usd is not null`
  return sql`
    today as materialized (select (max(accepted_at) at time zone 'utc')::date as day from input),
    spent as materialized (${
      costs
        ? costsOfDay(sql, webhooks, sql`(select day from today)`)
        : sql`select null::uuid as webhook_id, 0 as priced_runs, 0::float8 as cost_usd`
    }),`
}
