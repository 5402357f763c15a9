import { Effect } from "effect"

/** Sleeps on the wall clock, and ignores Effect's clock, which tests may stop. */
export const pause = (millis: number): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const timer = setTimeout(() => resume(Effect.void), millis)
    return Effect.sync(() => clearTimeout(timer))
  })
