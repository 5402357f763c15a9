/**
 * Around all routes, also a host's: keeps Effect's own request logger and tracer from recording a URL that may contain
 * a token.
 */
import { Effect, type Layer, Option, Tracer } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerRequest } from "effect/http"
import * as HostSpan from "./HostSpan.ts"
import { answerNotFound } from "./Unmatched.ts"

export const layer: Layer.Layer<never, never, HttpRouter.HttpRouter> = HttpRouter.middleware(
  (app) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      Effect.flatMap(Effect.serviceOption(Tracer.ParentSpan), (span) => {
        if (Option.isSome(span)) HostSpan.redact(span.value)
        if (!HostSpan.mayContainToken(request.url)) return app
        // Already here, because a host may log an error that contains the request.
        return HttpMiddleware.withLoggerDisabled(answerNotFound()(app))
      })
    ),
  { global: true }
)
