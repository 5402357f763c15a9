import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Messages to teams, which have no webhook: what their idempotency keys name, and those that ended in some way, in order. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create unique index runs_message_idempotency on webhook_trigger.runs (team, idempotency_key)
      where webhook_id is null and idempotency_key is not null`
  yield* sql`create index runs_messages on webhook_trigger.runs (team, status, seq) where webhook_id is null`
})
