import { DateTime, Duration, Effect, Layer, Option, Schedule } from "effect"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"

/** Removes runs that ended longer ago than `retention`; without one, none. Every replica may do it. */
export const layer = (retention: Option.Option<Duration.Duration>): Layer.Layer<never, never, HistoryStore> =>
  Option.match(retention, {
    onNone: () => Layer.empty,
    onSome: (age) => {
      const pause = Duration.clamp(Duration.times(age, 0.1), {
        minimum: Duration.seconds(1),
        maximum: Duration.hours(1)
      })
      return Layer.scopedDiscard(Effect.forkScoped(Effect.repeat(purge(age), Schedule.spaced(pause))))
    }
  })

const shortestRest = Duration.millis(50)

/** The database rests after each portion, in proportion to its duration, so that triggers are not delayed. */
const restAfter = (took: Duration.Duration) => Duration.max(shortestRest, Duration.times(took, 12))

const purge = (age: Duration.Duration) =>
  Effect.gen(function* () {
    const history = yield* HistoryStore
    const before = DateTime.subtractDuration(yield* DateTime.now, age)
    let total = 0
    for (;;) {
      const [took, removed] = yield* Effect.timed(history.purge(before))
      if (removed === 0) break
      total += removed
      yield* Effect.sleep(restAfter(took))
    }
    if (total > 0) {
      yield* Effect.logInfo("Removed runs past their retention").pipe(Effect.annotateLogs({ removed: total }))
    }
  }).pipe(
    // The next round removes what this one could not.
    Effect.ignoreLogged
  )
