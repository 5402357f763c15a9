import { Array as Arr, Clock, Context, Effect, Latch, Layer, type Scope, Stream } from "effect"
import type { RunId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import { isFinal } from "../../domain/run/RunStatus.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { ProgressStore } from "../../repo/run/ProgressStore.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import { Outcomes } from "../outcome/Outcomes.ts"
import { Shutdown } from "../Shutdown.ts"
import { mark, portionAfter, type RunUpdate } from "./RunUpdate.ts"
import { Follower, type Next, WatchedRun } from "./WatchedRun.ts"

/** Milliseconds between two reads of the progress: as often as it is written. */
const interval = 250
/** The same after something has happened, or for followers that are behind. */
const shortest = 20
/** A run that has not started is read once in so many rounds, as its start is notified. */
const roundsOfQueued = 4
/** Runs in one statement. */
const mostMarks = 500
/** Keeps proxies from closing a connection that looks idle. */
const idle = "15 seconds"
/** Followers that get their updates in one turn of the event loop. */
const inOneTurn = 50
/** The pace for all followers of a run together, in characters per millisecond. More would slow down other runs. */
const pace = 16_000

/** A turn of the event loop, in which other work is done. */
const turn = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** Does this for some followers in each turn of the event loop. */
const inTurns = <A>(all: ReadonlyArray<A>, act: (one: A) => void) =>
  Effect.forEach(
    Arr.chunksOf(all, inOneTurn),
    (some) =>
      Effect.andThen(
        Effect.sync(() => some.forEach(act)),
        turn
      ),
    { discard: true }
  )

/**
 * Follows runs for any number of readers. One loop reads the progress of all followed runs, whichever server wrote it, and
 * only while somebody follows one.
 */
export class RunWatch extends Context.Service<
  RunWatch,
  {
    /**
     * The updates of a run after those that were `received` (`mark`), up to its end. The stream also ends when the run is
     * deleted, at a shutdown, and when the function that `onClosed` gets is called; `onClosed` returns one that
     * unsubscribes. `read` reads the run, and decides whether it may be followed.
     */
    readonly follow: <E, R>(
      id: RunId,
      options: {
        /** Default: nothing. */
        readonly received?: number
        readonly read: Effect.Effect<Run, E, R>
        readonly onClosed?: (close: () => void) => () => void
      }
    ) => Effect.Effect<Stream.Stream<RunUpdate>, E, R | Scope.Scope>
  }
>()("webhook-trigger/RunWatch") {
  static readonly layer: Layer.Layer<RunWatch, never, ChangeFeed | Outcomes | ProgressStore | Shutdown> = Layer.effect(
    RunWatch,
    Effect.gen(function* () {
      const store = yield* ProgressStore
      const outcomes = yield* Outcomes
      const shutdown = yield* Shutdown
      const feed = yield* ChangeFeed
      const clock = yield* Clock.Clock

      const runs = new Map<RunId, WatchedRun>()
      const isNeeded = Latch.makeUnsafe(false)
      const isHinted = Latch.makeUnsafe(false)
      let round = 0

      const hint = (run: WatchedRun): void => {
        run.isHinted = true
        isNeeded.openUnsafe()
        isHinted.openUnsafe()
      }

      const isDue = (run: WatchedRun): boolean => {
        if (run.ending !== undefined) return true
        const isTurn = run.isHinted || run.known.started !== undefined || round % roundsOfQueued === 0
        return isTurn && run.isAwaited && run.pausedUntil <= stopwatch(clock)
      }

      const readSome = (some: ReadonlyArray<WatchedRun>) =>
        Effect.gen(function* () {
          const questions = some.map((run) => run.ask())
          const read = yield* store.newsOf(questions.map(({ position, run }) => ({ run_id: run.id, position })))
          const newsOf = new Map(read.map((news) => [news.run_id, news]))
          const portions = questions.flatMap((question) => {
            const { run } = question
            const given = run.learn(question, newsOf.get(run.id))
            const size = given.reduce((sum, [, portion]) => sum + portion.size, 0)
            run.pausedUntil = stopwatch(clock) + size / pace
            if (given.some(([, { isPart }]) => isPart)) hint(run)
            return given
          })
          yield* inTurns(portions, ([follower, portion]) => follower.give(portion))
        })

      const advance = Effect.suspend(() => {
        round++
        isHinted.closeUnsafe()
        if (![...runs.values()].some(({ isAwaited }) => isAwaited)) isNeeded.closeUnsafe()
        return Effect.forEach(Arr.chunksOf([...runs.values()].filter(isDue), mostMarks), readSome, { discard: true })
      }).pipe(
        // While the database is out of reach, followers wait.
        Effect.catchCause((cause) =>
          Effect.andThen(Effect.logDebug("The progress of runs was not read", cause), Effect.sleep("1 second"))
        )
      )
      yield* isNeeded.await.pipe(
        Effect.andThen(advance),
        Effect.andThen(Effect.sleep(shortest)),
        Effect.andThen(Effect.timeoutOption(isHinted.await, interval - shortest)),
        Effect.forever,
        Effect.forkScoped
      )

      yield* Effect.suspend(() =>
        inTurns(
          [...runs.values()].flatMap(({ waiting }) => waiting),
          (follower) => follower.send([{ _tag: "Idle" }])
        )
      ).pipe(Effect.delay(idle), Effect.forever, Effect.forkScoped)

      yield* feed.listen((changes) => {
        if (runs.size === 0) return
        for (const change of changes) {
          const run = change._tag === "RunStarted" ? runs.get(change.run_id) : undefined
          if (run !== undefined) hint(run)
        }
      })

      /** The run has ended; `undefined`: it was deleted. */
      const end = (run: WatchedRun, ended: Run | undefined): void => {
        if (ended === undefined) for (const follower of run.followers) follower.close()
        else if (isFinal(ended.status) && run.known.ended === undefined) {
          run.ending ??= ended
          hint(run)
        }
      }

      const watch = (id: RunId): WatchedRun => {
        const run = new WatchedRun(id)
        run.stop = outcomes.watch(id, (ended) => end(run, ended))
        runs.set(id, run)
        return run
      }
      const leave = (run: WatchedRun, follower: Follower): void => {
        run.followers.delete(follower)
        if (run.followers.size > 0) return
        runs.delete(run.id)
        run.stop()
      }
      const enter = (id: RunId, received: number) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const run = runs.get(id) ?? watch(id)
            const follower = new Follower(received)
            run.followers.add(follower)
            return { run, follower }
          }),
          ({ follower, run }) => Effect.sync(() => leave(run, follower))
        )

      const next = (run: WatchedRun, follower: Follower): Next =>
        Effect.callback((resume) => {
          follower.wait(resume)
          if (!follower.isWaiting) return
          const portion = portionAfter(follower.received, run.known)
          if (portion.updates.length > 0) follower.give(portion)
          else if (run.isHinted) hint(run)
          else isNeeded.openUnsafe()
        })

      return RunWatch.of({
        follow: (id, { onClosed, read, received = mark.nothing }) =>
          Effect.gen(function* () {
            const { follower, run } = yield* enter(id, received)
            const close = () => follower.close()
            const unsubscribe = [shutdown.onStopWaiting(close), ...(onClosed === undefined ? [] : [onClosed(close)])]
            yield* Effect.addFinalizer(() => Effect.sync(() => unsubscribe.forEach((stop) => stop())))
            const found = yield* read
            if (isFinal(found.status)) end(run, found)
            else if (found.started_at !== undefined) run.start(found.started_at)
            run.isHinted = true
            return Stream.fromIterableEffectRepeat(next(run, follower))
          })
      })
    })
  )
}
