import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Whether failed runs are tried again: of a webhook, and of a run. The index holds only those that wait for it. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table webhook_trigger.webhooks add column retries json`
  yield* sql`
    alter table webhook_trigger.runs
      add column attempt integer,
      add column attempts integer,
      add column retry_after_seconds integer,
      add column retry_at timestamptz(3),
      add column retried_by uuid`
  yield* sql`create index runs_retry_at on webhook_trigger.runs (retry_at) where retry_at is not null`
})
