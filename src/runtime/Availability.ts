import { type Duration, Effect, Schedule } from "effect"
import { Unavailable } from "../domain/Errors.ts"

const firstPause = "50 millis"

const backoff = (longest: Duration.Input) =>
  Schedule.jittered(Schedule.min([Schedule.exponential(firstPause), Schedule.spaced(longest)]))

interface Options {
  /** The longest pause between two attempts. Default: a second. */
  readonly longest?: Duration.Input
  /** The subject of a warning that logs the first failure; absent: no warning. */
  readonly subject?: string
}

/**
 * Retries without limit while a service is unreachable; other failures pass. The first failure sets up the schedule:
 * earlier, that would cost more than the rest of a run's path.
 */
export const untilAvailable = <A, E extends { readonly _tag: string }, R>(
  effect: Effect.Effect<A, E, R>,
  { longest = "1 second", subject }: Options = {}
): Effect.Effect<A, Exclude<E, Unavailable>, R> => {
  const isPassing = (error: E) => error._tag === "Unavailable"
  const again = Effect.retry(Effect.delay(effect, firstPause), { schedule: backoff(longest), while: isPassing })
  const warn = (error: E) =>
    subject === undefined || !(error instanceof Unavailable)
      ? Effect.void
      : Effect.logWarning(`${subject}: ${error.detail}; trying again until it works`)
  return Effect.catchIf(effect, isPassing, (error) => Effect.andThen(warn(error), again)) as Effect.Effect<
    A,
    Exclude<E, Unavailable>,
    R
  >
}
