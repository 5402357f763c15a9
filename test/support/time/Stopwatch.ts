import { Effect } from "effect"
import { FairShare } from "./FairShare.ts"

/** Milliseconds between two readings of the clock. */
const tick = 10

/**
 * Counts milliseconds, except those in which this process did not run: for time limits that also hold on a busy
 * machine.
 */
export class Stopwatch {
  private counted = 0
  private readonly share: FairShare | undefined
  private readAt = performance.now()
  private readonly timer = setInterval(() => this.read(), tick)

  /**
   * `shared`: counts each millisecond less if more processes want to run, for work of other processes on this machine.
   */
  constructor({ shared = false } = {}) {
    this.share = shared ? new FairShare() : undefined
  }

  private read(): void {
    const now = performance.now()
    // If this reading is late, everything that should have ended the wait was late, too.
    this.counted += Math.min(now - this.readAt, 2 * tick) * (this.share?.now() ?? 1)
    this.readAt = now
  }

  /** The milliseconds counted so far. */
  get elapsed(): number {
    this.read()
    return this.counted
  }

  /** Ends the counting; returns the milliseconds counted. */
  stop(): number {
    clearInterval(this.timer)
    return this.elapsed
  }
}

/** The effect's result, and its duration by a `Stopwatch`. */
export const timed = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<readonly [took: number, A], E, R> =>
  Effect.suspend(() => {
    const watch = new Stopwatch()
    return effect.pipe(
      Effect.map((value) => [watch.stop(), value] as const),
      Effect.ensuring(Effect.sync(() => watch.stop()))
    )
  })
