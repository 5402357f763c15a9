import type { SqlClient, Statement } from "@effect/sql"

/**
 * What the statements that admit queued runs share. They have locked them as `locked (id, status, team)`, in the order of
 * their ids, and read the teams of `runs` that are not paused: whoever pauses one waits for this commit or is seen by it.
 */
export const workingTeams = (sql: SqlClient.SqlClient, runs: Statement.Fragment): Statement.Fragment => sql`
  working as materialized (
    select t.team from webhook_trigger.teams t
    where t.team in (select team from ${runs}) and t.paused_at is null
    order by t.team for key share
  )`

/** What an admission at `at` sets: from `now` on the run `r` has a deadline. To do it again changes nothing. */
export const admissionSet = (
  sql: SqlClient.SqlClient,
  at: Statement.Fragment,
  now: Statement.Fragment
): Statement.Fragment => {
  const clock = sql`${now} + r.timeout_ms * interval '1 millisecond'`
  return sql`
    admitted_at = coalesce(r.admitted_at, ${at}),
    deadline_at = case
      when r.mode = 'wait' or r.admitted_at is not null then coalesce(r.deadline_at, ${clock}) else ${clock}
    end`
}

/** Whether the run `r` that is `locked` may be admitted. */
export const mayBeAdmitted = (sql: SqlClient.SqlClient): Statement.Fragment => sql`
  locked.status = 'queued' and (r.admitted_at is not null or locked.team in (select team from working))`
