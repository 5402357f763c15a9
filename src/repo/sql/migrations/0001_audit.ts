import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Audit events, and the chain of their hashes (decision 0036). A trigger chains an event at the end of its transaction, when
 * all other locks are held: so writers of events take turns for the length of a commit, and cannot block each other for good.
 */
export const audit = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Nothing here refers to other tables, so an event outlives its object. Ids contain the time, so they order events.
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
      sequence bigint unique,
      previous_hash text,
      hash text
    )`
  yield* sql`create index audit_events_object on webhook_trigger.audit_events (object, id)`
  yield* sql`create index audit_events_action on webhook_trigger.audit_events (action, id)`

  // One row: the last event that retention has removed, and the last event.
  yield* sql`
    create table webhook_trigger.audit_chain (
      one boolean primary key default true check (one),
      start_sequence bigint not null,
      start_hash text not null,
      end_sequence bigint not null,
      end_hash text not null
    )`
  yield* sql`
    insert into webhook_trigger.audit_chain (start_sequence, start_hash, end_sequence, end_hash)
    values (0, repeat('0', 64), 0, repeat('0', 64))`

  // What is hashed, and what an export contains. A later column has to be left out while it is null: this text must not
  // change for an event that exists.
  yield* sql`
    create function webhook_trigger.audit_content(event webhook_trigger.audit_events) returns text
    language sql stable as $$
      select '{"sequence":' || event.sequence
        || ',"previous_hash":"' || event.previous_hash
        || '","id":"' || event.id
        || '","at":"' || to_char(event.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
        || '","action":' || to_json(event.action)
        || ',"actor":' || to_json(event.actor)
        || coalesce(',"key_id":' || to_json(event.key_id), '')
        || coalesce(',"key_name":' || to_json(event.key_name), '')
        || coalesce(',"person_id":' || to_json(event.person_id), '')
        || coalesce(',"person_name":' || to_json(event.person_name), '')
        || coalesce(',"session_id":' || to_json(event.session_id), '')
        || coalesce(',"client_address":' || to_json(event.client_address), '')
        || coalesce(',"object":' || to_json(event.object), '')
        || coalesce(',"before":' || event.before, '')
        || coalesce(',"after":' || event.after, '')
        || coalesce(',"attempts":' || event.attempts, '')
        || '}'
    $$`

  yield* sql`
    create function webhook_trigger.chain_audit_event() returns trigger language plpgsql as $$
      declare
        event webhook_trigger.audit_events := new;
      begin
        select end_sequence + 1, end_hash into event.sequence, event.previous_hash
        from webhook_trigger.audit_chain for update;
        event.hash := encode(sha256(convert_to(webhook_trigger.audit_content(event), 'UTF8')), 'hex');
        update webhook_trigger.audit_events
        set sequence = event.sequence, previous_hash = event.previous_hash, hash = event.hash where id = event.id;
        update webhook_trigger.audit_chain set end_sequence = event.sequence, end_hash = event.hash;
        return null;
      end
    $$`
  // An event with a place is from a backup.
  yield* sql`
    create constraint trigger audit_event_written after insert on webhook_trigger.audit_events
    deferrable initially deferred for each row
    when (new.sequence is null) execute function webhook_trigger.chain_audit_event()`
})
