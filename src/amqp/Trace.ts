/** The trace that a message belongs to, carried in its headers: https://www.w3.org/TR/trace-context/ */
import { Headers, HttpTraceContext } from "@effect/platform"
import type { Message } from "amqplib"
import { Effect, Option } from "effect"

/** Headers for a message that is sent now: `traceparent` when there is a span. */
export const headers: Effect.Effect<Readonly<Record<string, string>>> = Effect.map(
  Effect.option(Effect.currentSpan),
  (span) => (Option.isSome(span) ? { traceparent: HttpTraceContext.toHeaders(span.value).traceparent as string } : {})
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
