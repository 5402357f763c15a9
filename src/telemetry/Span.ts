import { Effect, FiberRef, type Tracer } from "effect"

/**
 * A span around the effect when a tracer collects them. For the path of every trigger: a span that is not collected still
 * costs as much as accepting a run does without one.
 */
export const whenTraced =
  (name: string, options: Tracer.SpanOptions = {}) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiberRuntime((fiber) =>
      fiber.getFiberRef(FiberRef.currentTracerEnabled)
        ? Effect.withSpan(effect, name, { captureStackTrace: false, ...options })
        : effect
    )
