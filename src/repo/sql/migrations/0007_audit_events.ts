import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Who did what. Nothing refers to other tables: an event outlives what it is about. Ids carry the time, so they are the
 * order and the age too. Servers of the release before write no events.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table webhook_trigger.audit_events (
      id uuid primary key,
      at timestamptz(3) not null,
      action text not null,
      actor text not null,
      session_id text,
      client_address text,
      object text,
      before json,
      after json,
      attempts integer
    )`
  yield* sql`create index audit_events_object on webhook_trigger.audit_events (object, id)`
  yield* sql`create index audit_events_action on webhook_trigger.audit_events (action, id)`
})
