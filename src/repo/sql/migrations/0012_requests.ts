import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * What was refused, of each webhook the newest few for a day; and the token that a webhook had before, while it is still
 * valid. Servers of the release before write neither, and do not accept an old token.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    alter table webhook_trigger.webhooks
      add column keep_bodies text,
      add column old_token_hash bytea,
      add column old_token_hint text,
      add column old_token_valid_until timestamptz,
      add column old_token_used_at timestamptz,
      add column old_token_used_from text`
  yield* sql`
    create index webhooks_old_token on webhook_trigger.webhooks (old_token_hash) where old_token_hash is not null`
  yield* sql`
    create table webhook_trigger.requests (
      request_id uuid primary key,
      webhook_id uuid not null references webhook_trigger.webhooks on delete cascade,
      received_at timestamptz not null,
      status integer not null,
      code text not null,
      detail text not null,
      client_address text not null,
      size bigint not null,
      body text,
      repeats integer not null
    )`
  yield* sql`create index requests_webhook on webhook_trigger.requests (webhook_id, request_id)`
  yield* sql`create index requests_received_at on webhook_trigger.requests (received_at)`
})
