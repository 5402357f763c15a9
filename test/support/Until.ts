/**
 * The only way in which tests wait: for a condition, never for a time. The condition is checked again and again, first
 * after a millisecond, then less and less often. So a long wait costs little, and its end is noticed within a fortieth
 * of it. If the condition does not hold within the limit, the error names it. The limit does not count time in which
 * this process did not run, nor the share of other work on the machine (see `Stopwatch`), so a busy machine fails no
 * test.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { Effect } from "effect"
import { Stopwatch } from "./time/Stopwatch.ts"

/** In milliseconds: the limit of `until`, and the longest time between two checks of a short wait. */
const defaultLimit = 60_000
const defaultInterval = 25

/** The rule for both versions. `next` resolves when it is time to check again. */
class Waiting {
  private readonly watch = new Stopwatch({ shared: true })
  private readonly begunAt = performance.now()
  private checks = 0
  readonly what: string
  readonly limit: number
  readonly interval: number

  constructor(what: string, limit = defaultLimit, interval = defaultInterval) {
    this.what = what
    this.limit = limit
    this.interval = interval
  }

  async next(): Promise<void> {
    if (this.watch.elapsed > this.limit) {
      const took = Math.round(performance.now() - this.begunAt)
      throw new Error(`not within ${this.limit} ms: ${this.what} (${took} ms by the clock)`)
    }
    const sinceBegun = performance.now() - this.begunAt
    await sleep(Math.min(2 ** this.checks++, Math.max(this.interval, sinceBegun / 40)))
  }

  end(): void {
    this.watch.stop()
  }
}

const holds = <A>(found: A | undefined | false): found is A => found !== undefined && found !== false

/**
 * Waits until `check` returns something other than `undefined` and `false`, and returns it. An error of `check` fails
 * `until`.
 *
 * @param what the condition, in words that complete "not within 60000 ms: …"
 * @param limit milliseconds
 * @param interval maximum milliseconds between two checks, of a short wait
 */
export const until = async <A>(
  what: string,
  check: () => A | undefined | false | Promise<A | undefined | false>,
  limit?: number,
  interval?: number
): Promise<A> => {
  const waiting = new Waiting(what, limit, interval)
  try {
    for (;;) {
      const found = await check()
      if (holds(found)) return found
      await waiting.next()
    }
  } finally {
    waiting.end()
  }
}

/** `until` for effects. Waits in real time, even under a `TestClock`, and dies when the limit has passed. */
export const untilEffect = <A, E, R>(
  what: string,
  check: Effect.Effect<A | undefined | false, E, R>,
  limit?: number,
  interval?: number
): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => new Waiting(what, limit, interval)),
    (waiting) => {
      const loop: Effect.Effect<A, E, R> = Effect.flatMap(check, (found) =>
        holds(found)
          ? Effect.succeed(found)
          : Effect.andThen(
              Effect.promise(() => waiting.next()),
              loop
            )
      )
      return loop
    },
    (waiting) => Effect.sync(() => waiting.end())
  )

/**
 * Executes the effect until its value fulfils the condition, and returns that value. Waits as `untilEffect` does, so
 * that polling costs the tests beside this one little.
 *
 * @param limit milliseconds
 */
export const repeatUntil = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  fulfils: (value: A) => boolean,
  limit?: number
): Effect.Effect<A, E, R> =>
  Effect.map(
    untilEffect(
      String(fulfils),
      Effect.map(effect, (value) => fulfils(value) && { value }),
      limit
    ),
    ({ value }) => value
  )

/** The promise's value. Fails if it takes longer than `limit` milliseconds. */
export const within = async <A>(limit: number, what: string, promise: Promise<A>): Promise<A> => {
  let settled = false
  const value = promise.finally(() => {
    settled = true
  })
  await Promise.race([value, until(what, () => settled, limit)])
  return value
}
