/** The trace that a message belongs to, carried in its headers: https://www.w3.org/TR/trace-context/ */
import { randomBytes } from "node:crypto"
import { Headers, HttpTraceContext } from "@effect/platform"
import type { Message } from "amqplib"
import { Context, type Fiber, Option, Tracer } from "effect"

/** A trace of the message's own, not sampled: for leaders that trace while this server does not. */
const ownTrace = () => `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-00`

/** Headers for a message that is sent by this fiber now: `traceparent` of its span, if there is a real one. */
export const headersIn = (fiber: Fiber.RuntimeFiber<any, any>): Readonly<Record<string, string>> => {
  const span = Context.getOption(fiber.currentContext, Tracer.ParentSpan)
  const isTraced = Option.isSome(span) && /^[0-9a-f]{32}$/.test(span.value.traceId)
  return {
    traceparent: isTraced ? (HttpTraceContext.toHeaders(span.value as Tracer.Span).traceparent as string) : ownTrace()
  }
}

/** The span in which the message was sent, if it names one. */
export const spanOf = (message: Message): Tracer.ExternalSpan | undefined => {
  const traceparent: unknown = message.properties.headers?.traceparent
  if (typeof traceparent !== "string") return undefined
  return Option.getOrUndefined(HttpTraceContext.w3c(Headers.fromInput({ traceparent })))
}
