import { Effect, FiberRef, identity } from "effect"

/**
 * For work that is repeated in a scope of its own until it is interrupted. Effect 3 forgets an interruption that comes while the
 * second finalizer of a scope runs, or a later one: after each it puts the fiber's references back as they were, and the
 * interruption is one of them. It does not touch those that have had a value of their own from the beginning.
 */
export const rememberingInterruption = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.zipRight(FiberRef.update(FiberRef.interruptedCause, identity), effect)
