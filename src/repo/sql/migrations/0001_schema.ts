import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { counts } from "./0001_counts.ts"
import { deliveries } from "./0001_deliveries.ts"
import { progress } from "./0001_progress.ts"

/** Teams with their leaders' keys, webhooks, and the rows that each webhook has. */
const webhooks = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table webhook_trigger.teams (
      team text collate "C" primary key,
      created_at timestamptz(3) not null,
      paused_at timestamptz(3),
      resumed_at timestamptz(3)
    )`

  yield* sql`
    create table webhook_trigger.leader_keys (
      id uuid primary key,
      team text collate "C" not null references webhook_trigger.teams on delete cascade,
      name text not null,
      hint text not null,
      key_hash bytea not null unique,
      created_at timestamptz(3) not null,
      last_used_at timestamptz(3)
    )`
  yield* sql`create index leader_keys_team on webhook_trigger.leader_keys (team, id)`

  // Each change gives a webhook another version. An acceptance is refused if its prompt was rendered from an earlier one.
  yield* sql`
    create table webhook_trigger.webhooks (
      id uuid primary key,
      name text not null,
      team text collate "C" not null references webhook_trigger.teams,
      enabled boolean not null,
      version integer not null default 1,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,

      prompt_template text not null,
      template_language text,
      input text,
      variables json not null,
      schema json,
      fence boolean,
      thread_key text,
      accept_if text,

      timeout_seconds integer,
      max_concurrent integer,
      max_queued integer,
      rate text,
      allow_from json,
      when_team_stopped text,
      queue_for_seconds integer,
      coalesce json,
      retries json,
      keep_bodies text,

      token_hash bytea not null unique,
      token_hint text not null,
      old_token_hash bytea,
      old_token_hint text,
      old_token_valid_until timestamptz,
      old_token_used_at timestamptz,
      old_token_used_from text,

      verification json,
      sealed_secret text,
      secret_hint text,
      secret_set_at timestamptz,
      old_sealed_secret text,
      old_secret_hint text,
      verified_at timestamptz
    )`
  yield* sql`create index webhooks_team on webhook_trigger.webhooks (team)`
  yield* sql`
    create index webhooks_old_token on webhook_trigger.webhooks (old_token_hash) where old_token_hash is not null`

  // Every template that a webhook has had, with the version that set it.
  yield* sql`
    create table webhook_trigger.webhook_templates (
      webhook_id uuid not null references webhook_trigger.webhooks on delete cascade,
      version integer not null,
      prompt_template text not null,
      template_language text,
      input text,
      at timestamptz(3) not null,
      actor text not null,
      session_id text,
      client_address text,
      primary key (webhook_id, version)
    )`

  // The token bucket of a webhook's `rate`. It is written with each run, so it is not part of the long webhook row.
  yield* sql`
    create table webhook_trigger.webhook_rates (
      webhook_id uuid primary key references webhook_trigger.webhooks on delete cascade,
      used float8 not null default 0,
      at timestamptz not null default now()
    ) with (fillfactor = 50)`

  // The newest requests of each webhook: refused ones, and those it stores.
  yield* sql`
    create table webhook_trigger.requests (
      request_id uuid primary key,
      webhook_id uuid not null references webhook_trigger.webhooks on delete cascade,
      run_id uuid,
      received_at timestamptz not null,
      status integer not null,
      code text not null,
      detail text not null,
      client_address text not null,
      headers json,
      query json,
      size bigint not null,
      body text,
      repeats integer not null
    )`
  yield* sql`create index requests_webhook on webhook_trigger.requests (webhook_id, request_id)`
  yield* sql`create index requests_received_at on webhook_trigger.requests (received_at)`
})

/**
 * Runs. `seq` orders them by acceptance: it is drawn as the row is written, so a run whose acceptance began after
 * another's was committed has the higher one. `seq` has no index of its own, on purpose: for the newest run of one
 * webhook, PostgreSQL would walk it through the runs of all others. `place` orders a lane. It comes from the same
 * sequence, and is null while further triggers can join the run. `team` has no foreign key, so history outlives its
 * team. Neither has `replay_of`, because either run may be deleted first, nor `thread_id`, because a thread is deleted
 * with its last run. `variables` are `json`, not `jsonb`, to keep the order of names.
 */
const runs = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table webhook_trigger.runs (
      id uuid primary key,
      seq bigint generated always as identity,
      source text not null check (source in ('webhook', 'chat')),
      webhook_id uuid references webhook_trigger.webhooks on delete cascade,
      webhook_version integer,
      team text collate "C" not null,
      mode text not null check (mode in ('async', 'wait')),

      status text not null default 'queued' check (
        status in ('queued', 'running', 'success', 'error', 'timeout', 'cancelled')
      ),
      accepted_at timestamptz(3) not null,
      admitted_at timestamptz(3),
      sent_at timestamptz(3),
      started_at timestamptz(3),
      finished_at timestamptz(3),
      released_at timestamptz(3),
      timeout_ms bigint not null,
      deadline_at timestamptz(3),

      place bigint,
      collecting_until timestamptz(3),
      joined integer,

      thread_id uuid,
      thread_key text collate "C",

      prompt text not null,
      variables json not null,
      layout json,
      traceparent text,
      response text,
      error_code text,
      error_message text,
      report json,

      idempotency_key text,
      idempotency_expires_at timestamptz(3),
      request_hash bytea,

      replay_of uuid,
      attempt integer,
      attempts integer,
      retry_after_seconds integer,
      retry_at timestamptz(3),
      retried_by uuid,

      check ((source = 'webhook') = (webhook_id is not null)),
      check ((status in ('success', 'error', 'timeout', 'cancelled')) = (finished_at is not null))
    )`
  yield* sql`
    alter table webhook_trigger.runs alter column place set default nextval('webhook_trigger.runs_seq_seq')`
  // Each run's row is written about five times. Frequent vacuuming keeps entries of sent runs out of the lane's index.
  yield* sql`
    alter table webhook_trigger.runs set (
      autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, fillfactor = 80
    )`

  // History: of a webhook, of a team's chat messages, and of a run's replays.
  yield* sql`create index runs_history on webhook_trigger.runs (webhook_id, seq)`
  yield* sql`create index runs_history_by_status on webhook_trigger.runs (webhook_id, status, seq)`
  yield* sql`create index runs_messages on webhook_trigger.runs (team, status, seq) where webhook_id is null`
  yield* sql`create index runs_replay_of on webhook_trigger.runs (replay_of) where replay_of is not null`

  // Of a thread: its history, and its runs in the order of the lane, for the session of the last one.
  yield* sql`create index runs_thread on webhook_trigger.runs (thread_id, seq) where thread_id is not null`
  yield* sql`create index runs_thread_place on webhook_trigger.runs (thread_id, place) where thread_id is not null`

  // Lanes, and runs that hold slots: runs in flight, and cancelled ones whose leader has not confirmed it.
  yield* sql`
    create index runs_lane on webhook_trigger.runs (team, place) where status = 'queued' and admitted_at is null`
  yield* sql`
    create index runs_in_flight on webhook_trigger.runs (team, seq)
      where status in ('queued', 'running') and admitted_at is not null`
  yield* sql`
    create index runs_joined on webhook_trigger.runs (team, seq)
      where status in ('queued', 'running') and joined is not null`
  yield* sql`
    create index runs_held on webhook_trigger.runs (team, seq) where status = 'cancelled' and released_at is null`
  yield* sql`create index runs_released on webhook_trigger.runs (team, released_at) where released_at is not null`

  // Deadlines, retries that are due, a team's last answer, and retention.
  yield* sql`
    create index runs_deadline on webhook_trigger.runs (deadline_at)
      where status in ('queued', 'running') and deadline_at is not null`
  yield* sql`create index runs_retry_at on webhook_trigger.runs (retry_at) where retry_at is not null`
  yield* sql`create index runs_finished on webhook_trigger.runs (team, finished_at) where finished_at is not null`
  yield* sql`create index runs_age on webhook_trigger.runs (finished_at) where finished_at is not null`

  yield* sql`
    create unique index runs_idempotency on webhook_trigger.runs (webhook_id, idempotency_key)
      where idempotency_key is not null`
  yield* sql`
    create unique index runs_message_idempotency on webhook_trigger.runs (team, idempotency_key)
      where webhook_id is null and idempotency_key is not null`

  // Open windows of `coalesce`, and the idempotency keys of triggers that joined an earlier trigger's run.
  yield* sql`
    create table webhook_trigger.windows (
      webhook_id uuid not null references webhook_trigger.webhooks on delete cascade,
      team text not null,
      key text not null,
      run_id uuid not null,
      until timestamptz(3) not null,
      primary key (webhook_id, team, key)
    )`
  yield* sql`
    create table webhook_trigger.window_deliveries (
      webhook_id uuid not null references webhook_trigger.webhooks on delete cascade,
      idempotency_key text not null,
      run_id uuid not null,
      request_hash bytea not null,
      expires_at timestamptz(3) not null,
      primary key (webhook_id, idempotency_key)
    )`
  yield* sql`create index window_deliveries_expires_at on webhook_trigger.window_deliveries (expires_at)`
})

/** Threads: conversations with a team's agent. One at most is open for each key. Some may have no runs for a moment. */
const threads = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table webhook_trigger.threads (
      id uuid primary key,
      team text collate "C" not null,
      key text collate "C" not null,
      created_at timestamptz(3) not null,
      last_run_at timestamptz(3) not null,
      ended_at timestamptz(3)
    )`
  yield* sql`
    create unique index threads_open on webhook_trigger.threads (team, key) where ended_at is null`
  yield* sql`create index threads_idle on webhook_trigger.threads (last_run_at) where ended_at is null`
  yield* sql`create index threads_team on webhook_trigger.threads (team, last_run_at, id)`
  yield* sql`create index threads_key on webhook_trigger.threads (team, key, last_run_at, id)`

  // The rows are locked first, and only then is looked for their runs: a run that joins one meanwhile is seen.
  yield* sql`
    create function webhook_trigger.delete_empty_threads() returns trigger language plpgsql as $$
      declare
        ids uuid[];
      begin
        ids := array(select distinct thread_id from deleted where thread_id is not null);
        if ids <> '{}' then
          perform from webhook_trigger.threads t where t.id = any(ids) order by t.team, t.key for update;
          delete from webhook_trigger.threads t where t.id = any(ids)
            and not exists (select from webhook_trigger.runs r where r.thread_id = t.id);
        end if;
        return null;
      end
    $$`
  yield* sql`
    create trigger runs_of_threads_deleted after delete on webhook_trigger.runs referencing old table as deleted
    for each statement execute function webhook_trigger.delete_empty_threads()`
})

/** The dispatcher's lease, keys and secrets, sessions of the web UI, and audit events. */
const server = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // One row: who sends prompts. Each new holder has a higher term. The lease ends with the holder's lock, too.
  yield* sql`
    create table webhook_trigger.dispatcher_lease (
      one boolean primary key default true check (one),
      term bigint not null,
      holder text,
      expires_at timestamptz,
      lock_id integer,
      locked_on timestamptz
    )`
  yield* sql`insert into webhook_trigger.dispatcher_lease (term) values (0)`

  // One row: the key that signs prompts, created here so that all replicas share it. A UUID has 122 random bits.
  yield* sql`
    create table webhook_trigger.reply_key (
      one boolean primary key default true check (one),
      key bytea not null check (length(key) = 32)
    )`
  yield* sql`
    insert into webhook_trigger.reply_key (key)
    values (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')))`

  yield* sql`create table webhook_trigger.secrets (name text primary key, hash bytea not null)`

  yield* sql`
    create table webhook_trigger.sessions (
      id uuid primary key,
      token_hash bytea not null unique,
      key_fingerprint bytea not null,
      created_at timestamptz(3) not null,
      last_used_at timestamptz(3) not null,
      expires_at timestamptz(3) not null,
      client_address text not null,
      user_agent text not null
    )`

  // Nothing here refers to other tables, so an event outlives its object. Ids contain the time, so they order events.
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

/** All tables, in their own schema, so they can be in a host's database beside its tables. */
export default Effect.all([webhooks, runs, counts, threads, deliveries, progress, server], { discard: true })
