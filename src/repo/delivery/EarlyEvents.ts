import { DateTime, Effect } from "effect"
import { SqlClient, Statement } from "effect/sql"
import { approvalEvent, startEvent } from "../../domain/delivery/DestinationEvent.ts"
import { notify } from "../Changes.ts"
import { bounded } from "../database/Database.ts"
import { bucketOf, early, wantsEarly } from "../migrations/0001_deliveries.ts"
import { isAwaitingApproval } from "../RunColumns.ts"

/** A destination `d` of a webhook gets events of runs that have not ended. */
export const getsEarly = Statement.fragment([
  Statement.literal(`(d.webhook_id is not null and d.enabled and ${wantsEarly})`)
])

/**
 * `DeliveryStore.deliverEarly` writes the deliveries of `run.started` for runs in work, and of `run.awaiting_approval`, and
 * notifies; returns how many. A run has one of each for each destination. Its end writes those of its start that are missing, so
 * none is forgotten.
 */
export const makeDeliverEarly = Effect.map(SqlClient.SqlClient, (sql) =>
  Effect.fn("DeliveryStore.deliverEarly")(function* (now: DateTime.Utc) {
    const rows = yield* sql`
      with due as (
        insert into webhook_trigger.deliveries (
          destination_id, webhook_id, run_id, event, created_at, next_attempt_at, bucket
        )
        select d.id, d.webhook_id, r.id, r.event, r.at, ${DateTime.toDateUtc(now)}::timestamptz,
          ${sql.literal(bucketOf("r.callback_url"))}
        from webhook_trigger.destinations d
        join (
          select r.id, r.webhook_id, r.callback_url, r.sent_at as at, ${startEvent}::text as event
          from webhook_trigger.runs r where r.status = 'running' and r.sent_at is not null
          union all
          select r.id, r.webhook_id, r.callback_url, r.accepted_at, ${approvalEvent}
          from webhook_trigger.runs r where ${isAwaitingApproval}
        ) as r on r.webhook_id = d.webhook_id
        where ${getsEarly} and r.event in (select json_array_elements_text(d.events))
          and (d.kind <> 'callback' or starts_with(r.callback_url, d.url)) and not exists (
            select from webhook_trigger.deliveries known
            where known.destination_id = d.id and known.run_id = r.id and known.event = r.event
              and known.event in ${sql.literal(early)}
          )
        on conflict (destination_id, run_id, event) where event in ${sql.literal(early)} do nothing
        returning 1
      ), ${notify(sql, "DeliveryDue", sql`select '' as name from due limit 1`)}
      select (select count(*) from notified) from due`
    return rows.length
  }, bounded)
)
