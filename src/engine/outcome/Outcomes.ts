import { Context, Effect, Layer, Queue, Schedule } from "effect"
import type { Bus } from "../../bus/Bus.ts"
import type { RunId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import type { EndedRun, RunEnd } from "../../repo/run/RunEnd.ts"
import { RunStore } from "../../repo/run/RunStore.ts"
import type { Progress } from "./ProgressRecorder.ts"
import * as ProgressRecorder from "./ProgressRecorder.ts"
import * as RunMetrics from "./RunMetrics.ts"

/** Called with the run as it ended; with `undefined` when it was deleted. */
export type OnEnd = (run: Run | undefined) => void

/** How often the rows of watched runs are read for ends, and of how many runs at a time. */
const pollInterval = "1 second"
const pollSize = 1_000

/** Notifies the watchers of runs of their ends, whichever server recorded them (`Steps`). */
export class Outcomes extends Context.Service<
  Outcomes,
  {
    /**
     * Calls `onEnd` when the run has ended, until the returned function is called; perhaps more than once. Watch first,
     * then accept or read the row: so no end is missed. A run that `isNew` counts as deleted only after `stored`.
     */
    readonly watch: (id: RunId, onEnd: OnEnd, options?: { readonly isNew?: boolean }) => () => void
    /** The new run has its row now. */
    readonly stored: (id: RunId) => void
    readonly isWatched: (id: RunId) => boolean
    /**
     * The broker has the run's prompt, or its leader started. This is recorded soon, or with the run's end. A leader that
     * starts a run that is over is told to stop.
     */
    readonly progress: (id: RunId, progress: Progress) => void
    /** This process has recorded the run's end. */
    readonly recorded: (run: Run) => void
    /** These runs no longer exist. */
    readonly deleted: (ids: ReadonlyArray<RunId>) => void
    /** This process records these ends; `committed` or `failed` follows. Returns them with the progress of their runs. */
    readonly begin: (ends: ReadonlyArray<RunEnd>) => ReadonlyArray<RunEnd>
    readonly committed: (ends: ReadonlyArray<RunEnd>, results: ReadonlyArray<EndedRun>) => void
    readonly failed: (ends: ReadonlyArray<RunEnd>) => void
  }
>()("webhook-trigger/Outcomes") {
  static readonly layer: Layer.Layer<Outcomes, never, Bus | RunStore | ChangeFeed> = Layer.effect(
    Outcomes,
    Effect.gen(function* () {
      RunMetrics.begin()
      const runs = yield* RunStore
      const feed = yield* ChangeFeed
      const progressRecorder = yield* ProgressRecorder.make
      const watchers = new Map<RunId, { readonly callbacks: Set<OnEnd>; stored: boolean }>()

      const notify = (id: RunId, run: Run | undefined) => {
        for (const onEnd of watchers.get(id)?.callbacks ?? []) onEnd(run)
      }
      const recorded = (run: Run) => {
        RunMetrics.record(run)
        notify(run.run_id, run)
      }
      const deleted = (ids: ReadonlyArray<RunId>) => {
        for (const id of ids) notify(id, undefined)
      }

      /** Runs whose ends this process is recording: their notifications need no read. */
      const ending = new Set<RunId>()

      const forget = (ends: ReadonlyArray<RunEnd>) => {
        for (const { run_id } of ends) ending.delete(run_id)
      }

      /** The runs have not ended: their progress is still to be recorded. */
      const restore = (ends: ReadonlyArray<RunEnd>) => {
        for (const { run_id, sent_at, started_at } of ends) {
          progressRecorder.add(run_id, { ...(sent_at && { sent_at }), ...(started_at && { started_at }) })
        }
      }

      const read = Effect.fnUntraced(
        function* (ids: ReadonlyArray<RunId>) {
          if (ids.length === 0) return
          const found = yield* runs.ended(ids)
          for (const run of found.runs) notify(run.run_id, run)
          deleted(found.deleted)
        },
        Effect.ignoreCause({ log: "Debug" })
      )

      // Notifications report the ends of other replicas; the poll finds those that a broken connection lost.
      const endedElsewhere = yield* Queue.unbounded<RunId>()
      yield* feed.listen((changes) => {
        for (const change of changes) {
          if (change._tag !== "RunEnded" || ending.has(change.run_id)) continue
          if (watchers.has(change.run_id)) Queue.offerUnsafe(endedElsewhere, change.run_id)
        }
      })
      yield* Queue.takeBetween(endedElsewhere, 1, pollSize).pipe(
        Effect.flatMap(read),
        Effect.forever,
        Effect.forkScoped
      )

      let next = 0
      const nextInTurn = () => {
        const ids = Array.from(watchers).flatMap(([id, { stored }]) => (stored ? [id] : []))
        const start = next < ids.length ? next : 0
        next = start + pollSize
        return ids.slice(start, next)
      }
      yield* Effect.suspend(() => read(nextInTurn())).pipe(
        Effect.repeat(Schedule.spaced(pollInterval)),
        Effect.forkScoped
      )

      return Outcomes.of({
        watch: (id, onEnd, { isNew = false } = {}) => {
          const entry = watchers.get(id) ?? { callbacks: new Set(), stored: !isNew }
          entry.callbacks.add(onEnd)
          watchers.set(id, entry)
          return () => {
            entry.callbacks.delete(onEnd)
            if (entry.callbacks.size === 0 && watchers.get(id) === entry) watchers.delete(id)
          }
        },
        stored: (id) => {
          const entry = watchers.get(id)
          if (entry !== undefined) entry.stored = true
        },
        isWatched: (id) => watchers.has(id),
        progress: progressRecorder.add,
        recorded,
        deleted,
        begin: (ends) => {
          for (const { run_id } of ends) ending.add(run_id)
          return ends.map((end) => ({ ...end, ...progressRecorder.take(end.run_id) }))
        },
        committed: (ends, results) => {
          restore(ends.filter((_, index) => results[index]?.unchecked !== undefined))
          for (const { late, run, recorded: byUs } of results) {
            if (late !== undefined) RunMetrics.recordReport(late.report, late.team)
            if (run === undefined) continue
            if (byUs) recorded(run)
            else notify(run.run_id, run)
          }
          forget(ends)
        },
        failed: (ends) => {
          forget(ends)
          restore(ends)
        }
      })
    })
  )
}
