import type { DateTime } from "effect"
import { outcomeFields, type RunRow, retryAt, toRun } from "../../../domain/run/Run.ts"
import { isFinal, runStatuses } from "../../../domain/run/RunStatus.ts"
import { storable } from "../../../domain/StorableText.ts"
import { addsLate, type EndedRun, type LateReport, type RunEnd, timesOfEnd } from "../../run/RunEnd.ts"
import { deliverEnd } from "../delivery/DeliveryStoreMemory.ts"
import { change, isHeld, type StoredRun, storableFields, type Tables } from "../Tables.ts"

/** Ends runs, and releases slots. */
export const makeEnd = (tables: Tables) => {
  const { notify } = tables

  const record = (run: StoredRun, end: Omit<RunEnd, "run_id">): void => {
    endCollecting(run)
    const { at, outcome } = end
    const { admitted_at } = run.row
    const retry_at = retryAt(run.row, outcome, at)
    change(run, {
      ...storableFields(outcomeFields(outcome)),
      ...timesOfEnd(run.row, end),
      finished_at: at,
      ...(retry_at && { retry_at }),
      ...(outcome.status === "cancelled" && admitted_at === undefined && { released_at: at })
    })
    deliverEnd(tables, run.row)
    notify({ _tag: "RunEnded", run_id: run.row.run_id })
  }

  const release = (run: StoredRun, at: DateTime.Utc): void => {
    if (!isHeld(run.row)) return
    change(run, { released_at: at })
    notify({ _tag: "RunEnded", run_id: run.row.run_id })
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
    if (!recorded && outcome.status !== "cancelled") release(run, at)
    return { recorded, run: recorded || wantsRun ? toRun(run.row) : undefined, ...(late && { late }) }
  }

  return { end, record, release }
}

/** It has ended, and a late answer would be stored. */
export const takesLateAnswer = ({ response, status }: RunRow): boolean =>
  isFinal(status) && runStatuses[status].storesLateAnswer && response === undefined

/** Its window is closed. */
export const endCollecting = (run: StoredRun): void => {
  const { collecting_until: _, ...row } = run.row
  run.row = row
}
