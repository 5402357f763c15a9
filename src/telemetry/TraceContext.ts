/** The `traceparent` of requests and messages: https://www.w3.org/TR/trace-context/ */
import { Context, type Fiber, Option, Tracer } from "effect"

const format = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:-|$)/

/** `undefined` if it is invalid. */
export const parse = (traceparent: unknown): Tracer.ExternalSpan | undefined => {
  const found = typeof traceparent === "string" ? format.exec(traceparent) : null
  if (found === null) return undefined
  const [, traceId, spanId, flags] = found as unknown as readonly [string, string, string, string]
  return Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 })
}

const of = ({ sampled, spanId, traceId }: Tracer.AnySpan): string => `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`

/** The fiber's `traceparent`, if it is in a real span. */
export const ofFiber = (fiber: Fiber.Fiber<any, any>): string | undefined => {
  const span = Context.getOption(fiber.context, Tracer.ParentSpan)
  return Option.isSome(span) && /^[\da-f]{32}$/.test(span.value.traceId) ? of(span.value) : undefined
}
