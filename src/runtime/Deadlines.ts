import { Clock, Effect, FiberSet, type Scope } from "effect"
import TinyQueue from "tinyqueue"
import { stopwatch } from "./Stopwatch.ts"

/** Calls back at points in time, even if the system clock is changed in between. */
interface Deadlines {
  /** Calls `onPassed` at that time, in milliseconds since the epoch, unless the returned function was called before. */
  readonly at: (millis: number, onPassed: () => void) => () => void
}

/**
 * Thousands of callers wait at a time, each with a deadline. A heap of the distinct moments, and a fiber that sleeps
 * until the earliest one, cost a tenth of a fiber each.
 */
export const make: Effect.Effect<Deadlines, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const fork = yield* FiberSet.makeRuntime<never>()
  /** In the stopwatch's time. */
  const moments = new TinyQueue<number>()
  const callbacks = new Map<number, Set<() => void>>()
  /** The earliest moment that a fiber sleeps until. */
  let wakeAt = Number.POSITIVE_INFINITY

  const sleepUntilEarliest = () => {
    const earliest = moments.peek()
    if (earliest === undefined || earliest >= wakeAt) return
    wakeAt = earliest
    fork(Effect.delay(Effect.sync(pass), Math.max(0, earliest - stopwatch(clock))))
  }

  const pass = () => {
    const now = stopwatch(clock)
    wakeAt = Number.POSITIVE_INFINITY
    for (let moment = moments.peek(); moment !== undefined && moment <= now; moment = moments.peek()) {
      moments.pop()
      const passed = callbacks.get(moment)
      callbacks.delete(moment)
      for (const onPassed of passed ?? []) onPassed()
    }
    sleepUntilEarliest()
  }

  return {
    at: (millis, onPassed) => {
      const left = Math.max(0, millis - clock.currentTimeMillisUnsafe())
      // Whole milliseconds, so that many deadlines coincide.
      const moment = Math.ceil(stopwatch(clock) + left)
      let together = callbacks.get(moment)
      if (together === undefined) {
        together = new Set()
        callbacks.set(moment, together)
        moments.push(moment)
      }
      together.add(onPassed)
      sleepUntilEarliest()
      return () => {
        together.delete(onPassed)
        // Most callers have their answer long before. Until then, only the number of a moment's callers is left.
        if (together.size === 0 && callbacks.get(moment) === together) callbacks.delete(moment)
      }
    }
  }
})
