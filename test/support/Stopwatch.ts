import { Effect } from "effect"
import { FairShare } from "./FairShare.ts"

/** Milliseconds between two readings of the clock. */
const tick = 10

/**
 * Counts milliseconds, but not those in which this process did not run: for limits on how long something may take that
 * hold on a busy machine, too.
 */
export class Stopwatch {
  private counted = 0
  private readonly share: FairShare | undefined
  private readAt = performance.now()
  private readonly timer = setInterval(() => this.read(), tick)

  /** `shared`: counts less of each millisecond the more processes want to run, as for work that others do, on this machine. */
  constructor({ shared = false } = {}) {
    this.share = shared ? new FairShare() : undefined
  }

  private read(): void {
    const now = performance.now()
    // When this reading is late, so was whatever should have ended the wait.
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

/** What the effect gives, and how long it took by a `Stopwatch`. */
export const timed = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<readonly [took: number, A], E, R> =>
  Effect.suspend(() => {
    const watch = new Stopwatch()
    return effect.pipe(
      Effect.map((value) => [watch.stop(), value] as const),
      Effect.ensuring(Effect.sync(() => watch.stop()))
    )
  })
