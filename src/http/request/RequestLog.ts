/**
 * One log line, one span and the metrics of every request, under the route's pattern, because a trigger's URL contains
 * its token.
 */
import {
  Cause,
  Clock,
  Context,
  Effect,
  type Fiber,
  LogLevel,
  Metric,
  Option,
  References,
  Tracer,
  type Types
} from "effect"
import { HttpMiddleware, HttpRouter, HttpServerRequest, HttpServerResponse, HttpTraceContext } from "effect/http"
import { InvalidParameter, NotFound } from "../../domain/Errors.ts"
import { Origin } from "../../engine/access/Audit.ts"
import type { Networks } from "../../runtime/Networks.ts"
import { record } from "../../telemetry/Metrics.ts"
import { whenTraced } from "../../telemetry/Span.ts"
import * as Body from "./Body.ts"
import { clientAddress } from "./ClientAddress.ts"
import * as ErrorResponse from "./ErrorResponse.ts"
import { isExactly, patternOf, targetOf } from "./ExactPath.ts"
import * as HostSpan from "./HostSpan.ts"
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
const objectOf = (route: string, request: Request): Readonly<Record<string, string>> => {
  if (!route.includes("/api/")) return {}
  const values = patternOf(route).exec(targetOf(request))?.slice(1) ?? []
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
const durations = Metric.histogram("http_server_request_duration_seconds", {
  description: "From a request's arrival to its answer, waiting included.",
  boundaries: [
    ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    // A caller may wait for a day.
    ...[300, 900, 3_600, 14_400, 86_400]
  ]
})

/** The request's span: the host's, or its caller's. */
const parentOf = (fiber: Fiber.Fiber<unknown, unknown>, request: Request) => {
  const ofHost = Context.getOption(fiber.context, Tracer.ParentSpan)
  if (Option.isSome(ofHost)) HostSpan.hideHeaders(ofHost.value)
  return Option.getOrUndefined(Option.orElse(ofHost, () => HttpTraceContext.fromHeaders(request.headers)))
}

/** Recorded instead of a route. */
const noRoute = "(no route)"

/** Answers and records a request without a route. */
export const observeUnknownPath = <E, R>(request: Request, handler: Effect.Effect<Response, E, R>) =>
  observe(noRoute, request, handler)

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

/** The counts and log line of the request, from now to its response. */
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
      Effect.annotateLogs(Effect.logWithLevel(level)(`${method} ${route}`), {
        ...{ status, duration_ms, client_address: clientAddress(proxies, request) },
        ...objectOf(route, request),
        ...RequestFacts.of(request)
      })
    )
  }
  return finish
}

const complete = (response: Response): Response => HttpServerResponse.setHeaders(response, Problems.headersOf(response))

/** Runs a route's handler: answers every failure as a problem, and logs, traces and measures the request. */
const observe = <E, R>(
  route: string,
  request: Request,
  handler: Effect.Effect<Response, E, R>
): Effect.Effect<Response, never, R | Request> =>
  Effect.withFiber<Response, never, R | Request>((fiber) => {
    const name = `${request.method} ${route}`
    const count = begin(route, request, fiber.getRef(Clock.Clock), fiber.getRef(TrustedProxies))
    const isLogged = LogLevel.isLessThanOrEqualTo(fiber.getRef(References.MinimumLogLevel), "Info")
    const isTraced = fiber.getRef(References.TracerEnabled)

    /** Counts and logs the request, then continues with `then`. */
    const finish = <A>(status: number, then: Effect.Effect<A>): Effect.Effect<A> => {
      const line = count(status)
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
    ).pipe(
      whenTraced(name, { kind: "server", parent: isTraced ? parentOf(fiber, request) : undefined }),
      // Effect's own log line about the request contains the URL.
      HttpMiddleware.withLoggerDisabled
    )
  })

/** Applies to all routes of the layer that it is provided to, and provides the actor of their audit events. */
export const layer = HttpRouter.middleware<{ handles: Problems.Refusal }>()((handler) =>
  Effect.flatMap(
    Effect.all([HttpRouter.RouteContext, HttpServerRequest.HttpServerRequest, TrustedProxies]),
    ([{ route }, request, proxies]): Effect.Effect<Response, Types.unhandled, Request> =>
      // Effect's router accepts other spellings.
      isExactly(route.path, targetOf(request))
        ? observe(route.path, request, Effect.provideService(handler, Origin, originOf(proxies, request)))
        : observeUnknownPath(request, Effect.fail(new NotFound()))
  )
).layer
