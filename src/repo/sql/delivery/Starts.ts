import { SqlClient } from "@effect/sql"
import { DateTime, Effect } from "effect"
import { startEvent } from "../../../domain/delivery/DestinationEvent.ts"
import { notify } from "../Changes.ts"
import { bounded } from "../database/Database.ts"
import { bucketOf, wantsStarts } from "../migrations/0001_deliveries.ts"

/** `DeliveryStore.anyWantsStarts` and `DeliveryStore.deliverStarts`. */
export const makeStarts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const wanted = sql.literal(`d.webhook_id is not null and d.enabled and ${wantsStarts}`)

  const anyWantsStarts = bounded(
    sql<{ readonly used: boolean }>`
      select exists (select from webhook_trigger.destinations d where ${wanted}) as used`
  ).pipe(
    Effect.map(([row]) => row!.used),
    Effect.withSpan("DeliveryStore.anyWantsStarts")
  )

  const deliverStarts = Effect.fn("DeliveryStore.deliverStarts")(function* (now: DateTime.Utc) {
    const rows = yield* sql`
      with due as (
        insert into webhook_trigger.deliveries (
          destination_id, webhook_id, run_id, event, created_at, next_attempt_at, bucket
        )
        select d.id, d.webhook_id, r.id, ${startEvent}::text, r.sent_at, ${DateTime.toDateUtc(now)}::timestamptz,
          ${sql.literal(bucketOf("r.callback_url"))}
        from webhook_trigger.destinations d
        join webhook_trigger.runs r on r.webhook_id = d.webhook_id and r.status = 'running' and r.sent_at is not null
        where ${wanted} and (d.kind <> 'callback' or starts_with(r.callback_url, d.url)) and not exists (
          select from webhook_trigger.deliveries known
          where known.destination_id = d.id and known.run_id = r.id and known.event = '${sql.literal(startEvent)}'
        )
        on conflict (destination_id, run_id) where event = '${sql.literal(startEvent)}' do nothing
        returning 1
      ), ${notify(sql, "DeliveryDue", sql`select '' as name from due limit 1`)}
      select (select count(*) from notified) from due`
    return rows.length
  }, bounded)

  return { anyWantsStarts, deliverStarts }
})
