import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import { endsWork, finalErrors, isAnswer, outcomeFields, type Run } from "../../domain/run/Run.ts"
import { whenTraced } from "../../telemetry/Span.ts"
import { notify } from "../Changes.ts"
import { type ColumnTypes, recordset, runIds, uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import type { NotifySoon } from "../database/NotifySoon.ts"
import { addUsage } from "../history/RollUp.ts"
import { final, live, runColumns, runFromRow, storesLateAnswer, unreleased } from "../RunColumns.ts"
import {
  addsLate,
  type EndedRun,
  firstOfEach,
  isUnchecked,
  type LateReport,
  type RunEnd,
  type UncheckedAnswer,
  withoutQuestion
} from "./RunEnd.ts"

/** The types of the parts that a late end adds to its run. */
const lateTypes: ColumnTypes = {
  run_id: "uuid",
  at: "timestamptz",
  unasked: "json",
  response: "text",
  report: "json",
  cancelled_by: "text"
}

/** As data for the function `step`. */
export const toEnd = (end: RunEnd) => {
  const { run_id, at, sent_at, started_at, outcome } = end
  const fields = outcomeFields(outcome)
  return {
    run_id,
    at,
    sent_at,
    started_at,
    answered: isAnswer(outcome),
    ends_work: endsWork(outcome),
    unchecked: isUnchecked(end),
    may_be_retried: outcome.status === "error" && !finalErrors.includes(outcome.error.code),
    unasked: withoutQuestion(end),
    ...fields
  }
}

/** The answer of `storeLate` about an end's run. */
type Late = LateReport | (UncheckedAnswer & { readonly report: null })

const addedBy = (late: Late): Pick<EndedRun, "late" | "unchecked"> => {
  const { report, team } = late
  return report === null ? { unchecked: { team, answer_schema: late.answer_schema } } : { late: { report, team } }
}

/** The work after the ends of `RunStore.step`, and `RunStore.ended`. */
export const makeEnds = Effect.fnUntraced(function* (notifySoon: NotifySoon) {
  const sql = yield* SqlClient.SqlClient

  const mayAsk = sql`r.agent ->> 'may_ask' is distinct from 'false'`
  const report = sql`case when ${mayAsk} then i.report else coalesce(i.unasked, i.report) end::json`

  /**
   * Stores answers to runs that have ended without one, and the first report of each. Returns the reports' runs, and those
   * that have not ended since their answers must be checked. If a run is counted already, its usage is added here: the lock
   * lets no counting begin or end in between.
   */
  const storeLate = (ends: ReadonlyArray<RunEnd>) =>
    bounded(sql<Late & { readonly run_id: RunId }>`
      with unanswered as materialized (
        select r.id, r.report is null as is_unreported from webhook_trigger.runs r
        where r.id = any(${runIds(sql, ends)}) and r.status in ${storesLateAnswer} and r.response is null
        order by r.id for no key update
      ), stored as (
        update webhook_trigger.runs r
        set response = i.response, report = coalesce(r.report, ${report})
        from ${recordset(sql, lateTypes, ends.map(toEnd))} join unanswered on unanswered.id = i.run_id
        where r.id = i.run_id
        returning r.*, is_unreported
      ), state as materialized (
        select counted_to, hours_from, days_from from webhook_trigger.run_counts_state for share
      ), used as (
        ${addUsage(
          sql,
          sql`
            select s.webhook_id, u.hours, date_bin(u.hours * interval '1 hour', s.accepted_at, 'epoch'), a.amount, count(*),
              sum(a.total)
            from stored s, state, webhook_trigger.usage_amounts(s.report) a,
              lateral (values (1::smallint, state.hours_from), (24, state.days_from)) as u(hours, kept_from)
            where s.is_unreported and s.report is not null and s.webhook_id is not null
              and s.recorded_at < state.counted_to and date_bin('1 hour', s.accepted_at, 'epoch') >= u.kept_from
            group by 1, 2, 3, 4`
        )}
      )
      select id as run_id, team, report, null::json as answer_schema from stored
      where is_unreported and report is not null
      union all
      select r.id, r.team, null, r.agent -> 'answer_schema' from (
        select * from webhook_trigger.runs r where r.id = any(${runIds(sql, ends)}) offset 0
      ) as r
      where r.status in ${live} and r.agent -> 'answer_schema' is not null`)

  /** Who has cancelled unreleased runs; their leaders are told to stop now. */
  const stopLate = (ends: ReadonlyArray<RunEnd>) =>
    bounded(sql`
      with locked as materialized (
        select r.id from webhook_trigger.runs r where r.id = any(${runIds(sql, ends)}) order by r.id for no key update
      ), stopped as (
        update webhook_trigger.runs r set cancelled_by = i.cancelled_by, stop_at = least(r.stop_at, i.at)
        from ${recordset(sql, lateTypes, ends.map(toEnd))} join locked on locked.id = i.run_id
        where r.id = i.run_id and ${unreleased} and r.cancelled_by is null
        returning r.id
      ), ${notify(sql, "RunEnded", sql`select id::text as name from stopped`)}
      select count(*) from notified`)

  const current = (ends: ReadonlyArray<RunEnd>) =>
    bounded(sql`
      select ${runColumns} from webhook_trigger.runs r where r.id = any(${runIds(sql, ends)})`)

  const byId = (rows: ReadonlyArray<object>) =>
    new Map(rows.map((row) => runFromRow(row)).map((run) => [run.run_id, run]))

  /**
   * The results of the ends; these were recorded. Stores what the others add to runs that had ended, before `release` lets their
   * teams go on: the next message of a thread has the late answer to the one before.
   */
  const settle = Effect.fnUntraced(function* (
    ends: ReadonlyArray<RunEnd>,
    first: ReadonlyArray<RunEnd>,
    recorded: ReadonlyMap<RunId, Run>,
    release: Effect.Effect<unknown, Unavailable>
  ) {
    notifySoon(Array.from(recorded.keys(), (run_id) => ({ _tag: "RunEnded", run_id })))
    const won = new Set(first.filter((end) => recorded.has(end.run_id)))
    const late = ends.filter((end) => !won.has(end))
    if (late.length === 0) return ends.map((end): EndedRun => ({ recorded: true, run: recorded.get(end.run_id) }))
    // Only a separate statement sees what others have committed in the meantime.
    const stored = firstOfEach(late.filter(addsLate))
    const rows = stored.length === 0 ? [] : yield* storeLate(stored)
    const found = new Map(rows.map(({ run_id, ...row }) => [run_id, row]))
    yield* release
    const cancelled = firstOfEach(late.filter(({ outcome }) => outcome.status === "cancelled"))
    if (cancelled.length > 0) yield* stopLate(cancelled)
    const isLive = ({ run_id }: RunEnd) => found.get(run_id)?.report === null
    const wanted = late.filter((end) => end.wantsRun !== false && !isLive(end))
    const runs = wanted.length === 0 ? new Map<RunId, Run>() : byId(yield* current(wanted))
    return ends.map((end): EndedRun => {
      if (won.has(end)) return { recorded: true, run: recorded.get(end.run_id) }
      const row = stored.includes(end) ? found.get(end.run_id) : undefined
      return { recorded: false, run: runs.get(end.run_id), ...(row && addedBy(row)) }
    })
  })

  const ended = Effect.fnUntraced(
    function* (ids: ReadonlyArray<RunId>) {
      const rows = yield* sql<{ readonly given: RunId; readonly run_id: RunId | null }>`
        select given.id as given, ${runColumns}
        from unnest(${uuids(sql, ids)}) as given(id) left join webhook_trigger.runs r on r.id = given.id
        where r.id is null or r.status in ${final}`
      return {
        runs: rows.flatMap((row) => (row.run_id === null ? [] : runFromRow(row))),
        deleted: rows.flatMap((row) => (row.run_id === null ? row.given : []))
      }
    },
    bounded,
    whenTraced("RunStore.ended")
  )

  return { settle, ended }
})
