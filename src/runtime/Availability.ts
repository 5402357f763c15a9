import { type Duration, Effect, Schedule } from "effect"
import type { Unavailable } from "../domain/Errors.ts"

const backoff = (longest: Duration.DurationInput) =>
  Schedule.exponential("50 millis").pipe(Schedule.union(Schedule.spaced(longest)), Schedule.jittered)

/**
 * Tries again while database or broker are out of reach, forever; other failures pass. The schedule is set up by the first
 * failure: setting it up earlier would cost more than the rest of a run's path. `longest`: the longest pause between two
 * attempts.
 */
export const untilAvailable = <A, E extends { readonly _tag: string }, R>(
  effect: Effect.Effect<A, E, R>,
  longest: Duration.DurationInput = "1 second"
): Effect.Effect<A, Exclude<E, Unavailable>, R> => {
  const isPassing = (error: E) => error._tag === "Unavailable"
  const again = Effect.retry(Effect.delay(effect, "50 millis"), Schedule.whileInput(backoff(longest), isPassing))
  return Effect.catchIf(effect, isPassing, () => again) as Effect.Effect<A, Exclude<E, Unavailable>, R>
}
