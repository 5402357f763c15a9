/**
 * One log line, one span and the metrics of every request, under the route's pattern, because a trigger's URL contains
 * its token.
 */
import { Cause, Clock, Context, Effect, Exit, type Fiber, LogLevel, Metric, Option, References, Tracer } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerRequest, HttpServerResponse, HttpTraceContext } from "effect/http"
import { FiberRef, MetricBoundaries, Runtime } from "effect"
import { InvalidParameter, NotFound } from "../../domain/Errors.ts"
import { Origin } from "../../engine/access/Audit.ts"
import type { Networks } from "../../runtime/Networks.ts"
import { record } from "../../telemetry/Metrics.ts"
import { whenTraced } from "../../telemetry/Span.ts"
import * as Body from "./Body.ts"
import { clientAddress } from "./ClientAddress.ts"
import * as ErrorResponse from "./ErrorResponse.ts"
import { isExactly, patternOf } from "./ExactPath.ts"
import * as Problems from "./Problems.ts"
import * as RequestFacts from "./RequestFacts.ts"
import { originOf } from "./RequestOrigin.ts"
import { TrustedProxies } from "./TrustedProxies.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

/** The parts of a path that a log line may quote: only IDs and team names. */
const names: { readonly [parameter: string]: RegExp } = {
  id: /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i,
  run_id: /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i,
  team: /^[a-z0-9][a-z0-9-]{0,62}$/
}

/** The webhook, run, team or session in the path of a management request. */
const objectOf = (route: string, { originalUrl, url }: Request): Readonly<Record<string, string>> => {
  if (!route.includes("/api/")) return {}
  const pattern = patternOf(route)
  const values = (pattern.exec(url) ?? pattern.exec(originalUrl))?.slice(1) ?? []
  const parameters = [...route.matchAll(/:(\w+)/g)].map(([, name]) => name!)
  return Object.fromEntries(
    parameters.flatMap((name, n) =>
      names[name]?.test(values[n] ?? "")
        ? [[name === "id" && route.includes("/api/webhooks/") ? "webhook_id" : name, values[n]!]]
        : []
    )
  )
}

const requests = Metric.counter("http_server_requests_total", {
  description: "Requests answered, by route and status.",
  incremental: true
})
const durations = Metric.histogram(
  "http_server_request_duration_seconds",
  MetricBoundaries.fromIterable([
    ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    // A caller may wait for a day.
    ...[300, 900, 3_600, 14_400, 86_400]
  ]),
  "From a request's arrival to its answer, waiting included."
)

/**
 * Turns off Effect's own log line about the request, which contains the URL. Only if it is on, because every change of
 * a fiber's state has a cost.
 */
export const silenceEffectLogger = <A, E, R>(app: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) =>
    fiber.getFiberRef(HttpMiddleware.loggerDisabled)
      ? app
      : Effect.andThen(FiberRef.set(HttpMiddleware.loggerDisabled, true), app)
  )

const traceId = /^[\da-f]{32}$/i
const spanId = /^[\da-f]{16}$/i

/** Chosen by the caller; Effect takes any text of a B3 header for an ID. */
const callersSpan = (request: Request) =>
  Option.filter(
    HttpTraceContext.fromHeaders(request.headers),
    (span) => traceId.test(span.traceId) && spanId.test(span.spanId)
  )

/** The request headers that a span may show. Any other may hold a secret, such as a credential. */
const shownHeaders: ReadonlySet<string> = new Set(
  ["accept", "accept-encoding", "content-encoding", "content-length", "content-type", "host", "traceparent"].map(
    (name) => `http.request.header.${name}`
  )
)

/** Removes the headers that a host's tracer has recorded of the request. */
const hideHeaders = (span: Tracer.AnySpan): void => {
  if (span._tag !== "Span") return
  for (const name of span.attributes.keys()) {
    if (name.startsWith("http.request.header.") && !shownHeaders.has(name)) span.attribute(name, "<redacted>")
  }
}

/** The request's span: the host's, or its caller's. */
const parentOf = (fiber: Fiber.Fiber<any, any>, request: Request) => {
  const ofHost = Context.getOption(fiber.context, Tracer.ParentSpan)
  if (Option.isSome(ofHost)) hideHeaders(ofHost.value)
  return Option.getOrUndefined(Option.orElse(ofHost, () => callersSpan(request)))
}

/** Recorded instead of a route. */
const noRoute = "(no route)"

/** `observe` for an unknown path. */
export const observeUnknownPath = <E, R>(request: Request, handler: Effect.Effect<Response, E, R>) =>
  silenceEffectLogger(observeRequest(noRoute, request, handler))

/** Runs the handler if the URL is spelled exactly like the route: Effect's router accepts other spellings. */
const onlyExactly = <E, R>(
  route: string,
  handler: Effect.Effect<Response, E, R>,
  urlOf: (request: Request) => string = ({ url }) => url
): Effect.Effect<Response, E, R | Request> =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    isExactly(route, urlOf(request)) ? handler : observeUnknownPath(request, new NotFound())
  )

/** Runs a route's handler: answers every failure as a problem, and logs, traces and measures the request. */
export const observe = <E, R>(
  route: string,
  handler: Effect.Effect<Response, E, R>,
  urlOf?: (request: Request) => string
): Effect.Effect<Response, never, R | Request> =>
  onlyExactly(
    route,
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      silenceEffectLogger(observeRequest(route, request, handler))
    ),
    urlOf
  )

const severalHosts = new InvalidParameter({ name: "Host", detail: "is given more than once" })

/** Refuses a request with several `Host` headers, since a proxy may have used a different one (RFC 9112, 3.2). */
const withOneHost = <E, R>(
  request: Request,
  handler: Effect.Effect<Response, E, R>
): Effect.Effect<Response, E | InvalidParameter, R> => {
  const headers = Body.nodeRequest(request)?.rawHeaders ?? []
  let hosts = 0
  for (let n = 0; n < headers.length; n += 2) {
    if (headers[n]!.length === 4 && headers[n]!.toLowerCase() === "host") hosts++
  }
  return hosts > 1 ? Effect.fail(severalHosts) : handler
}

/** The counts, log line and trace of the request, from now to its response. */
const begin = (route: string, request: Request, clock: Clock.Clock, proxies: Networks) => {
  const { method } = request
  const started = clock.currentTimeMillisUnsafe()
  /** Counts the response. Returns the log line, which is only made if there is one. */
  const finish = (status: number): Effect.Effect<void> => {
    const duration_ms = clock.currentTimeMillisUnsafe() - started
    record(requests, 1, { method, route, status: String(status) })
    record(durations, duration_ms / 1000, { method, route })
    const level = RequestFacts.isRoutine(request) && status < 400 ? "Debug" : "Info"
    return Effect.suspend(() =>
      Effect.annotateLogs(Effect.logWithLevel(level, `${method} ${route}`), {
        ...{ status, duration_ms, client_address: clientAddress(proxies, request) },
        ...objectOf(route, request),
        ...RequestFacts.of(request)
      })
    )
  }
  return finish
}

const isLoggedBy = (minimum: LogLevel.LogLevel): boolean => LogLevel.lessThanEqual(minimum, "Info")

const complete = (response: Response): Response => HttpServerResponse.setHeaders(response, Problems.headersOf(response))

/** `observe` for a handler that runs here. */
const observeRequest = <E, R>(
  route: string,
  request: Request,
  handler: Effect.Effect<Response, E, R>
): Effect.Effect<Response, never, R> =>
  Effect.withFiber<Response, never, R>((fiber) => {
    const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
    const proxies = Context.get(fiber.context, TrustedProxies)
    const name = `${request.method} ${route}`
    const count = begin(route, request, clock, proxies)
    const isTraced = fiber.getFiberRef(References.TracerEnabled)

    /** Counts and logs the request, then continues with `then`. */
    const finish = <A>(status: number, then: Effect.Effect<A>): Effect.Effect<A> => {
      const line = count(status)
      const isLogged = isLoggedBy(fiber.getFiberRef(References.MinimumLogLevel))
      const logged = isLogged ? Effect.andThen(line, then) : then
      if (!isTraced) return logged
      const { run_id } = RequestFacts.of(request)
      return Effect.andThen(
        Effect.annotateCurrentSpan({
          "http.request.method": request.method,
          "http.route": route,
          "http.response.status_code": status,
          ...(run_id && { "run.id": run_id })
        }),
        logged
      )
    }
    const answer = (response: Response): Effect.Effect<Response> => {
      const sent = response.status === 413 ? Body.lingeringClose(request, complete(response)) : complete(response)
      return finish(response.status, Effect.succeed(sent))
    }

    // Only the handler can be interrupted: a caller that closes its connection is logged too, as status 499.
    return Effect.uninterruptible(
      Effect.matchCauseEffect(Effect.interruptible(withOneHost(request, handler)), {
        onFailure: (cause) =>
          Cause.hasInterruptsOnly(cause)
            ? finish(499, Effect.failCause(cause as Cause.Cause<never>))
            : Effect.flatMap(ErrorResponse.ofCause(cause), answer),
        onSuccess: answer
      })
    ).pipe(whenTraced(name, { kind: "server", parent: isTraced ? parentOf(fiber, request) : undefined }))
  })

/**
 * `observe` for requests that bypass Effect's server, and are not traced: the handler's fiber. Its response goes to
 * `send`, unless it was interrupted.
 */
export const makeDirect = Effect.gen(function* () {
  const fork = Runtime.runFork(yield* Effect.context<never>())
  return <E>(
    route: string,
    request: Request,
    handler: Effect.Effect<Response, E>,
    send: (response: Response) => void
  ): Fiber.Fiber<Response> => {
    const fiber = fork(observeRequest(route, request, handler))
    fiber.addObserver((exit) => {
      if (Exit.isSuccess(exit)) send(exit.value)
    })
    return fiber
  }
})

/**
 * Applies `observe` to all routes of the layer that it is provided to, and provides the actor of their audit events.
 */
export const layer = HttpRouter.middleware((handler) =>
  Effect.flatMap(
    Effect.all([HttpRouter.RouteContext, HttpServerRequest.HttpServerRequest, TrustedProxies]),
    ([{ route }, request, proxies]): Effect.Effect<Response, HttpRouter.unhandled, Request> =>
      observe(
        route.path,
        Effect.provideService(handler, Origin, originOf(proxies, request)),
        // Below a host's prefix, which is in the route's path but no longer in the request's URL.
        Option.isSome(route.prefix) ? ({ originalUrl }) => originalUrl : undefined
      )
  )
).layer
