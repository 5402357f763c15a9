import { Effect, Fiber } from "effect"

/**
 * Runs the effect in a fiber of its own, where timeouts and races end what they should: in a finalizer, or wherever else
 * the caller cannot be interrupted, they would wait for the loser. The effect must be bounded by itself.
 */
export const detached = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Effect.forkDaemon(Effect.interruptible(effect)), Fiber.join)
