import { Array, Clock, Context, Deferred, Effect, FiberId, Layer, Metric, Option, Schedule, type Scope } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import type { RunId } from "../domain/Id.ts"
import type { Outcome, Run } from "../domain/Run.ts"
import { onChanges, Repo } from "../repo/Repo.ts"
import { acquireReleaseSync } from "./Acquire.ts"
import { labels } from "./Labels.ts"

/** The run as it ended; none when it was deleted. */
export type Ended = Option.Option<Run>

/** How often the rows are asked about runs that somebody here waits for, and about how many of them: in turn. */
const pollInterval = "1 second"
const pollSize = 1_000

const endedRuns = Metric.counter("webhook_runs_ended_total", {
  description: "Runs whose end this server recorded, by status.",
  incremental: true
})

/** Wakes whoever waits for the end of a run, whichever replica recorded it. */
export class Outcomes extends Context.Tag("webhook-trigger/Outcomes")<
  Outcomes,
  {
    /**
     * Starts to watch the run, until the scope closes; the effect inside waits for its end. Watch first, then accept or
     * read the row, then wait: so no end falls between, and no row is missed before it is there. What is given as `end`
     * may be settled by others too, a deadline for example, and then the waiting is over.
     */
    readonly watch: <E = never>(
      id: RunId,
      end?: Deferred.Deferred<Ended, E>
    ) => Effect.Effect<Effect.Effect<Ended, E>, never, Scope.Scope>
    /** Makes this the run's end, unless another came first; returns the run as it ended, none if it is not there. */
    readonly end: (id: RunId, outcome: Outcome) => Effect.Effect<Ended, Unavailable>
    /** This process has recorded the run's end. */
    readonly recorded: (run: Run) => Effect.Effect<void>
    readonly announceGone: (ids: ReadonlyArray<RunId>) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<Outcomes, never, Repo> = Layer.scoped(
    Outcomes,
    Effect.gen(function* () {
      const repo = yield* Repo
      const watched = new Map<RunId, { readonly watchers: Set<(ended: Ended) => void>; waitedFor: boolean }>()

      const settle = (id: RunId, ended: Ended) =>
        Effect.sync(() => {
          for (const tell of watched.get(id)?.watchers ?? []) tell(ended)
        })
      const announce = (run: Run) => settle(run.run_id, Option.some(run))
      const announceGone = (ids: ReadonlyArray<RunId>) =>
        Effect.forEach(ids, (id) => settle(id, Option.none()), { discard: true })

      const recorded = (run: Run) =>
        Effect.suspend(() => {
          endedRuns.unsafeUpdate(1, labels({ status: run.status }))
          return announce(run)
        })
      const end = Effect.fnUntraced(function* (id: RunId, outcome: Outcome) {
        const ending = yield* repo.end(id, outcome, new Date(yield* Clock.currentTimeMillis))
        if (Option.isSome(ending.run)) yield* (ending.recorded ? recorded : announce)(ending.run.value)
        return ending.run
      })

      const read = Effect.fnUntraced(function* (ids: ReadonlyArray<RunId>) {
        if (ids.length === 0) return
        const { runs, gone } = yield* repo.ended(ids)
        yield* Effect.forEach(runs, announce, { discard: true })
        yield* announceGone(gone)
      }, Effect.ignoreLogged)

      // Another replica's word arrives at once, as a rule; the poll finds what a broken connection swallowed.
      yield* onChanges(yield* repo.changes, (changes) => {
        const ids = changes.flatMap((change) => (change._tag === "RunEnded" ? [change.run_id] : []))
        return read(ids.filter((id) => watched.has(id)))
      }).pipe(Effect.forkScoped)
      let turn = 0
      const nextInTurn = () => {
        const ids = Array.filterMap([...watched], ([id, entry]) => Option.liftPredicate(id, () => entry.waitedFor))
        const start = turn < ids.length ? turn : 0
        turn = start + pollSize
        return ids.slice(start, turn)
      }
      yield* Effect.suspend(() => read(nextInTurn())).pipe(
        Effect.repeat(Schedule.spaced(pollInterval)),
        Effect.forkScoped
      )

      const watch = <E = never>(
        id: RunId,
        end: Deferred.Deferred<Ended, E> = Deferred.unsafeMake<Ended, E>(FiberId.none)
      ) => {
        const tell = (ended: Ended) => Deferred.unsafeDone(end, Effect.succeed(ended))
        return acquireReleaseSync(
          () => {
            const entry = watched.get(id) ?? { watchers: new Set(), waitedFor: false }
            entry.watchers.add(tell)
            watched.set(id, entry)
            return Effect.suspend(() => {
              entry.waitedFor = true
              return Deferred.await(end)
            })
          },
          () => {
            const watchers = watched.get(id)?.watchers
            watchers?.delete(tell)
            if (watchers?.size === 0) watched.delete(id)
          }
        )
      }

      return Outcomes.of({ watch, end, recorded, announceGone })
    })
  )
}
