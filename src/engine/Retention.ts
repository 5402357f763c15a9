import { Clock, Duration, Effect, Layer, Option, Schedule } from "effect"
import { Repo } from "../repo/Repo.ts"

/**
 * Removes ended runs once they are older than `retention`; without one, none. Every replica may do it: what one has
 * removed the next does not find.
 */
export const layer = (retention: Option.Option<Duration.Duration>): Layer.Layer<never, never, Repo> =>
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

const purge = (age: Duration.Duration) =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const removed = yield* Effect.flatMap(Repo, (repo) => repo.purge(new Date(now - Duration.toMillis(age))))
    if (removed > 0) yield* Effect.logInfo("Removed runs past their retention").pipe(Effect.annotateLogs({ removed }))
  }).pipe(
    // The next round removes what this one could not.
    Effect.ignoreLogged
  )
