/** Trace context in message headers: https://www.w3.org/TR/trace-context/ */
import type { Message } from "amqplib"
import type { Fiber, Tracer } from "effect"
import { randomBytes } from "../../domain/Random.ts"
import * as TraceContext from "../../telemetry/TraceContext.ts"

/** A new, unsampled trace, for leaders that trace while this server does not. */
const ownTrace = () => {
  const ids = Buffer.from(randomBytes(24)).toString("hex")
  return `00-${ids.slice(0, 32)}-${ids.slice(32)}-00`
}

/** Headers for a message. Uses the fiber's span, unless the message belongs to another trace. */
export const headersIn = (
  fiber: Fiber.Fiber<any, any>,
  traceparent: string | undefined
): Readonly<Record<string, string>> => {
  const current = TraceContext.ofFiber(fiber)
  const isOwn = traceparent === undefined || current?.slice(0, 35) === traceparent.slice(0, 35)
  return { traceparent: (isOwn ? current : traceparent) ?? ownTrace() }
}

/** The span in which the message was sent, if known. */
export const spanOf = (message: Message): Tracer.ExternalSpan | undefined =>
  TraceContext.parse(message.properties.headers?.traceparent)
