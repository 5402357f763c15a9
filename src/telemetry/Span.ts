import { Effect, References, type Tracer } from "effect"

/**
 * Adds a span only if tracing is on. Without tracing, an unused span would double the cost of accepting a run. `options`
 * are evaluated only if needed.
 */
export const whenTraced =
  (name: string, options: Tracer.SpanOptions | (() => Tracer.SpanOptions) = {}) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber((fiber) => {
      if (!fiber.getRef(References.TracerEnabled)) return effect
      const given = typeof options === "function" ? options() : options
      return Effect.withSpan(effect, name, { captureStackTrace: false, ...given })
    })
