/** The webhooks' own limits, as a part of the accepting statement (`Accept.ts`). */
import { type SqlClient, Statement } from "@effect/sql"
import { queueLengths } from "./LaneStoreSql.ts"

/** The columns of an input run with its webhook's limits. */
export const limitTypes = { max_queued: "int", rate_runs: "int", rate_seconds: "int" } as const

/**
 * `limited`: the rows of `candidate`, each with `refusal` (`webhook full`, `rate`, or null) and, for a run refused by
 * the rate, `retry_after_ms`. `consumed` takes accepted runs out of the buckets; it follows `inserted`.
 */
export interface WebhookLimits {
  readonly limited: Statement.Fragment
  readonly consumed: Statement.Fragment
}

/** Whether any of the runs has a limit of this kind: its webhook's queue, or rate. */
export interface LimitsShape {
  readonly countsOwn: boolean
  readonly rates: boolean
}

/** Nothing to check, as for most runs. */
const none: WebhookLimits = {
  limited: Statement.unsafeFragment(
    "limited as (select c.*, null::text as refusal, null::float8 as retry_after_ms from candidate c),"
  ),
  consumed: Statement.unsafeFragment("")
}

/**
 * A webhook's candidates reach the limits in their order: accepted ones come first, so the number of candidates before
 * a run is the number of those taken before it, as long as it matters.
 *
 * The buckets are locked in one order, after their webhooks, which a deletion locks first. A statement that had to wait
 * for a bucket reads what the last commit left in it.
 */
export const webhookLimits = (sql: SqlClient.SqlClient, { countsOwn, rates }: LimitsShape): WebhookLimits => {
  if (!countsOwn && !rates) return none

  const queue = countsOwn
    ? queueLengths(sql, sql`webhook_id in (select i.webhook_id from input i where i.max_queued is not null)`)
    : sql`select null::uuid as webhook_id, 0 as length`
  const bucket = rates
    ? sql`
        select b.webhook_id, b.used, b.at from webhook_trigger.webhook_rates b
        where b.webhook_id in (
          select w.id from webhook w join input i on i.webhook_id = w.id where i.rate_runs is not null
        )
        order by b.webhook_id for update`
    : sql`select null::uuid as webhook_id, null::float8 as used, null::timestamptz as at`
  return {
    limited: sql`own_queue as materialized (${queue}), bucket as materialized (${bucket}), filled as (
        select c.*, coalesce(q.length, 0) as own_length,
          row_number() over own as place, count(*) filter (where c.admitted_at is null) over own
            - (c.admitted_at is null)::int as waits_before,
          least(c.rate_runs, greatest(0, coalesce(b.used, 0)
            - greatest(0, extract(epoch from now() - b.at)::float8) * c.rate_runs / c.rate_seconds)) as used
        from candidate c left join own_queue q using (webhook_id) left join bucket b using (webhook_id)
        window own as (partition by c.webhook_id order by c.ord)
      ), limited as (
        select f.*, case
            when f.own_length + f.waits_before >= f.max_queued then 'webhook full'
            when f.place > floor(f.rate_runs - f.used) then 'rate'
          end as refusal,
          (1 - (f.rate_runs - f.used) + floor(f.rate_runs - f.used)) * f.rate_seconds / f.rate_runs * 1000 as retry_after_ms
        from filled f
      ),`,
    consumed: rates
      ? sql`consumed as (
        update webhook_trigger.webhook_rates b set used = t.used + t.runs, at = greatest(b.at, now())
        from (
          select p.webhook_id, max(p.used) as used, count(*) as runs from placed p join inserted i on i.id = p.id
          where p.rate_runs is not null group by p.webhook_id
        ) as t
        where b.webhook_id = t.webhook_id
      ),`
      : sql``
  }
}
