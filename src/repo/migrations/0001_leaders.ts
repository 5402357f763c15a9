import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * The leader over HTTP of each team that had one, and the last run that it was offered. `taken`: a leader has asked since
 * then, and so has it. `left_by`, `left_at`: the last leader that left the team, and when. There is no foreign key of
 * `key_id`, since a leader whose key was revoked may have a run that the next one gets.
 */
export const leaders = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table webhook_trigger.http_leaders (
      team text collate "C" primary key references webhook_trigger.teams on delete cascade,
      leader uuid,
      key_id uuid,
      left_by uuid,
      left_at timestamptz(3),
      seen_at timestamptz(3) not null,
      run_id uuid,
      redelivered boolean not null default false,
      taken boolean not null default false
    ) with (fillfactor = 50)`
})
