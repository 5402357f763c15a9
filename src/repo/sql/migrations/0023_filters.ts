import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * A webhook's `accept_if` and `coalesce`; the windows in which triggers become the run of an earlier one, and the
 * idempotency keys of those that did.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table webhook_trigger.webhooks add column accept_if text, add column coalesce json`
  // Tables of their own, and no columns of `runs`: an index over millions of runs would take its time.
  yield* sql`
    create table webhook_trigger.windows (
      webhook_id uuid not null references webhook_trigger.webhooks on delete cascade,
      team text not null,
      key text not null,
      run_id uuid not null,
      until timestamptz(3) not null,
      primary key (webhook_id, team, key)
    )`
  yield* sql`create index windows_team on webhook_trigger.windows (team)`
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
