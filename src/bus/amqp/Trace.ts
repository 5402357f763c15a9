/** The trace that a message belongs to, carried in its headers: https://www.w3.org/TR/trace-context/ */
import { randomBytes } from "node:crypto"
import { Headers, HttpTraceContext } from "@effect/platform"
import type { Message } from "amqplib"
import { Effect, Option } from "effect"

/** A trace of the message's own, not sampled: for leaders that trace while this server does not. */
const ownTrace = () => `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-00`

/** Headers for a message that is sent now: `traceparent` of the span, if there is a real one. */
export const headers: Effect.Effect<Readonly<Record<string, string>>> = Effect.map(
  Effect.option(Effect.currentSpan),
  (span) => {
    const traced = Option.isSome(span) && /^[0-9a-f]{32}$/.test(span.value.traceId)
    return { traceparent: traced ? (HttpTraceContext.toHeaders(span.value).traceparent as string) : ownTrace() }
  }
)

/** Goes on with the message's trace, if it has one. */
export const within =
  (message: Message) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const traceparent: unknown = message.properties.headers?.traceparent
    if (typeof traceparent !== "string") return effect
    const parent = HttpTraceContext.w3c(Headers.fromInput({ traceparent }))
    return Option.isSome(parent) ? Effect.withParentSpan(effect, parent.value) : effect
  }
