import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * How callers of a webhook show who they are, and the secrets for it: encrypted, each after the id of its key. Servers of the
 * release before do not ask for it.
 */
export default Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`
    alter table webhook_trigger.webhooks
      add column verification json,
      add column sealed_secret text,
      add column secret_hint text,
      add column secret_set_at timestamptz,
      add column old_sealed_secret text,
      add column old_secret_hint text`
)
