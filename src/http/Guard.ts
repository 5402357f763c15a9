/**
 * Around all routes, a host's too: a URL that may hold a token is not written down by Effect's own logger and tracer,
 * and what no route takes is answered as a problem.
 */
import { HttpLayerRouter, HttpMiddleware, HttpServerRequest } from "@effect/platform"
import { Effect, FiberRef, Layer, Option, Tracer } from "effect"
import { isRouteNotFound, observe, unlogged } from "./Access.ts"

type Router = HttpLayerRouter.HttpRouter

/** Whether there may be a token in it, however it is written: the router decodes, and minds neither case nor slashes. */
export const mayHoldToken = (url: string): boolean => {
  let decoded = url
  try {
    decoded = decodeURIComponent(url)
  } catch {
    // What cannot be decoded is looked at as it stands.
  }
  return /whk_|webhook\/+trigger/i.test(decoded)
}

const hidden = "<may hold a token>"

/** Takes the URL back out of the span that a host's tracer has opened for the request. */
const scrub = (span: Tracer.AnySpan, request: HttpServerRequest.HttpServerRequest): void => {
  if (span._tag !== "Span") return
  for (const name of ["url.full", "url.path", "url.query"]) {
    if (span.attributes.has(name)) span.attribute(name, hidden)
  }
  for (const [name, value] of Object.entries(request.headers)) {
    if (mayHoldToken(String(value))) span.attribute(`http.request.header.${name}`, hidden)
  }
}

/** What is not found, whatever the reason: an unknown path, one that cannot be decoded, or a part that is too long. */
const answerUnrouted = <E, R>(app: Effect.Effect<Response, E, R>) =>
  Effect.catchAll(app, (error) =>
    isRouteNotFound(error) ? observe("(no route)", Effect.fail(error)) : Effect.fail(error)
  )

type Response = Effect.Effect.Success<ReturnType<typeof observe>>

const quiet = HttpLayerRouter.middleware(
  (app) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      if (!mayHoldToken(request.url)) return app
      return Effect.gen(function* () {
        yield* unlogged
        const span = yield* Effect.serviceOption(Tracer.ParentSpan)
        if (Option.isSome(span)) scrub(span.value, request)
        return yield* answerUnrouted(app)
      })
    }),
  { global: true }
)

/** Reaches the server that these routes are built into, as a logger's layer would; where it does not, `scrub` undoes. */
const untraced = Layer.scopedDiscard(
  Effect.flatMap(FiberRef.get(HttpMiddleware.currentTracerDisabledWhen), (disabled) =>
    Effect.locallyScoped(
      HttpMiddleware.currentTracerDisabledWhen,
      (request) => mayHoldToken(request.url) || disabled(request)
    )
  )
)

export const layer: Layer.Layer<never, never, Router> = Layer.mergeAll(quiet, untraced)

/** For a server of its own; a host has its own words for what it does not know. */
export const notFound: Layer.Layer<never, never, Router> = HttpLayerRouter.middleware(answerUnrouted, { global: true })
