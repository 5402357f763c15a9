import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Audit events. Nothing here refers to other tables, so an event outlives its object. */
export const audit = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Ids contain the time, so they order events.
  yield* sql`
    create table webhook_trigger.audit_events (
      id uuid primary key,
      at timestamptz(3) not null,
      action text not null,
      actor text not null,
      key_id text,
      key_name text,
      person_id text,
      person_name text,
      session_id text,
      client_address text,
      object text,
      before json,
      after json,
      attempts integer,
      logged boolean not null default false
    )`
  yield* sql`create index audit_events_object on webhook_trigger.audit_events (object, id)`
  yield* sql`create index audit_events_action on webhook_trigger.audit_events (action, id)`
  yield* sql`create index audit_events_unlogged on webhook_trigger.audit_events (id) where not logged`
})
