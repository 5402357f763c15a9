import { type Context, DateTime, Effect } from "effect"
import { noLeaderInTime, type RunRow, toRun } from "../../../domain/run/Run.ts"
import { isFinal, runStatuses } from "../../../domain/run/RunStatus.ts"
import type { RunStore } from "../../run/RunStore.ts"
import { change, isAfter, type StoredRun, type Tables } from "../Tables.ts"
import { makeEnd } from "./EndMemory.ts"

/** `RunStore.expire`. */
export const makeExpire = (tables: Tables): Context.Tag.Service<RunStore>["expire"] => {
  const { isPaused, teams, where } = tables
  const { record } = makeEnd(tables)

  /** The later deadline of a prompt that waits behind an earlier one, see `RunStore.expire`. */
  const laterDeadline = ({ row, place }: StoredRun, now: DateTime.Utc): DateTime.Utc | undefined => {
    const { sent_at } = row
    if (row.mode !== "async" || sent_at === undefined || row.started_at !== undefined) return undefined
    const stands = (other: StoredRun) => other.place !== undefined && place !== undefined && other.place < place
    const earlier = tables.runs.filter((other) => other.row.team === row.team && stands(other)).map(({ row }) => row)
    const working = earlier.flatMap(({ deadline_at, released_at, started_at, status, stop_at }) => {
      const until = status === "running" ? deadline_at : released_at === undefined && stop_at
      return started_at && until ? DateTime.max(until, now) : []
    })
    const answered = earlier.flatMap(({ status, admitted_at, finished_at, released_at }) => {
      const isAnswered = isFinal(status) && runStatuses[status].answered
      const done = isAnswered ? finished_at : admitted_at && released_at
      return done && isAfter(done, sent_at) ? done : []
    })
    const from = working.length > 0 ? working : answered
    if (from.length === 0) return undefined
    const later = DateTime.add(from.reduce(DateTime.max), { millis: row.timeout_ms })
    return isAfter(later, now) ? later : undefined
  }

  return (now, { notSent = [], stopped = [] } = {}) =>
    Effect.sync(() => {
      const hasFoundNoLeader = ({ accepted_at, admitted_at, deadline_at, mode, team }: RunRow) => {
        if (mode !== "async" || admitted_at !== undefined || deadline_at === undefined) return false
        const { resumed_at = accepted_at } = teams.get(team) ?? {}
        const later = Math.max(0, DateTime.distance(accepted_at, resumed_at))
        return stopped.includes(team) && !isPaused(team) && !isAfter(DateTime.add(deadline_at, { millis: later }), now)
      }
      const due = where(
        (row) =>
          !isFinal(row.status) &&
          row.deadline_at !== undefined &&
          !isAfter(row.deadline_at, now) &&
          (row.mode === "wait" ||
            (row.admitted_at !== undefined && !notSent.includes(row.run_id)) ||
            hasFoundNoLeader(row))
      )
      return due
        .map((run) => ({ run, later: laterDeadline(run, now) }))
        .flatMap(({ run, later }) => {
          if (later) change(run, { deadline_at: later })
          else if (hasFoundNoLeader(run.row))
            record(run, { outcome: { status: "error", error: noLeaderInTime }, at: now })
          else record(run, { outcome: { status: "timeout" }, at: now })
          return later ? [] : toRun(run.row)
        })
    })
}
