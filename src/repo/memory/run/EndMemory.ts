import { DateTime } from "effect"
import { endsWork, type Outcome, outcomeFields, type RunRow, retryAt, stopAt, toRun } from "../../../domain/run/Run.ts"
import { isFinal, isUnreleased, runStatuses } from "../../../domain/run/RunStatus.ts"
import { storable } from "../../../domain/StorableText.ts"
import { addsLate, type EndedRun, type LateReport, type RunEnd, timesOfEnd } from "../../run/RunEnd.ts"
import { deliverEnd } from "../delivery/DeliveryStoreMemory.ts"
import { change, type StoredRun, storableFields, type Tables } from "../Tables.ts"

/** Ends runs, and releases slots. */
export const makeEnd = (tables: Tables) => {
  const { notify } = tables

  const record = (run: StoredRun, end: Omit<RunEnd, "run_id">): void => {
    endCollecting(run)
    const { at, outcome } = end
    const { admitted_at } = run.row
    const retry_at = retryAt(run.row, outcome, at)
    const times = timesOfEnd(run.row, end)
    const isReleased = admitted_at === undefined || endsWork(outcome)
    change(run, {
      ...storableFields(outcomeFields(outcome)),
      ...times,
      finished_at: at,
      ...(retry_at && { retry_at }),
      ...(runStatuses[outcome.status].storesLateAnswer && isReleased && { released_at: at }),
      ...(!isReleased && { stop_at: stopAt({ ...run.row, ...times }, outcome, at) })
    })
    deliverEnd(tables, run.row)
    notify({ _tag: "RunEnded", run_id: run.row.run_id })
  }

  const release = (run: StoredRun, at: DateTime.Utc, isUnconfirmed = false): void => {
    if (!isUnreleased(run.row) && !run.row.unconfirmed) return
    const { released_at = at, unconfirmed: _, ...row } = run.row
    run.row = { ...row, released_at, ...(isUnconfirmed && { unconfirmed: true }) }
    notify({ _tag: "RunEnded", run_id: run.row.run_id })
  }

  /** Its leader is told to stop now. */
  const stopLate = (
    run: StoredRun,
    { cancelled_by }: Extract<Outcome, { readonly status: "cancelled" }>,
    at: DateTime.Utc
  ) => {
    const { stop_at = at, run_id } = run.row
    if (!isUnreleased(run.row) || run.row.cancelled_by !== undefined) return
    change(run, { cancelled_by, stop_at: DateTime.min(stop_at, at) })
    notify({ _tag: "RunEnded", run_id })
  }

  /** Stores an answer to a run that has ended without one, and its first report. Returns the report that it stored. */
  const storeLate = (run: StoredRun, end: RunEnd): LateReport | undefined => {
    const { team } = run.row
    if (!addsLate(end) || !takesLateAnswer(run.row)) return undefined
    const { report, response } = outcomeFields(end.outcome)
    const isFirst = report !== undefined && run.row.report === undefined
    change(run, { ...(response !== undefined && { response: storable(response) }), ...(isFirst && { report }) })
    return isFirst ? { team, report } : undefined
  }

  const end = (run: StoredRun | undefined, given: RunEnd): EndedRun => {
    const { outcome, at, wantsRun = true } = given
    if (run === undefined) return { recorded: false, run }
    const recorded = !isFinal(run.row.status)
    if (recorded) record(run, given)
    const late = recorded ? undefined : storeLate(run, given)
    if (!recorded && endsWork(outcome)) release(run, at)
    if (!recorded && outcome.status === "cancelled") stopLate(run, outcome, at)
    return { recorded, run: recorded || wantsRun ? toRun(run.row) : undefined, ...(late && { late }) }
  }

  return { end, record, release }
}

/** It has ended, and a late answer would be stored. */
const takesLateAnswer = ({ response, status }: RunRow): boolean =>
  isFinal(status) && runStatuses[status].storesLateAnswer && response === undefined

/** Its window is closed. */
export const endCollecting = (run: StoredRun): void => {
  const { collecting_until: _, ...row } = run.row
  run.row = row
}
