/**
 * An admission, in SQL: a queued run gets a slot of its team, and may be sent. The three statements that admit runs
 * consist of these parts: `LaneStore.admit`, `RunStore.endAndAdmit` and `RunStore.accept`.
 *
 * - Only the dispatcher admits. The statement locks the lease until its commit, and does nothing if the term is over.
 * - No run of a paused team is admitted. The statement locks the teams' rows, so a pause either waits for its commit or
 *   is seen by it.
 * - An accepted run is admitted with its acceptance only if no earlier run of its team waits.
 * - An admitted run has a deadline.
 */
import type { SqlClient, Statement } from "@effect/sql"
import { DateTime } from "effect"
import type { Term } from "../../run/LeaseStore.ts"
import { type Admission, mostAhead } from "../../run/RunStore.ts"
import { inLane } from "../RunColumns.ts"
import { heldBy } from "./LeaseStoreSql.ts"

/** The query `lease`: a row if the term is the dispatcher's. */
export const leaseOf = (sql: SqlClient.SqlClient, term: Term): Statement.Fragment =>
  sql`lease as materialized (${heldBy(sql, term)})`

const isHeld = (sql: SqlClient.SqlClient): Statement.Fragment => sql`exists (select from lease)`

const isWorking = (sql: SqlClient.SqlClient): Statement.Fragment => sql`t.paused_at is null`

/**
 * The deadline of the run `r` from its admission on. Waiting callers' runs already have one, and so has a run admitted
 * `before`.
 */
const deadlineFrom = (sql: SqlClient.SqlClient, now: Statement.Fragment, before: Statement.Fragment) => {
  const clock = sql`${now} + r.timeout_ms * interval '1 millisecond'`
  return sql`case when r.mode = 'wait' or ${before} then coalesce(r.deadline_at, ${clock}) else ${clock} end`
}

/**
 * The query `admitted`, which admits runs at their time `at` and returns their IDs. It follows `leaseOf` and a query
 * `next (id, status, team, at)`, which has locked the runs in the order of their IDs. Runs admitted before stay
 * admitted.
 */
export const admitNext = (
  sql: SqlClient.SqlClient,
  now: Statement.Fragment,
  condition: Statement.Fragment = sql`true`
): Statement.Fragment => sql`
  working as materialized (
    select t.team from webhook_trigger.teams t
    where t.team in (select team from next) and ${isWorking(sql)}
    order by t.team for key share
  ), admitted as (
    update webhook_trigger.runs r set
      admitted_at = coalesce(r.admitted_at, next.at),
      deadline_at = ${deadlineFrom(sql, now, sql`r.admitted_at is not null`)}
    from next
    where r.id = next.id and next.status = 'queued' and ${isHeld(sql)} and ${condition}
      and (r.admitted_at is not null or next.team in (select team from working))
    returning r.id
  )`

/** The parts of an acceptance that may admit its runs. */
interface AdmissionAtAcceptance {
  /** The query before all others. */
  readonly lease: Statement.Fragment
  /** The first runs in the lane of the team `t`, as one text. */
  readonly first: Statement.Fragment
  /** The runs before an input in its lane, for the known team `t`; null: none is admitted. */
  readonly ahead: Statement.Fragment
  /** When a run `c`, which has `ahead`, is admitted; null: it waits. A run that opens a window is before no other. */
  readonly admittedAt: Statement.Fragment
}

export const admissionAtAcceptance = (
  sql: SqlClient.SqlClient,
  admission: Admission | undefined
): AdmissionAtAcceptance => {
  const none = sql`null::text`
  if (admission === undefined) return { lease: sql``, first: none, ahead: none, admittedAt: sql`null::timestamptz` }
  return {
    lease: sql`${leaseOf(sql, admission.term)},`,
    first: sql`coalesce((
      select string_agg(w.id::text, ' ') from (
        select r.id from webhook_trigger.runs r
        where r.team = t.team and ${inLane}
        order by r.place limit ${sql.literal(String(mostAhead + 1))}
      ) as w
    ), '')`,
    ahead: sql`case when ${isWorking(sql)} and ${isHeld(sql)} then t.first end`,
    admittedAt: sql`case
      when c.admit and c.ahead = '' and bool_and(c.admit or c.window_key is not null) over (partition by c.team order by c.ord)
        then ${DateTime.toDateUtc(admission.at)}::timestamptz
    end`
  }
}

/** The deadline of a run `r` that is about to be inserted, admitted or not. */
export const deadlineAtAcceptance = (sql: SqlClient.SqlClient): Statement.Fragment => sql`
  case when r.admitted_at is null then r.deadline_at else ${deadlineFrom(sql, sql`r.admitted_at`, sql`false`)} end`
