/** What webhooks have used of their budgets of a day. */
import { SqlClient, type Statement } from "@effect/sql"
import { DateTime, Effect } from "effect"
import type { WebhookId } from "../../../domain/Id.ts"
import type { DayUse } from "../../../domain/webhook/Budget.ts"
import { bounded } from "../database/Database.ts"
import { uncounted } from "./RollUp.ts"

/**
 * A query: by webhook, what the runs accepted on a day (a `date`, in UTC) cost, and how many of them reported it. It
 * reads the costs kept by day, and the ends that are not among them yet: nothing is late.
 */
export const costsOfDay = (
  sql: SqlClient.SqlClient,
  webhooks: Statement.Fragment,
  day: Statement.Fragment
): Statement.Fragment => {
  const begin = sql`(${day})::timestamp at time zone 'utc'`
  return sql`
    select webhook_id, sum(runs)::int as priced_runs, sum(total)::float8 as cost_usd
    from (
      select webhook_id, runs, total from webhook_trigger.run_usage
      where webhook_id in (${webhooks}) and hours = 24 and begins_at = ${begin} and amount = 'cost_usd'
      union all
      select webhook_id, 1, (report -> 'usage' ->> 'cost_usd')::numeric from ${uncounted}
      where webhook_id in (${webhooks}) and accepted_hour >= ${begin} and accepted_hour < ${begin} + interval '24 hours'
        and report -> 'usage' ->> 'cost_usd' is not null
    ) as each
    group by 1`
}

/** `HistoryStore.dayUse`. */
export const makeDayUse = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  return Effect.fn("HistoryStore.dayUse")(function* (id: WebhookId, at: DateTime.Utc) {
    const day = sql`(${DateTime.toDateUtc(at)}::timestamptz at time zone 'utc')::date`
    const [row] = yield* sql<DayUse>`
      select
        coalesce((select day_runs from webhook_trigger.webhook_rates r where r.webhook_id = w.id and r.day = ${day}), 0)
          as runs,
        coalesce(c.priced_runs, 0) as priced_runs, coalesce(c.cost_usd, 0) as cost_usd
      from (select ${id}::uuid as id) as w
        left join (${costsOfDay(sql, sql`select ${id}::uuid`, day)}) as c on c.webhook_id = w.id`
    return row!
  }, bounded)
})
