import type { DateTime } from "effect"
import type { RunId } from "../../../domain/Id.ts"
import type { RunEvent } from "../../run/RunEnd.ts"
import { change, type Tables, withDeadline } from "../Tables.ts"

/** Admits queued runs. The term was checked before. */
export const makeAdmit = (tables: Tables) => {
  const { isPaused, where } = tables

  return (events: ReadonlyArray<RunEvent>, now: DateTime.Utc): ReadonlySet<RunId> => {
    const given = new Map(events.map(({ run_id, at }) => [run_id, at]))
    const queued = where(
      (row) =>
        given.has(row.run_id) && row.status === "queued" && (row.admitted_at !== undefined || !isPaused(row.team))
    )
    for (const run of queued) {
      const admitted_at = run.row.admitted_at ?? given.get(run.row.run_id)!
      change(run, { admitted_at, ...withDeadline(run.row, now) })
    }
    return new Set(queued.map(({ row }) => row.run_id))
  }
}
