/**
 * Around all routes, also a host's: keeps Effect's own request logger and tracer from recording a URL that may contain
 * a token.
 */
import { Effect, Layer, Option, Tracer } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerRequest } from "effect/http"
import { FiberRef } from "effect"
import * as RequestLog from "./RequestLog.ts"
import { answerNotFound } from "./Unmatched.ts"

type Router = HttpRouter.HttpRouter

/** In whatever spelling the router accepts: it decodes the URL, and ignores case and repeated slashes. */
const mayContainToken = (url: string): boolean => {
  let decoded = url
  try {
    decoded = decodeURIComponent(url)
  } catch {
    // A path that cannot be decoded is checked as it is.
  }
  return /whk_|webhook\/+trigger/i.test(decoded)
}

const redacted = "<may contain a token>"

/**
 * Removes possible tokens from the span that a host's tracer has already opened for the request: its URL, or a header
 * such as `Referer`.
 */
const redactSpan = (span: Tracer.AnySpan): void => {
  if (span._tag !== "Span") return
  for (const [name, value] of span.attributes) {
    if (typeof value === "string" && mayContainToken(value)) span.attribute(name, redacted)
  }
}

const redactRequests = HttpRouter.middleware(
  (app) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      Effect.flatMap(Effect.serviceOption(Tracer.ParentSpan), (span) => {
        if (Option.isSome(span)) redactSpan(span.value)
        if (!mayContainToken(request.url)) return app
        // Already here, because a host may log an error that contains the request.
        return RequestLog.silenceEffectLogger(answerNotFound()(app))
      })
    ),
  { global: true }
)

/** Applies to the host's server, like a logger's layer; elsewhere `redactSpan` does it. */
const disableTracer = Layer.effectDiscard(
  Effect.flatMap(FiberRef.get(HttpMiddleware.currentTracerDisabledWhen), (disabled) =>
    Effect.locallyScoped(
      HttpMiddleware.currentTracerDisabledWhen,
      (request) => mayContainToken(request.url) || disabled(request)
    )
  )
)

export const layer: Layer.Layer<never, never, Router> = Layer.mergeAll(redactRequests, disableTracer)
