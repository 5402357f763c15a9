import { Chunk, Context, DateTime, Effect, Exit, Layer, Queue, Schedule, type Scope } from "effect"
import type { Bus } from "../../bus/Bus.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import { type Outcome, outcomeFields, type Run } from "../../domain/run/Run.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import type { RunEnd } from "../../repo/run/RunEnd.ts"
import { type Admission, RunStore } from "../../repo/run/RunStore.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import * as RunMetrics from "./RunMetrics.ts"
import type { Progress } from "./SentAndStarted.ts"
import * as SentAndStarted from "./SentAndStarted.ts"

/** Called with the run as it ended; with `undefined` when it was deleted. */
export type OnEnd = (run: Run | undefined) => void

/** Runs to admit in the commit that ends others. */
export interface AdmissionWithEnds {
  readonly admission: Admission
  /** The runs that were admitted; `undefined`: the result of the commit is unknown. */
  readonly settle: (admitted: ReadonlySet<RunId> | undefined) => void
}

/** Selects runs to admit in the commit of these ends, in their slots; `undefined`: none. */
export type AdmitWithEnds = (ends: ReadonlyArray<Pick<RunEnd, "run_id" | "outcome">>) => AdmissionWithEnds | undefined

/** How often the rows of watched runs are read for ends, and of how many runs at a time. */
const pollInterval = "1 second"
const pollSize = 1_000

/** Records the ends of runs, and notifies their watchers, whichever replica recorded the end. */
export class Outcomes extends Context.Tag("webhook-trigger/Outcomes")<
  Outcomes,
  {
    /**
     * Calls `onEnd` when the run has ended, until the returned function is called; perhaps more than once. Watch first,
     * then accept or read the row: so no end is missed. A run that `isNew` counts as deleted only after `stored`.
     */
    readonly watch: (id: RunId, onEnd: OnEnd, options?: { readonly isNew?: boolean }) => () => void
    /** The new run has its row now. */
    readonly stored: (id: RunId) => void
    /** Makes this the run's end, unless another came first. Returns the run as it ended; `undefined`: it does not exist. */
    readonly end: (id: RunId, outcome: Outcome) => Effect.Effect<Run | undefined, Unavailable>
    /**
     * Ends wait for the previous commit. Theirs follows at once, and admits the runs that the lanes left to it. If the
     * previous commit fails, theirs fails with it: the dispatcher's next poll then advances the lanes.
     */
    readonly areEndsWaiting: () => boolean
    /** Until the scope closes, calls `select` before each commit of ends. */
    readonly admitWithEnds: (select: AdmitWithEnds) => Effect.Effect<void, never, Scope.Scope>
    /** Several ends with one commit. */
    readonly endAll: (
      ends: ReadonlyArray<{ readonly run_id: RunId; readonly outcome: Outcome }>
    ) => Effect.Effect<void, Unavailable>
    /** The leaders are done with these ended runs, and their teams and slots are free. Watchers are notified as of an end. */
    readonly release: (ids: ReadonlyArray<RunId>) => Effect.Effect<void, Unavailable>
    /**
     * The broker has the run's prompt, or its leader started. This is recorded soon, or with the run's end. A leader that
     * starts a run that is over is told to stop.
     */
    readonly progress: (id: RunId, progress: Progress) => void
    /** This process has recorded the run's end. */
    readonly recorded: (run: Run) => void
    /** These runs no longer exist. */
    readonly deleted: (ids: ReadonlyArray<RunId>) => void
  }
>() {
  static readonly layer: Layer.Layer<Outcomes, never, Bus | RunStore | ChangeFeed> = Layer.scoped(
    Outcomes,
    Effect.gen(function* () {
      RunMetrics.begin()
      const runs = yield* RunStore
      const feed = yield* ChangeFeed
      let select: AdmitWithEnds = () => undefined
      const clock = yield* Effect.clock
      const progressRecorder = yield* SentAndStarted.make
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

      /** Records the ends with the progress of their runs, and notifies. The same commit admits other runs. */
      const record = (ends: ReadonlyArray<RunEnd>) =>
        Effect.suspend(() => {
          const progress = ends.map(({ run_id }) => progressRecorder.take(run_id))
          for (const { run_id } of ends) ending.add(run_id)
          const admission = select(ends)
          const all = ends.map((end, index) => ({ ...end, ...progress[index] }))
          const committed =
            admission === undefined
              ? runs.end(all)
              : Effect.map(runs.endAndAdmit(all, admission.admission), ({ admitted, ended }) => {
                  admission.settle(admitted)
                  return ended
                })
          const ended = Effect.map(committed, (all) => {
            for (const { late, run, recorded: byUs } of all) {
              if (late !== undefined) RunMetrics.recordReport(late.report, late.team)
              if (run === undefined) continue
              if (byUs) recorded(run)
              else notify(run.run_id, run)
            }
            return all
          })
          return Effect.onExit(ended, (exit) => {
            if (Exit.isFailure(exit)) admission?.settle(undefined)
            for (const { run_id } of ends) ending.delete(run_id)
            if (Exit.isFailure(exit))
              ends.forEach(({ run_id }, index) => progressRecorder.add(run_id, progress[index]!))
            return Effect.void
          })
        })
      const together = yield* GroupCommit.make({
        size: 500,
        weight: { of: sizeOf, limit: 4_000_000 },
        commit: record
      })
      const commit = (ends: ReadonlyArray<Pick<RunEnd, "run_id" | "outcome" | "wantsRun">>) =>
        Effect.suspend(() => {
          const at = DateTime.unsafeMake(clock.unsafeCurrentTimeMillis())
          return together(ends.map((end) => ({ ...end, at })))
        })

      const read = Effect.fnUntraced(function* (ids: ReadonlyArray<RunId>) {
        if (ids.length === 0) return
        const found = yield* runs.ended(ids)
        for (const run of found.runs) notify(run.run_id, run)
        deleted(found.deleted)
      }, Effect.ignoreLogged)

      // Notifications report the ends of other replicas; the poll finds those that a broken connection lost.
      const endedElsewhere = yield* Queue.unbounded<RunId>()
      yield* feed.listen((changes) => {
        for (const change of changes) {
          if (change._tag !== "RunEnded" || ending.has(change.run_id)) continue
          if (watchers.has(change.run_id)) endedElsewhere.unsafeOffer(change.run_id)
        }
      })
      yield* Queue.takeBetween(endedElsewhere, 1, pollSize).pipe(
        Effect.flatMap((ids) => read(Chunk.toReadonlyArray(ids))),
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
        areEndsWaiting: together.isWaiting,
        admitWithEnds: (selectRuns) =>
          Effect.acquireRelease(
            Effect.sync(() => {
              select = selectRuns
            }),
            () =>
              Effect.sync(() => {
                select = () => undefined
              })
          ),
        end: (run_id, outcome) => Effect.map(commit([{ run_id, outcome }]), ([ended]) => ended?.run),
        // A leader may repeat its reply. The run, whose answer may be long, is read again only for a watcher.
        endAll: (ends) => commit(ends.map((end) => ({ ...end, wantsRun: watchers.has(end.run_id) }))),
        release: (ids) => Effect.flatMap(DateTime.now, (at) => runs.release(ids.map((run_id) => ({ run_id, at })))),
        progress: progressRecorder.add,
        recorded,
        deleted
      })
    })
  )
}

/** The length of an end's texts. */
const sizeOf = ({ outcome }: Pick<RunEnd, "outcome">): number => {
  const { response = "", error_message = "" } = outcomeFields(outcome)
  return response.length + error_message.length
}
