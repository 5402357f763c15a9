/**
 * One log line, one span and the metrics of every request, by the route's pattern and never by the URL: a trigger's URL
 * contains its token.
 */
import {
  HttpLayerRouter,
  HttpMiddleware,
  HttpServerRequest,
  HttpServerResponse,
  HttpTraceContext
} from "@effect/platform"
import { Cause, Clock, Effect, FiberRef, Metric, MetricBoundaries, Option, Tracer } from "effect"
import type { RunId } from "../domain/Id.ts"
import { record } from "../telemetry/Metrics.ts"
import { whenTraced } from "../telemetry/Span.ts"
import { lingeringClose } from "./Body.ts"
import * as ErrorResponse from "./ErrorResponse.ts"
import * as Problems from "./Problems.ts"

type Response = HttpServerResponse.HttpServerResponse

const runs = new WeakMap<HttpServerRequest.HttpServerRequest, RunId>()

/** Names the run that the request is about, for its log line and its span. */
export const setRun = (run_id: RunId): Effect.Effect<void, never, HttpServerRequest.HttpServerRequest> =>
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

/**
 * Switches off Effect's own log line about the request, which contains the URL. Only when it is on, because every change
 * of a fiber's state has a cost.
 */
export const silenceEffectLogger: Effect.Effect<void> = Effect.flatMap(
  FiberRef.get(HttpMiddleware.loggerDisabled),
  (disabled) => (disabled ? Effect.void : FiberRef.set(HttpMiddleware.loggerDisabled, true))
)

/** Runs a route's handler: answers every failure as a problem, and logs, traces and measures the request. */
export const observe = <E, R>(
  route: string,
  handler: Effect.Effect<Response, E, R>
): Effect.Effect<Response, never, R | HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { method } = request
    const name = `${method} ${route}`
    const started = yield* Clock.currentTimeMillis
    yield* silenceEffectLogger

    const log = (status: number) =>
      Effect.gen(function* () {
        const run_id = runs.get(request)
        const duration_ms = (yield* Clock.currentTimeMillis) - started
        yield* Effect.annotateCurrentSpan({
          "http.request.method": method,
          "http.route": route,
          "http.response.status_code": status,
          ...(run_id !== undefined && { "run.id": run_id })
        })
        record(requests, 1, { method, route, status: String(status) })
        record(durations, duration_ms / 1000, { method, route })
        yield* Effect.logInfo(name).pipe(
          Effect.annotateLogs({ status, duration_ms, ...(run_id !== undefined && { run_id }) }),
          Effect.whenLogLevel("Info")
        )
      })

    const outerSpan = yield* Effect.serviceOption(Tracer.ParentSpan)
    const parent = Option.orElse(outerSpan, () => HttpTraceContext.fromHeaders(request.headers))
    // Only the handler can be interrupted: a caller that closes its connection is logged too, as status 499.
    return yield* Effect.uninterruptibleMask((restore) =>
      restore(handler).pipe(
        Effect.catchAllCause((cause) =>
          Cause.isInterruptedOnly(cause)
            ? Effect.zipRight(log(499), Effect.failCause(cause as Cause.Cause<never>))
            : ErrorResponse.ofCause(cause)
        ),
        Effect.tap(({ status }) => log(status)),
        Effect.map((response) => {
          const complete = HttpServerResponse.setHeaders(response, Problems.headersOf(response.status))
          return response.status === 413 ? lingeringClose(request, complete) : complete
        }),
        whenTraced(name, { kind: "server", parent: Option.getOrUndefined(parent) })
      )
    )
  })

/** Applies `observe` to all routes of the layer that it is provided to. */
export const layer = HttpLayerRouter.middleware((handler) =>
  Effect.flatMap(
    HttpLayerRouter.RouteContext,
    ({ route }): Effect.Effect<Response, HttpLayerRouter.unhandled, HttpServerRequest.HttpServerRequest> =>
      observe(route.path, handler)
  )
).layer
