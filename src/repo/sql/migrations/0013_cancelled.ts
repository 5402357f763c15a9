import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * The end `cancelled`. The constraints are checked for rows that are written from now on: those before cannot break them,
 * and checking them would read the whole history. The index holds runs that were cancelled after they had got their slots,
 * for as long as they hold them.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    alter table webhook_trigger.runs
      add column released_at timestamptz(3),
      drop constraint runs_status_check,
      add constraint runs_status_check check (
        status in ('queued', 'running', 'success', 'error', 'timeout', 'cancelled')
      ) not valid,
      drop constraint runs_check1,
      add constraint runs_finished_check check (
        (status in ('success', 'error', 'timeout', 'cancelled')) = (finished_at is not null)
      ) not valid`
  yield* sql`
    create index runs_held on webhook_trigger.runs (team, seq) where status = 'cancelled' and released_at is null`
  yield* sql`create index runs_released on webhook_trigger.runs (team, released_at) where released_at is not null`
})
