import { Effect, FiberRef, type Tracer } from "effect"

/**
 * A span around the effect where somebody traces. For the path of every trigger: a span that nobody collects still
 * costs as much as all of `Trigger.submit` does without one.
 */
export const traced =
  (name: string, options: Tracer.SpanOptions = {}) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(FiberRef.get(FiberRef.currentTracerEnabled), (enabled) =>
      enabled ? Effect.withSpan(effect, name, { captureStackTrace: false, ...options }) : effect
    )
