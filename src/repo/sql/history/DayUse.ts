/** What webhooks have used of their budgets of a day. */
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { WebhookId } from "../../../domain/Id.ts"
import type { DayUse } from "../../../domain/webhook/Budget.ts"
import { bounded } from "../database/Database.ts"

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
        left join webhook_trigger.costs_of_day(array[${id}::uuid], ${day}) as c on c.webhook_id = w.id`
    return row!
  }, bounded)
})
