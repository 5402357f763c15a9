import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Keys and secrets, and sessions of the web UI. */
export const server = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

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

  // A revoked key is kept, for people who look for its name.
  yield* sql`
    create table webhook_trigger.api_keys (
      id uuid primary key,
      name text not null,
      role text not null,
      teams json,
      webhooks json,
      hint text not null,
      key_hash bytea not null unique,
      created_at timestamptz(3) not null,
      created_by text not null,
      expires_at timestamptz(3),
      last_used_at timestamptz(3),
      revoked_at timestamptz(3)
    )`

  yield* sql`
    create table webhook_trigger.sessions (
      id uuid primary key,
      token_hash bytea not null unique,
      api_key_id uuid references webhook_trigger.api_keys,
      key_name text,
      key_fingerprint bytea check ((key_fingerprint is null) = (api_key_id is not null)),
      person json,
      sealed_id_token text,
      created_at timestamptz(3) not null,
      authenticated_at timestamptz(3),
      last_used_at timestamptz(3) not null,
      expires_at timestamptz(3) not null,
      oauth_client text,
      is_ended boolean check (is_ended is null or (is_ended and oauth_client is not null)),
      client_address text not null,
      user_agent text not null
    )`
})
