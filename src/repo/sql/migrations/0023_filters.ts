import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** A webhook's `accept_if`. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table webhook_trigger.webhooks add column accept_if text`
})
