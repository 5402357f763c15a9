import { Migrator, SqlClient, type SqlError } from "@effect/sql"
import { Effect } from "effect"
import type { RunStatus } from "../../../domain/run/RunStatus.ts"
import type { WebhookRow } from "../../../domain/webhook/Webhook.ts"
import first from "../migrations/0001_first.ts"
import runCounts from "../migrations/0003_run_counts.ts"
import replyKey from "../migrations/0004_reply_key.ts"
import webhookLimits from "../migrations/0006_webhook_limits.ts"
import auditEvents from "../migrations/0007_audit_events.ts"
import requests from "../migrations/0012_requests.ts"
import cancelled from "../migrations/0013_cancelled.ts"
import replays from "../migrations/0014_replays.ts"
import templates from "../migrations/0018_templates.ts"
import verification from "../migrations/0020_verification.ts"
import promptLayout from "../migrations/0022_prompt_layout.ts"
import filters from "../migrations/0023_filters.ts"
import templatesAndRequests from "../migrations/0027_templates_and_requests.ts"
import retries from "../migrations/0028_retries.ts"
import messages from "../migrations/0029_messages.ts"
import places from "../migrations/0032_places.ts"

/**
 * Numbered, only ever added to: a migration that has been released is never edited. A single statement stands here, in
 * `Effect.flatMap(SqlClient.SqlClient, (sql) => …)`; what is longer has a file of its own.
 */
const migrations = {
  "1_first": first,
  /** Each change of a webhook gives it another version, by which an acceptance sees what its prompt was rendered from. */
  "2_webhook_version": Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`alter table webhook_trigger.webhooks add column version integer not null default 1`
  ),
  /** What the charts show is kept; servers of the release before add to it, and go on counting runs. */
  "3_run_counts": runCounts,
  /** What prompts are signed with. Servers of the release before neither read nor need it. */
  "4_reply_key": replyKey,
  /** The web UI's sessions. The release before signs its cookies instead: people sign in once more after the upgrade. */
  "5_sessions": Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
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
  ),
  /** A webhook's own `max_queued` and `rate`. Servers of the release before do not check them. */
  "6_webhook_limits": webhookLimits,
  /** Who did what. Servers of the release before write no events. */
  "7_audit_events": auditEvents,
  /** Whether triggers wait for a leader. Servers of the release before refuse them, and send what waits all the same. */
  "9_when_team_stopped": Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`alter table webhook_trigger.webhooks add column when_team_stopped text, add column queue_for_seconds integer`
  ),
  /** From where a webhook may be called. Servers of the release before do not check it. */
  "10_allow_from": Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`alter table webhook_trigger.webhooks add column allow_from json`
  ),
  /** What was refused, and a webhook's `keep_bodies`. */
  "12_requests": requests,
  /** Runs can be cancelled. A server of the release before does not know the status: upgrade all, then cancel. */
  "13_cancelled": cancelled,
  /** Runs can be replayed. Servers of the release before neither read nor write which run another one repeats. */
  "14_replays": replays,
  /** Teams can be paused. Servers of the release before do not know it, and send all the same: upgrade all, then pause. */
  "17_paused": Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`alter table webhook_trigger.teams add column paused_at timestamptz(3), add column resumed_at timestamptz(3)`
  ),
  /** The templates that a webhook has had, and the version that a run was made from. */
  "18_templates": templates,
  /** What fills a webhook's template in, and its language. Servers of the release before take `variables` and no Liquid. */
  "19_input": Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`alter table webhook_trigger.webhooks add column input text, add column template_language text`
  ),
  /** How callers show who they are. Servers of the release before do not ask for it. */
  "20_verification": verification,
  /** What prompts are made up of. Servers of the release before store none, and send none of it. */
  "22_prompt_layout": promptLayout,
  /** Which triggers a webhook accepts, and which of them become one run. Servers of the release before start all of them. */
  "23_filters": filters,
  /** The trace of a run, which any server may send. */
  "24_traceparent": Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`alter table webhook_trigger.runs add column traceparent text`
  ),
  /** Whether a webhook has verified a request. Servers of the release before do not record it. */
  "25_verified_at": Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`alter table webhook_trigger.webhooks add column verified_at timestamptz`
  ),
  /** What kept templates are written in, and what kept requests have beside bodies. Servers of the release before write none. */
  "27_templates_and_requests": templatesAndRequests,
  /** Failed runs can be tried again. What a server of the release before accepts or ends is not: upgrade all, then set it. */
  "28_retries": retries,
  /** Messages can have idempotency keys, and be replayed. Servers of the release before write none, and replay none. */
  "29_messages": messages,
  /**
   * A run that others can join takes its place in the lane later. A server of the previous release gives it no place:
   * upgrade all servers, then use `coalesce`.
   */
  "32_places": places,
  /** The lock that the dispatcher's lease ends with. Servers of the previous release let the lease run out. */
  "34_lease_lock": Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`alter table webhook_trigger.dispatcher_lease add column lock_id integer, add column locked_on timestamptz`
  )
}

type Migration = keyof typeof migrations

/** What the tables must know: the fields of a webhook, as columns, and the statuses of a run. */
interface Known {
  readonly webhooks: { readonly [Field in keyof WebhookRow]-?: Migration }
  readonly statuses: { readonly [S in RunStatus]: Migration }
}

/** The migration that added it. A field or a status that has no line here does not compile: it needs a migration. */
export const knownSince: Known = {
  webhooks: {
    id: "1_first",
    name: "1_first",
    team: "1_first",
    prompt_template: "1_first",
    variables: "1_first",
    input: "19_input",
    template_language: "19_input",
    timeout_seconds: "1_first",
    max_concurrent: "1_first",
    max_queued: "6_webhook_limits",
    rate: "6_webhook_limits",
    when_team_stopped: "9_when_team_stopped",
    queue_for_seconds: "9_when_team_stopped",
    allow_from: "10_allow_from",
    accept_if: "23_filters",
    coalesce: "23_filters",
    schema: "22_prompt_layout",
    fence: "22_prompt_layout",
    keep_bodies: "12_requests",
    retries: "28_retries",
    verification: "20_verification",
    sealed_secret: "20_verification",
    secret_hint: "20_verification",
    secret_set_at: "20_verification",
    verified_at: "25_verified_at",
    old_sealed_secret: "20_verification",
    old_secret_hint: "20_verification",
    enabled: "1_first",
    version: "2_webhook_version",
    token_hash: "1_first",
    token_hint: "1_first",
    old_token_hash: "12_requests",
    old_token_hint: "12_requests",
    old_token_valid_until: "12_requests",
    old_token_used_at: "12_requests",
    old_token_used_from: "12_requests",
    created_at: "1_first",
    updated_at: "1_first"
  },
  statuses: {
    queued: "1_first",
    running: "1_first",
    success: "1_first",
    error: "1_first",
    timeout: "1_first",
    cancelled: "13_cancelled"
  }
}

/** Any number, the same in every process. */
const lock = 7_166_553_202_511

/**
 * Brings the database to this version's tables, in the schema `webhook_trigger`, all of it or nothing. Processes that start
 * at once take turns. `PostgresClient.layer` and `PgliteClient.layer` do it; with a `SqlClient` of your own, run it before
 * `RepoSql.layer`.
 */
export const migrate: Effect.Effect<void, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =
  Effect.gen(function* () {
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    yield* Effect.gen(function* () {
      yield* sql`select pg_advisory_xact_lock(${lock}::bigint)`
      yield* sql`create schema if not exists webhook_trigger`
      // The migrator would create it, but checks for it in a way that ends a transaction.
      yield* sql`
        create table if not exists webhook_trigger.migrations (
          migration_id integer primary key,
          created_at timestamptz not null default now(),
          name text not null
        )`
      yield* Migrator.make({})({ loader: Migrator.fromRecord(migrations), table: "webhook_trigger.migrations" })
    }).pipe(sql.withTransaction, Effect.provideService(SqlClient.SqlClient, sql))
  })
