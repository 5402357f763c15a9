import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Each change of a webhook gives it another version, by which an acceptance sees what its prompt was rendered from. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table webhook_trigger.webhooks add column version integer not null default 1`
})
