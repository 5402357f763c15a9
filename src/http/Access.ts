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
import { Cause, Clock, Effect, FiberRef, Metric, MetricBoundaries, MetricLabel, Option, Tracer } from "effect"
import { InvalidParameter } from "../domain/Errors.ts"
import type { RunId } from "../domain/Id.ts"
import { linger } from "./Body.ts"
import * as Problems from "./Problems.ts"

type Response = HttpServerResponse.HttpServerResponse

const currentRun = FiberRef.unsafeMake<RunId | undefined>(undefined)

/** The request is about this run: said in its log line and its span. */
export const about = (run_id: RunId): Effect.Effect<void> => FiberRef.set(currentRun, run_id)

const requests = Metric.counter("http_server_requests_total", {
  description: "Requests answered, by route and status.",
  incremental: true
})
const durations = Metric.histogram(
  "http_server_request_duration_seconds",
  MetricBoundaries.fromIterable([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]),
  "From a request's arrival to its answer, waiting included."
)

const count = (method: string, route: string, status: number, seconds: number): Effect.Effect<void> => {
  const labels = [MetricLabel.make("method", method), MetricLabel.make("route", route)]
  const byStatus = [...labels, MetricLabel.make("status", String(status))]
  return Effect.zipRight(
    Metric.update(Metric.taggedWithLabels(requests, byStatus), 1),
    Metric.update(Metric.taggedWithLabels(durations, labels), seconds)
  )
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

/** Runs a handler under its route's pattern: answers whatever it fails with, and tells of it. */
export const observe = <E, R>(
  route: string,
  handler: Effect.Effect<Response, E, R>
): Effect.Effect<Response, never, R | HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    yield* FiberRef.set(HttpMiddleware.loggerDisabled, true)
    const { method } = request
    const started = yield* Clock.currentTimeMillis

    const tell = (status: number, span: Tracer.Span) =>
      Effect.gen(function* () {
        const run_id = yield* FiberRef.get(currentRun)
        const millis = (yield* Clock.currentTimeMillis) - started
        span.attribute("http.request.method", method)
        span.attribute("http.route", route)
        span.attribute("http.response.status_code", status)
        if (run_id !== undefined) span.attribute("run.id", run_id)
        yield* count(method, route, status, millis / 1000)
        yield* Effect.annotateLogs(Effect.logInfo(`${method} ${route}`), {
          status,
          duration_ms: millis,
          ...(run_id !== undefined && { run_id })
        })
      })

    const above = yield* Effect.serviceOption(Tracer.ParentSpan)
    const parent = Option.orElse(above, () => HttpTraceContext.fromHeaders(request.headers))
    const options = Option.match(parent, { onNone: () => ({}), onSome: (parent) => ({ parent }) })
    // Only the handler can be interrupted: a caller that goes away is told of too, as status 499.
    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.useSpan(`${method} ${route}`, { kind: "server", captureStackTrace: false, ...options }, (span) =>
        restore(Effect.withParentSpan(handler, span)).pipe(
          Effect.catchAllCause((cause) =>
            Cause.isInterruptedOnly(cause)
              ? Effect.zipRight(tell(499, span), Effect.failCause(cause as Cause.Cause<never>))
              : answer(cause)
          ),
          Effect.tap(({ status }) => tell(status, span)),
          Effect.map((response) => {
            const complete = HttpServerResponse.setHeaders(response, Problems.headersOf(response.status))
            return response.status === 413 ? linger(request, complete) : complete
          })
        )
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
