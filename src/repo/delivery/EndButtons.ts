import { DateTime, Effect } from "effect"
import { SqlClient, Statement } from "effect/sql"
import { approvalEvent } from "../../domain/delivery/DestinationEvent.ts"
import { notify } from "../Changes.ts"
import { bounded } from "../database/Database.ts"
import { isAwaitingApproval, isUnanswered } from "../RunColumns.ts"

/** The status of a delivery `d` that ends without success: its message may be written, and only its buttons still there. */
export const givenUp = Statement.fragment([
  Statement.literal("case when d.buttons = 'ending' then 'delivered' else 'failed' end")
])

/** Number of messages that one statement makes due. */
const portion = 100

/**
 * `DeliveryStore.endButtons` makes deliveries due once more whose messages have buttons of runs that no longer ask, if they were
 * written since then, and notifies; returns how many. Their messages count as delivered, whatever becomes of that. It compares rows, so it does not matter what has ended the asking, whether the message was known
 * then, or which server was running.
 */
export const makeEndButtons = Effect.map(SqlClient.SqlClient, (sql) =>
  Effect.fn("DeliveryStore.endButtons")(function* (since: DateTime.Utc, now: DateTime.Utc) {
    const rows = yield* sql`
      with over as materialized (
        select d.id, t.enabled and r.team = w.team as is_told from webhook_trigger.deliveries d
        join webhook_trigger.runs r on r.id = d.run_id
        join webhook_trigger.destinations t on t.id = d.destination_id
        join webhook_trigger.webhooks w on w.id = d.webhook_id
        where d.buttons = 'shown' and d.created_at > ${DateTime.toDateUtc(since)} and d.status = 'delivered'
          and (case d.event when ${approvalEvent} then ${isAwaitingApproval} else ${isUnanswered} end) is not true
        order by d.created_at limit ${portion} for update of d skip locked
      ), ended as (
        update webhook_trigger.deliveries d set buttons = case when over.is_told then 'ending' end,
          status = case when over.is_told then 'pending' else d.status end, made = 0,
          next_attempt_at = case when over.is_told then ${DateTime.toDateUtc(now)}::timestamptz end,
          finished_at = case when not over.is_told then d.finished_at end
        from over where d.id = over.id and d.buttons = 'shown' returning over.is_told
      ), ${notify(sql, "DeliveryDue", sql`select '' as name from ended where is_told limit 1`)}
      select (select count(*) from notified) from ended where is_told`
    return rows.length
  }, bounded)
)
