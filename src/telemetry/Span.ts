import { Effect, FiberRef, type Tracer } from "effect"

/**
 * A span around the effect when a tracer collects them. For the path of every trigger: a span that is not collected still
 * costs as much as accepting a run does without one. `options` are made only when there is one.
 */
export const whenTraced =
  (name: string, options: Tracer.SpanOptions | (() => Tracer.SpanOptions) = {}) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiberRuntime((fiber) => {
      if (!fiber.getFiberRef(FiberRef.currentTracerEnabled)) return effect
      const given = typeof options === "function" ? options() : options
      return Effect.withSpan(effect, name, { captureStackTrace: false, ...given })
    })
