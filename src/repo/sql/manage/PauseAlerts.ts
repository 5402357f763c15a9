import type { SqlClient, Statement } from "@effect/sql"
import { pausedCondition } from "../../../domain/alert/AlertCondition.ts"
import type { AlertEvent } from "../../../domain/delivery/DestinationEvent.ts"
import { notify } from "../Changes.ts"

/** Messages about the rows of `alert` that are not silent, and `due_notified`, which must be read. */
export const alertSent = (sql: SqlClient.SqlClient, event: AlertEvent, at: Date): Statement.Fragment => sql`
  due as (
    insert into webhook_trigger.deliveries (destination_id, alert_id, event, created_at, next_attempt_at)
    select d.id, alert.id, ${event}, ${at}::timestamptz, ${at}::timestamptz from alert
    join webhook_trigger.destinations d on d.webhook_id is null and d.enabled
      and ${event} in (select json_array_elements_text(d.events))
    where alert.notified_at is not null
    returning 1
  ), ${notify(sql, "DeliveryDue", sql`select '' as name from due limit 1`, "due_notified")}`

/** Ends the alert of each webhook of `changed`, and sends that. */
export const alertResolved = (sql: SqlClient.SqlClient, at: Date): Statement.Fragment => sql`
  alert as (
    update webhook_trigger.alerts a set state = 'resolved', resolved_at = ${at}, name = changed.name, team = changed.team
    from changed where a.webhook_id = changed.id and a.condition = ${pausedCondition} and a.state = 'firing'
    returning a.id, a.notified_at
  ), ${alertSent(sql, "alert.resolved", at)}`

/** The alert of a paused webhook of `changed` has its team and name. */
export const alertMoved = (sql: SqlClient.SqlClient): Statement.Fragment => sql`
  alert_moved as (
    update webhook_trigger.alerts a set team = changed.team, name = changed.name
    from changed where a.webhook_id = changed.id and a.condition = ${pausedCondition} and a.state = 'firing'
      and (a.team, a.name) is distinct from (changed.team, changed.name)
  )`
