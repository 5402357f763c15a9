import { Effect } from "effect"
import { SqlClient, Statement } from "effect/sql"
import { isOut } from "./0001_dispatch.ts"

/**
 * Runs. `seq` orders them by acceptance: it is drawn as the row is written, so a run whose acceptance began after another's
 * was committed has the higher one. `seq` has no index of its own, on purpose: for the newest run of one webhook, PostgreSQL
 * would walk it through the runs of all others. `place` orders a lane. It comes from the same sequence. A held run has
 * none: `held_for` says for what it waits, and `held_until` until when, or, if that is not a time, no earlier than when.
 * `needs_approval` is true until somebody approves it, and may hold it a second time. `team` has no foreign key, so history outlives its
 * team. Neither has `replay_of`, because either run may be deleted first, nor `superseded_by`, nor `thread_id`, because a thread
 * is deleted with its last run. `recorded_at` is the database's time of the statement that stored the end. `variables` are `json`, not
 * `jsonb`, to keep the order of names.
 */
export const runs = Effect.gen(function* () {
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
      recorded_at timestamptz,
      stop_at timestamptz(3),
      released_at timestamptz(3),
      unconfirmed boolean,
      rests integer,
      triggered_by text,
      asked_by text,
      callback_url text,
      cancelled_by text,
      superseded_by uuid,
      delivery_failed boolean,
      timeout_ms bigint not null,
      max_work_ms integer,
      deadline_at timestamptz(3),

      place bigint,
      held_for text check (held_for in ('window', 'webhook_paused', 'time', 'approval')),
      held_until timestamptz(3),
      needs_approval boolean check (needs_approval),
      joined integer,
      decided_by text,

      thread_id uuid,
      thread_key text collate "C",
      singleton_key text collate "C",
      supersedes text check (supersedes in ('accepted', 'started')),

      title text,
      prompt text not null,
      variables json not null,
      layout json,
      agent json,
      files json,
      traceparent text,
      response text,
      error_code text,
      error_message text,
      report json,

      idempotency_key text,
      idempotency_expires_at timestamptz(3),
      request_hash bytea,

      replay_of uuid,
      chained_from uuid,
      chain_depth integer,
      attempt integer,
      max_attempts integer,
      retry_after_seconds integer,
      retry_at timestamptz(3),
      retried_by uuid,

      check ((source = 'webhook') = (webhook_id is not null)),
      check ((status in ('success', 'error', 'timeout', 'cancelled')) = (finished_at is not null)),
      check ((finished_at is null) = (recorded_at is null)),
      check (held_for is null or status = 'queued' and place is null)
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
  yield* sql`create index runs_triggered_by on webhook_trigger.runs (triggered_by, id) where triggered_by is not null`
  yield* sql`
    create index runs_asking on webhook_trigger.runs (id)
      where (report -> 'asks') is not null or held_for = 'approval'`
  yield* sql`create index runs_replay_of on webhook_trigger.runs (replay_of) where replay_of is not null`

  // A thread's history, and its runs in the order of the lane, for the session of the last one.
  yield* sql`create index runs_thread on webhook_trigger.runs (thread_id, seq) where thread_id is not null`
  yield* sql`create index runs_thread_place on webhook_trigger.runs (thread_id, place) where thread_id is not null`

  // Lanes; the one run of a team that is out (admitted, and not released); and those that were released although their
  // leader has not confirmed that.
  yield* sql`
    create index runs_lane on webhook_trigger.runs (team, place) where status = 'queued' and admitted_at is null`
  yield* sql`create unique index runs_out on webhook_trigger.runs (team) where ${Statement.fragment([Statement.literal(isOut.replaceAll("r.", ""))])}`
  yield* sql`
    create index runs_joined on webhook_trigger.runs (team, seq)
      where status in ('queued', 'running') and joined is not null`
  yield* sql`create index runs_held on webhook_trigger.runs (held_for, held_until) where held_for is not null`
  yield* sql`create index runs_unconfirmed on webhook_trigger.runs (team, seq) where unconfirmed`

  // The runs that are not over, or whose agents may still work, by the keys of `singleton`.
  yield* sql`
    create index runs_singleton on webhook_trigger.runs (webhook_id, singleton_key)
      where singleton_key is not null
        and (finished_at is null or retry_at is not null or stop_at is not null and released_at is null)`

  // Deadlines, retries that are due, a team's last answer, and retention.
  yield* sql`
    create index runs_deadline on webhook_trigger.runs (deadline_at)
      where status in ('queued', 'running') and held_for is null and deadline_at is not null`
  yield* sql`create index runs_retry_at on webhook_trigger.runs (retry_at) where retry_at is not null`
  yield* sql`create index runs_finished on webhook_trigger.runs (team, finished_at) where finished_at is not null`
  // The newest ends, which are not counted yet.
  yield* sql`
    create index runs_recorded on webhook_trigger.runs (recorded_at)
      where recorded_at is not null and webhook_id is not null`
  yield* sql`create index runs_age on webhook_trigger.runs (finished_at) where finished_at is not null`

  yield* sql`
    create unique index runs_idempotency on webhook_trigger.runs (webhook_id, idempotency_key)
      where idempotency_key is not null`
  yield* sql`
    create unique index runs_message_idempotency on webhook_trigger.runs (team, idempotency_key)
      where webhook_id is null and idempotency_key is not null`

  // The contents of `files`, which replays share. They are stored before their runs, and removed some time after them. Most
  // are compressed already. Without bytes: they are in the bucket, or the source is where they are fetched from when the leader
  // asks for them. `in_bucket` with bytes: they are to be moved there, not before `move_at`.
  yield* sql`
    create table webhook_trigger.file_contents (
      key text collate "C" primary key,
      bytes bytea,
      source json,
      in_bucket boolean not null default false,
      stored_at timestamptz not null default now(),
      move_at timestamptz not null default now(),
      check (case when source is null then in_bucket or bytes is not null else bytes is null and not in_bucket end)
    )`
  yield* sql`
    create index file_contents_to_move on webhook_trigger.file_contents (move_at) where in_bucket and bytes is not null`
  yield* sql`alter table webhook_trigger.file_contents alter column bytes set storage external`
  yield* sql`
    create table webhook_trigger.run_files (
      run_id uuid not null references webhook_trigger.runs on delete cascade,
      id text collate "C" not null,
      content text collate "C" not null references webhook_trigger.file_contents,
      primary key (run_id, id)
    )`
  yield* sql`create index run_files_content on webhook_trigger.run_files (content)`
  // The keys of objects whose contents have been removed, until the objects are removed, too.
  yield* sql`create table webhook_trigger.removed_objects (key text collate "C" primary key)`

  // Windows of `coalesce`; the requests kept for their prompts; and the idempotency keys of triggers that joined an earlier
  // trigger's run. A closed window waits for its prompt.
  yield* sql`
    create table webhook_trigger.windows (
      webhook_id uuid not null references webhook_trigger.webhooks on delete cascade,
      team text not null,
      key text not null,
      run_id uuid primary key,
      until timestamptz(3) not null,
      latest timestamptz(3) not null,
      template json,
      closed boolean not null default false
    )`
  yield* sql`create unique index windows_open on webhook_trigger.windows (webhook_id, team, key) where not closed`
  yield* sql`
    create table webhook_trigger.window_requests (
      run_id uuid not null references webhook_trigger.windows on delete cascade,
      seq bigint generated always as identity,
      request json not null,
      bytes integer not null,
      primary key (run_id, seq)
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
  // Keys of requests for which `cancel_if` held. Without a reference, so that they lock no webhook.
  yield* sql`
    create table webhook_trigger.cancel_events (
      webhook_id uuid not null,
      idempotency_key text not null,
      received_at timestamptz(3) not null,
      expires_at timestamptz(3) not null,
      primary key (webhook_id, idempotency_key)
    )`
  yield* sql`create index cancel_events_expires_at on webhook_trigger.cancel_events (expires_at)`
  yield* sql`create index window_deliveries_expires_at on webhook_trigger.window_deliveries (expires_at)`
})
