import type { SqlClient, Statement } from "effect/sql"

/** The report of a thread's last run, in the order of the lane, which has ended and reported a session. */
export const lastReport = (sql: SqlClient.SqlClient, thread: "r.thread_id" | "t.id"): Statement.Fragment => sql`(
  select e.report from webhook_trigger.runs e
  where e.thread_id = ${sql.literal(thread)} and e.finished_at is not null and e.report ->> 'session_id' is not null
  order by e.place desc limit 1
)`
