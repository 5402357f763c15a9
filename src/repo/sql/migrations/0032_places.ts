import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * `runs.place` orders a lane, as `seq` orders history. It comes from the same sequence when the row is written. For a run
 * that others can join, it is null until the run's window closes. Windows that are open now are closed. The last index
 * holds the few unfinished runs that others could join.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    alter table webhook_trigger.runs
      add column place bigint, add column collecting_until timestamptz(3), add column joined integer`
  // Only for rows written from now on.
  yield* sql`
    alter table webhook_trigger.runs alter column place set default nextval('webhook_trigger.runs_seq_seq')`
  yield* sql`
    update webhook_trigger.runs set place = seq
    where status in ('queued', 'running') or status = 'cancelled' and released_at is null`
  yield* sql`delete from webhook_trigger.windows`
  yield* sql`drop index webhook_trigger.windows_team`
  yield* sql`drop index webhook_trigger.runs_lane`
  yield* sql`
    create index runs_lane on webhook_trigger.runs (team, place)
      where status = 'queued' and admitted_at is null`
  yield* sql`
    create index runs_joined on webhook_trigger.runs (team, seq)
      where status in ('queued', 'running') and joined is not null`
})
