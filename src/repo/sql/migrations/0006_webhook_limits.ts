import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * A webhook's own limits. Its `rate` has a bucket: how many runs had been taken out of it, and not filled in again, at a
 * time. In a table of its own, because it is written with each run, and a webhook is long.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table webhook_trigger.webhooks add column max_queued integer, add column rate text`
  yield* sql`
    create table webhook_trigger.webhook_rates (
      webhook_id uuid primary key references webhook_trigger.webhooks on delete cascade,
      used float8 not null default 0,
      at timestamptz not null default now()
    ) with (fillfactor = 50)`
})
