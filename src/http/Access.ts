/**
 * What the server says of its requests, by the route's pattern and never by the URL, in which a trigger has its token:
 * a log line, a span and metrics for each.
 */
import {
  HttpApiError,
  HttpLayerRouter,
  HttpMiddleware,
  HttpServerError,
  HttpServerRequest,
  HttpServerResponse,
  HttpTraceContext
} from "@effect/platform"
import { Cause, Clock, Effect, FiberRef, Metric, MetricBoundaries, Option, Tracer } from "effect"
import { InvalidParameter } from "../domain/Errors.ts"
import type { RunId } from "../domain/Id.ts"
import { labels } from "../engine/Labels.ts"
import { traced } from "../engine/Traced.ts"
import { linger } from "./Body.ts"
import * as Problems from "./Problems.ts"

type Response = HttpServerResponse.HttpServerResponse

const runs = new WeakMap<HttpServerRequest.HttpServerRequest, RunId>()

/** The request is about this run: said in its log line and its span. */
export const about = (run_id: RunId): Effect.Effect<void, never, HttpServerRequest.HttpServerRequest> =>
  Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
    runs.set(request, run_id)
  })

const requests = Metric.counter("http_server_requests_total", {
  description: "Requests answered, by route and status.",
  incremental: true
})
const durations = Metric.histogram(
  "http_server_request_duration_seconds",
  MetricBoundaries.fromIterable([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]),
  "From a request's arrival to its answer, waiting included."
)

const count = (method: string, route: string, status: number, seconds: number): void => {
  requests.unsafeUpdate(1, labels({ method, route, status: String(status) }))
  durations.unsafeUpdate(seconds, labels({ method, route }))
}

/** What a route fails with, as a response. A defect's cause is for the log only. */
const answer = (cause: Cause.Cause<unknown>): Effect.Effect<Response> => {
  const error = Cause.squash(cause)
  if (HttpServerResponse.isServerResponse(error)) return Effect.succeed(error)
  if (Problems.isRefusal(error)) return Effect.succeed(Problems.respond(error))
  if (error instanceof HttpApiError.HttpApiDecodeError) return Effect.succeed(Problems.respond(parameterOf(error)))
  if (isRouteNotFound(error)) return Effect.succeed(Problems.notFound)
  return Effect.as(Effect.logError("A request met a mistake of the server", cause), Problems.internalError)
}

/** Effect decodes no bodies here: what it cannot decode is in the query. */
const parameterOf = ({ issues: [issue] }: HttpApiError.HttpApiDecodeError): InvalidParameter =>
  new InvalidParameter({ name: issue?.path.map(String).join(".") ?? "", detail: `is wrong: ${issue?.message}` })

export const isRouteNotFound = (error: unknown): boolean =>
  HttpServerError.isServerError(error) && error._tag === "RouteNotFound"

/** Effect's own log line about the request is not wanted: it holds the URL. Each change of a fiber's state has a price. */
export const unlogged: Effect.Effect<void> = Effect.flatMap(FiberRef.get(HttpMiddleware.loggerDisabled), (disabled) =>
  disabled ? Effect.void : FiberRef.set(HttpMiddleware.loggerDisabled, true)
)

/** Runs a handler under its route's pattern: answers whatever it fails with, and tells of it. */
export const observe = <E, R>(
  route: string,
  handler: Effect.Effect<Response, E, R>
): Effect.Effect<Response, never, R | HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { method } = request
    const name = `${method} ${route}`
    const started = yield* Clock.currentTimeMillis
    yield* unlogged

    const tell = (status: number) =>
      Effect.gen(function* () {
        const run_id = runs.get(request)
        const duration_ms = (yield* Clock.currentTimeMillis) - started
        yield* Effect.annotateCurrentSpan({
          "http.request.method": method,
          "http.route": route,
          "http.response.status_code": status,
          ...(run_id !== undefined && { "run.id": run_id })
        })
        count(method, route, status, duration_ms / 1000)
        yield* Effect.logInfo(name).pipe(
          Effect.annotateLogs({ status, duration_ms, ...(run_id !== undefined && { run_id }) }),
          Effect.whenLogLevel("Info")
        )
      })

    const above = yield* Effect.serviceOption(Tracer.ParentSpan)
    const parent = Option.orElse(above, () => HttpTraceContext.fromHeaders(request.headers))
    // Only the handler can be interrupted: a caller that goes away is told of too, as status 499.
    return yield* Effect.uninterruptibleMask((restore) =>
      restore(handler).pipe(
        Effect.catchAllCause((cause) =>
          Cause.isInterruptedOnly(cause)
            ? Effect.zipRight(tell(499), Effect.failCause(cause as Cause.Cause<never>))
            : answer(cause)
        ),
        Effect.tap(({ status }) => tell(status)),
        Effect.map((response) => {
          const complete = HttpServerResponse.setHeaders(response, Problems.headersOf(response.status))
          return response.status === 413 ? linger(request, complete) : complete
        }),
        traced(name, { kind: "server", parent: Option.getOrUndefined(parent) })
      )
    )
  })

/** Makes the routes it is provided to speak of themselves, and answer all their failures as problems. */
export const layer = HttpLayerRouter.middleware((handler) =>
  Effect.flatMap(
    HttpLayerRouter.RouteContext,
    ({ route }): Effect.Effect<Response, HttpLayerRouter.unhandled, HttpServerRequest.HttpServerRequest> =>
      observe(route.path, handler)
  )
).layer
