import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Leaders' reports while they work. Unlogged, since they are transient and written often: a crash of PostgreSQL empties
 * these tables. No foreign keys, which would cost a lookup for each report; rows of ended runs are removed by age.
 *
 * `position` counts the characters of a run's progress, and more for short reports. The first is a time in microseconds, so
 * that positions also grow after the tables were emptied.
 */
export const progress = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create unlogged table webhook_trigger.run_progress (
      run_id uuid primary key,
      position bigint not null,
      kept_after bigint not null,
      first_seq bigint not null,
      seq bigint not null,
      activity text,
      activity_position bigint
    ) with (fillfactor = 50)`

  yield* sql`
    create unlogged table webhook_trigger.run_progress_texts (
      run_id uuid not null,
      position bigint not null,
      text text not null,
      primary key (run_id, position)
    )`

  // Kept with the run. A position is about a time in microseconds, so the old ones are found by it. `whole`: with details.
  yield* sql`
    create table webhook_trigger.run_steps (
      run_id uuid not null references webhook_trigger.runs on delete cascade,
      position bigint not null,
      steps jsonb not null,
      size integer not null,
      whole boolean not null default true,
      primary key (run_id, position)
    )`
  yield* sql`create index run_steps_age on webhook_trigger.run_steps using brin (position)`
})
