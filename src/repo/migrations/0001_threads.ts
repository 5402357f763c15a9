import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Threads: conversations with a team's agent. One at most is open for each key. Some may have no runs for a moment. */
export const threads = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table webhook_trigger.threads (
      id uuid primary key,
      team text collate "C" not null,
      key text collate "C" not null,
      created_at timestamptz(3) not null,
      last_run_at timestamptz(3) not null,
      ended_at timestamptz(3)
    )`
  yield* sql`
    create unique index threads_open on webhook_trigger.threads (team, key) where ended_at is null`
  yield* sql`create index threads_idle on webhook_trigger.threads (last_run_at) where ended_at is null`
  yield* sql`create index threads_team on webhook_trigger.threads (team, last_run_at, id)`
  yield* sql`create index threads_key on webhook_trigger.threads (team, key, last_run_at, id)`

  // Locks the rows before it looks for their runs, so it sees a run that joins in between.
  yield* sql`
    create function webhook_trigger.delete_empty_threads() returns trigger language plpgsql as $$
      declare
        ids uuid[];
      begin
        ids := array(select distinct thread_id from deleted where thread_id is not null);
        if ids <> '{}' then
          perform from webhook_trigger.threads t where t.id = any(ids) order by t.team, t.key for update;
          delete from webhook_trigger.threads t where t.id = any(ids)
            and not exists (select from webhook_trigger.runs r where r.thread_id = t.id);
        end if;
        return null;
      end
    $$`
  yield* sql`
    create trigger runs_of_threads_deleted after delete on webhook_trigger.runs referencing old table as deleted
    for each statement execute function webhook_trigger.delete_empty_threads()`
})
