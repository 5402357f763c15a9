import { Effect } from "effect"

/** Milliseconds between two looks at the clock. */
const tick = 10

/**
 * Counts milliseconds, but not those in which this process was kept from running: for limits on how long something may
 * take, on a machine that has other work, too.
 */
export class Stopwatch {
  private counted = 0
  private seen = performance.now()
  private readonly timer = setInterval(() => this.look(), tick)

  private look(): void {
    const now = performance.now()
    // A look that comes late: whatever should have ended the wait was kept from it as long.
    this.counted += Math.min(now - this.seen, 2 * tick)
    this.seen = now
  }

  /** The milliseconds since it was made. */
  stop(): number {
    clearInterval(this.timer)
    this.look()
    return this.counted
  }
}

/** What the effect gives, and how long it took by a `Stopwatch`. */
export const timed = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<readonly [took: number, A], E, R> =>
  Effect.suspend(() => {
    const watch = new Stopwatch()
    return effect.pipe(
      Effect.map((value) => [watch.stop(), value] as const),
      Effect.ensuring(Effect.sync(() => watch.stop()))
    )
  })
