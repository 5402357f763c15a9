/** The conversations that accepted runs belong to: a part of accepting runs (`Insert.ts`). */
import type { SqlClient, Statement } from "@effect/sql"
import type { NewRun } from "../../run/RunStore.ts"

interface Threads {
  /** The query `thread`, with the threads of the accepted runs; it begins those that are not there. */
  readonly joined: Statement.Fragment
  /** The column of the thread's id, and its value for a run `r`. */
  readonly columns: Statement.Fragment
  readonly values: Statement.Fragment
}

const none = (sql: SqlClient.SqlClient): Threads => ({ joined: sql``, columns: sql``, values: sql`` })

/**
 * A new thread has the id of its first run. The conflict with an open thread locks its row: a thread that is being ended is
 * either joined before, or replaced by a new one.
 */
export const threadsOf = (sql: SqlClient.SqlClient, runs: ReadonlyArray<NewRun>): Threads =>
  runs.every(({ thread_key }) => thread_key === undefined)
    ? none(sql)
    : {
        joined: sql`thread as (
          insert into webhook_trigger.threads as t (id, team, key, created_at, last_run_at)
          select distinct on (team, thread_key) id, team, thread_key, accepted_at, accepted_at from placed
          where fits and thread_key is not null order by team, thread_key, ord
          on conflict (team, key) where ended_at is null
            do update set last_run_at = greatest(t.last_run_at, excluded.last_run_at)
          returning t.id, t.team, t.key
        ),`,
        columns: sql`, thread_id`,
        values: sql`, (select t.id from thread t where t.team = r.team and t.key = r.thread_key)`
      }

/** The report of a thread's last run, in the order of the lane, which has ended and reported a session. */
export const lastReport = (sql: SqlClient.SqlClient, thread: "r.thread_id" | "t.id"): Statement.Fragment => sql`(
  select e.report from webhook_trigger.runs e
  where e.thread_id = ${sql.literal(thread)} and e.finished_at is not null and e.report ->> 'session_id' is not null
  order by e.place desc limit 1
)`
