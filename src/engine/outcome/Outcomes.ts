import { Context, Effect, Layer } from "effect"
import type { Bus } from "../../bus/Bus.ts"
import type { RunId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { ChangeFeed } from "../../repo/ChangeFeed.ts"
import type { EndedRun, RunEnd } from "../../repo/run/RunEnd.ts"
import { RunStore } from "../../repo/run/RunStore.ts"
import * as Watched from "../Watched.ts"
import type { Progress } from "./ProgressRecorder.ts"
import * as ProgressRecorder from "./ProgressRecorder.ts"
import * as RunMetrics from "./RunMetrics.ts"

/** Called with the run as it ended; with `undefined` when it was deleted. */
export type OnEnd = (run: Run | undefined) => void

/** Watched runs whose rows are read in one statement. */
const atOnce = 1_000

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
      const progressRecorder = yield* ProgressRecorder.make

      /** Runs whose ends this process is recording: their notifications need no read. */
      const ending = new Set<RunId>()

      const watched = yield* Watched.make<RunId, { readonly id: RunId; isStored: boolean }, OnEnd>({
        atOnce,
        concerned: (changes, entries) =>
          changes.flatMap((change) => {
            const isElsewhere = change._tag === "RunEnded" && !ending.has(change.run_id)
            const entry = isElsewhere ? entries.get(change.run_id) : undefined
            if (entry === undefined) return []
            entry.subject.isStored = true
            return entry
          }),
        look: (some) => readEnds(some.flatMap(({ subject }) => (subject.isStored ? subject.id : [])))
      })

      const notify = (id: RunId, run: Run | undefined) => {
        for (const onEnd of watched.entries.get(id)?.listeners ?? []) onEnd(run)
      }
      const recorded = (run: Run) => {
        RunMetrics.record(run)
        notify(run.run_id, run)
      }
      const deleted = (ids: ReadonlyArray<RunId>) => {
        for (const id of ids) notify(id, undefined)
      }

      const forget = (ends: ReadonlyArray<RunEnd>) => {
        for (const { run_id } of ends) ending.delete(run_id)
      }

      /** The runs have not ended: their progress is still to be recorded. */
      const restore = (ends: ReadonlyArray<RunEnd>) => {
        for (const { run_id, sent_at, started_at } of ends) {
          progressRecorder.add(run_id, { ...(sent_at && { sent_at }), ...(started_at && { started_at }) })
        }
      }

      const readEnds = Effect.fnUntraced(
        function* (ids: ReadonlyArray<RunId>) {
          if (ids.length === 0) return
          const found = yield* runs.ended(ids)
          for (const run of found.runs) notify(run.run_id, run)
          deleted(found.deleted)
        },
        Effect.ignoreCause({ log: "Debug" })
      )

      return Outcomes.of({
        watch: (id, onEnd, { isNew = false } = {}) => watched.add(id, { id, isStored: !isNew }, onEnd),
        stored: (id) => {
          const entry = watched.entries.get(id)
          if (entry !== undefined) entry.subject.isStored = true
        },
        isWatched: (id) => watched.entries.has(id),
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
