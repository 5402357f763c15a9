import { Effect } from "effect"

/**
 * Waits for so many milliseconds, in the process's own time: for what nothing is promised of, and which a test that stops
 * Effect's clock is not to stop.
 */
export const pause = (millis: number): Effect.Effect<void> =>
  Effect.async((resume) => {
    const timer = setTimeout(() => resume(Effect.void), millis)
    return Effect.sync(() => clearTimeout(timer))
  })
