import { Effect } from "effect"

/**
 * Sleeps for so many milliseconds of the wall clock. It ignores Effect's clock, which tests may stop.
 */
export const pause = (millis: number): Effect.Effect<void> =>
  Effect.async((resume) => {
    const timer = setTimeout(() => resume(Effect.void), millis)
    return Effect.sync(() => clearTimeout(timer))
  })
