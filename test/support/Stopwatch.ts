import { Effect } from "effect"

/** Milliseconds between two looks at the clock. */
const tick = 10

/**
 * What the effect gives, and how many milliseconds it took, not counting the time in which this process was kept from
 * running: for limits on what waits in this process, on a machine that has other work.
 */
export const timed = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<readonly [took: number, A], E, R> =>
  Effect.suspend(() => {
    let took = 0
    let seen = performance.now()
    const look = () => {
      const now = performance.now()
      // Timers that should have ended the wait were as late as this look.
      took += Math.min(now - seen, 2 * tick)
      seen = now
      return took
    }
    const timer = setInterval(look, tick)
    return effect.pipe(
      Effect.map((value) => [look(), value] as const),
      Effect.ensuring(Effect.sync(() => clearInterval(timer)))
    )
  })
