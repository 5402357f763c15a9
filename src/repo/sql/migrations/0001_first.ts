import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * The tables, in a schema of their own so that a host's database can hold them beside its own.
 *
 * `runs.seq` orders runs by acceptance: it is drawn as the row is written, so a run whose acceptance began after
 * another's was committed has the higher one. It has no index of its own, on purpose: for "the newest run of a webhook"
 * PostgreSQL would walk it through everybody else's. `runs.team` has no foreign key, so history outlives its team.
 * `variables` are `json`, not `jsonb`: kept as they came, with the order of names.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table webhook_trigger.teams (
      team text collate "C" primary key,
      created_at timestamptz(3) not null
    )`

  yield* sql`
    create table webhook_trigger.webhooks (
      id uuid primary key,
      name text not null,
      team text collate "C" not null references webhook_trigger.teams,
      prompt_template text not null,
      variables json not null,
      timeout_seconds integer,
      max_concurrent integer,
      enabled boolean not null,
      token_hash bytea not null unique,
      token_hint text not null,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null
    )`
  yield* sql`create index webhooks_team on webhook_trigger.webhooks (team)`

  yield* sql`
    create table webhook_trigger.runs (
      id uuid primary key,
      seq bigint generated always as identity,
      source text not null check (source in ('webhook', 'chat')),
      webhook_id uuid references webhook_trigger.webhooks on delete cascade,
      team text collate "C" not null,
      mode text not null check (mode in ('async', 'wait')),
      status text not null default 'queued' check (status in ('queued', 'running', 'success', 'error', 'timeout')),
      prompt text not null,
      variables json not null,
      response text,
      error_code text,
      error_message text,
      timeout_ms bigint not null,
      deadline_at timestamptz(3),
      accepted_at timestamptz(3) not null,
      admitted_at timestamptz(3),
      sent_at timestamptz(3),
      started_at timestamptz(3),
      finished_at timestamptz(3),
      idempotency_key text,
      idempotency_expires_at timestamptz(3),
      request_hash bytea,
      check ((source = 'webhook') = (webhook_id is not null)),
      check ((status in ('success', 'error', 'timeout')) = (finished_at is not null))
    )`
  // A webhook's history, whole and by status.
  yield* sql`create index runs_history on webhook_trigger.runs (webhook_id, seq)`
  yield* sql`create index runs_history_by_status on webhook_trigger.runs (webhook_id, status, seq)`
  // The lanes.
  yield* sql`
    create index runs_lane on webhook_trigger.runs (team, seq)
      where status = 'queued' and admitted_at is null`
  yield* sql`
    create index runs_in_flight on webhook_trigger.runs (team, seq)
      where status in ('queued', 'running') and admitted_at is not null`
  yield* sql`
    create index runs_deadline on webhook_trigger.runs (deadline_at)
      where status in ('queued', 'running') and deadline_at is not null`
  // When a team last gave an answer, and what is old enough to remove.
  yield* sql`create index runs_finished on webhook_trigger.runs (team, finished_at) where finished_at is not null`
  yield* sql`create index runs_age on webhook_trigger.runs (finished_at) where finished_at is not null`
  yield* sql`
    create unique index runs_idempotency on webhook_trigger.runs (webhook_id, idempotency_key)
      where idempotency_key is not null`
  // Each run's row is written about five times: clean up often, before the lane's index fills with what has left it.
  yield* sql`
    alter table webhook_trigger.runs set (
      autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, fillfactor = 80
    )`

  // One row: who sends prompts. Its term grows with every new holder.
  yield* sql`
    create table webhook_trigger.dispatcher_lease (
      one boolean primary key default true check (one),
      term bigint not null,
      holder text,
      expires_at timestamptz
    )`
  yield* sql`insert into webhook_trigger.dispatcher_lease (term) values (0)`

  yield* sql`create table webhook_trigger.secrets (name text primary key, hash bytea not null)`
})
