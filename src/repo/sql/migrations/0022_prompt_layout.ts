import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** A webhook's `fence` and `schema`, and what the prompt of a run is made up of. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table webhook_trigger.webhooks add column fence boolean, add column schema json`
  yield* sql`alter table webhook_trigger.runs add column layout json`
})
