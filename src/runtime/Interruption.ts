import { FiberRef } from "effect"
import { Effect, identity } from "effect"

/**
 * For work that is repeated in its own scope until it is interrupted. Effect 3 forgets an interruption that comes while
 * a scope's second or later finalizer runs: after each, it restores the fiber's references, and the interruption is one
 * of them. It does not restore those that were set at the beginning.
 */
export const rememberingInterruption = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.andThen(FiberRef.update(FiberRef.interruptedCause, identity), effect)
