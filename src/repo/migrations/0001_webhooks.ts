import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Teams with their leaders' keys, webhooks, and the rows that each webhook has. */
export const webhooks = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table webhook_trigger.teams (
      team text collate "C" primary key,
      created_at timestamptz(3) not null,
      paused_at timestamptz(3),
      resumed_at timestamptz(3),
      rested_at timestamptz(3),
      rest_count integer not null default 0,
      resting_since timestamptz(3),
      resting_until timestamptz(3),
      resting_reason text
    )`
  // `rested_at`: when the latest usage limit was reported. `rest_count`: how many in a row, the first one at `resting_since`.
  yield* sql`
    create index teams_resting on webhook_trigger.teams (resting_until) where resting_until is not null`

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
      moved_at timestamptz(3),

      prompt_template text not null,
      template_language text,
      input text,
      variables json not null,
      schema json,
      fence boolean,
      thread_key text,
      run_title text,
      accept_if text,
      singleton json,
      supersede_when text,
      cancel_if text,
      attachments json,

      timeout_seconds integer,
      max_work_seconds integer,
      max_concurrent integer,
      max_queued integer,
      rate text,
      mcp_tool text,
      mcp_description text,
      max_runs_per_day integer,
      max_cost_per_day float8,
      agent_model text,
      workspace_ref text,
      agent_permissions text,
      agent_asks text,
      max_turns integer,
      max_cost float8,
      answer_schema json,
      thread_history boolean,
      pause_after_failures integer,
      paused_at timestamptz(3),
      paused_by text,
      paused_reason text,
      failures_since timestamptz(3),
      allow_from json,
      when_team_stopped text,
      queue_for_seconds integer,
      approval text,
      approvers json,
      coalesce json,
      retries json,
      store_requests text,
      own_messages text,
      schedule text,
      next_scheduled_at timestamptz(3),

      shares uuid references webhook_trigger.webhooks,
      token_hash bytea not null unique,
      token_hint text,
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

  yield* sql`
    create index webhooks_scheduled on webhook_trigger.webhooks (next_scheduled_at) where next_scheduled_at is not null`
  yield* sql`create index webhooks_shares on webhook_trigger.webhooks (shares)`

  // The other webhook's version changes as well: its next request, on any server, reads again who shares its URL. Edits that
  // are checked first get here only at the same time as another one, and are then repeated like after a deadlock.
  yield* sql`
    create function webhook_trigger.share_url() returns trigger language plpgsql as $$
    begin
      if exists (
        select from webhook_trigger.webhooks w where w.shares = new.id
          and (new.shares is not null or coalesce(w.input, 'variables') <> coalesce(new.input, 'variables'))
      ) then
        raise exception 'its URL is shared' using errcode = '40001';
      end if;
      if new.shares is null then return null; end if;
      update webhook_trigger.webhooks w set version = w.version + 1
      where w.id = new.shares and w.shares is null
        and coalesce(w.input, 'variables') = coalesce(new.input, 'variables');
      if not found then
        raise exception 'its URL cannot be shared' using errcode = '40001';
      end if;
      return null;
    end $$`
  yield* sql`
    create trigger webhooks_share_url after insert or update of shares, input, enabled on webhook_trigger.webhooks
    for each row execute function webhook_trigger.share_url()`

  // Both are looked through once a second.
  yield* sql`
    create index webhooks_may_pause on webhook_trigger.webhooks (id) where pause_after_failures is not null`
  yield* sql`create index webhooks_paused on webhook_trigger.webhooks (id) where paused_at is not null`

  // Every template that a webhook has had, with the version that set it.
  yield* sql`
    create table webhook_trigger.webhook_templates (
      webhook_id uuid not null references webhook_trigger.webhooks on delete cascade,
      version integer not null,
      prompt_template text not null,
      template_language text not null,
      input text not null,
      at timestamptz(3) not null,
      actor text not null,
      key_name text,
      person_name text,
      session_id text,
      client_address text,
      primary key (webhook_id, version)
    )`

  // The token bucket of a webhook's `rate`, and how many runs its budget's day has. Both are written with each run, so they
  // are not part of the long webhook row.
  yield* sql`
    create table webhook_trigger.webhook_rates (
      webhook_id uuid primary key references webhook_trigger.webhooks on delete cascade,
      used float8 not null default 0,
      at timestamptz not null default now(),
      day date not null default '-infinity',
      day_runs integer not null default 0
    ) with (fillfactor = 50)`

  // The newest requests of each webhook: refused and ignored ones, and those it stores.
  yield* sql`
    create table webhook_trigger.requests (
      request_id uuid primary key,
      webhook_id uuid not null references webhook_trigger.webhooks on delete cascade,
      team text collate "C" not null,
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

  // How many requests each webhook ignored, in periods that begin then.
  yield* sql`
    create table webhook_trigger.ignored_counts (
      webhook_id uuid not null references webhook_trigger.webhooks on delete cascade,
      begins_at timestamptz not null,
      count bigint not null,
      primary key (webhook_id, begins_at)
    ) with (fillfactor = 50)`
  yield* sql`create index ignored_counts_begins_at on webhook_trigger.ignored_counts (begins_at)`

  // Requests that a webhook refused for a moment: they came to a URL that it shares, and are offered to it again.
  yield* sql`
    create table webhook_trigger.offers (
      id uuid primary key,
      webhook_id uuid not null references webhook_trigger.webhooks on delete cascade,
      shares uuid not null,
      team text collate "C" not null,
      request text not null,
      length integer not null,
      tries integer not null,
      due_at timestamptz not null,
      until timestamptz not null
    )`
  yield* sql`create index offers_webhook on webhook_trigger.offers (webhook_id, id)`
  yield* sql`create index offers_due on webhook_trigger.offers (due_at)`
})
