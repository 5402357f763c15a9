import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Which run another one repeats. Not a foreign key: either may be removed from the history before the other. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table webhook_trigger.runs add column replay_of uuid`
  yield* sql`create index runs_replay_of on webhook_trigger.runs (replay_of) where replay_of is not null`
})
