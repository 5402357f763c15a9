import { type Context, Effect } from "effect"
import { type RunRow, toRun } from "../../../domain/run/Run.ts"
import { isFinal, isUnreleased, runStatuses } from "../../../domain/run/RunStatus.ts"
import { firstOfEach, type RunEnd, sentBefore } from "../../run/RunEnd.ts"
import { type QueuedRuns, RunStore } from "../../run/RunStore.ts"
import { isRunOf } from "../access/OwnerStoreMemory.ts"
import { change, clockFrom, isAfter, isInFlight, isWaiting, type StoredRun, type Tables } from "../Tables.ts"
import { makeAccept } from "./AcceptMemory.ts"
import { makeAdmit } from "./AdmitMemory.ts"
import { makeEnd } from "./EndMemory.ts"
import { makeExpire } from "./ExpireMemory.ts"
import { makeRetries } from "./RetriesMemory.ts"

export const makeRunStore = (tables: Tables): Context.Tag.Service<RunStore> => {
  const { databaseTime, find, holds, notify, where } = tables
  const accept = makeAccept(tables)
  const { end, record, release } = makeEnd(tables)
  const admit = makeAdmit(tables)
  const endAll = (ends: ReadonlyArray<RunEnd>) => ends.map((given) => end(find(given.run_id), given))

  const waitingOf = (of: QueuedRuns) =>
    where(
      (row) =>
        isWaiting(row) &&
        isRunOf(tables, row, of.owners) &&
        ("team" in of ? row.team === of.team : row.webhook_id === of.webhook_id)
    )

  /** An earlier run is in flight with its team. */
  const isBehindOthers = ({ place = 0, row: { team } }: StoredRun) =>
    tables.runs.some(
      (other) =>
        other.row.team === team && (other.place ?? place) < place && (isInFlight(other.row) || isUnreleased(other.row))
    )

  return RunStore.of({
    accept: (given, options) => Effect.map(databaseTime, (now) => given.map((run) => accept(run, options, now))),
    sent: (events) =>
      Effect.sync(() => {
        for (const { run_id, at } of firstOfEach(events)) {
          const run = find(run_id)
          if (!run || !isInFlight(run.row)) continue
          const { started_at, sent_at } = run.row
          if (started_at) change(run, { status: "running", sent_at: sent_at ?? sentBefore(at, started_at) })
          else change(run, { status: "running", sent_at: at, ...clockFrom(run.row, at) })
        }
      }),
    started: (events) =>
      Effect.sync(() => {
        const over = firstOfEach(events).flatMap(({ run_id }) => {
          const row = find(run_id)?.row
          const isOver = row && isFinal(row.status) && runStatuses[row.status].storesLateAnswer && row.released_at
          return isOver ? [{ run_id, team: row.team }] : []
        })
        for (const { run_id, at } of events) {
          const run = find(run_id)
          if (!run || !isInFlight(run.row) || run.row.started_at) continue
          const sent_at = sentBefore(run.row.sent_at, at)
          change(run, { status: "running", started_at: at, ...(sent_at && { sent_at }), ...clockFrom(run.row, at) })
          notify({ _tag: "RunStarted", run_id })
        }
        return over
      }),
    end: (ends) => Effect.sync(() => endAll(ends)),
    endAndAdmit: (ends, { at, run_ids, term }) =>
      Effect.sync(() => {
        const areAllLive = ends.every(({ run_id }) => !isFinal(find(run_id)?.row.status ?? "success"))
        const ended = endAll(ends)
        const events = areAllLive && holds(term) ? [...run_ids].map((run_id) => ({ run_id, at })) : []
        return { ended, admitted: admit(events, at) }
      }),
    ended: (ids) =>
      Effect.sync(() => ({
        runs: where((row) => ids.includes(row.run_id) && isFinal(row.status)).map(({ row }) => toRun(row)),
        deleted: ids.filter((id) => !find(id))
      })),
    release: (events) =>
      Effect.sync(() => {
        for (const { run_id, at } of events) {
          const run = find(run_id)
          if (run) release(run, at)
        }
      }),
    releaseUnconfirmed: (toldBy, now) =>
      Effect.sync(() => {
        const isDue = (row: RunRow) => isUnreleased(row) && !isAfter(row.stop_at!, toldBy)
        const due = where(isDue).map((run) => ({ run, isBehind: isBehindOthers(run) }))
        for (const { isBehind, run } of due) release(run, now, !isBehind)
        return due.flatMap(({ isBehind, run: { row } }) => (isBehind ? [] : { run_id: row.run_id, team: row.team }))
      }),
    cancelQueued: (of, { at, by }) =>
      Effect.sync(() => {
        const queued = waitingOf(of).filter(({ row }) => !isAfter(row.accepted_at, at))
        for (const run of queued) record(run, { outcome: { status: "cancelled", cancelled_by: by }, at })
        return queued.length
      }),
    countQueued: (of) => Effect.sync(() => waitingOf(of).length),
    ...makeRetries(tables),
    expire: makeExpire(tables)
  })
}
