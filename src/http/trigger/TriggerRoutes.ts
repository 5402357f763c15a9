/**
 * The group `trigger` of the API: `POST /webhook/trigger/:token`, and the caller's view of a run, at `Location`. The
 * same routes also exist with the token in a header. Written by hand, for speed and for the exact order of the checks.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Effect, Option, References } from "effect"
import { type Headers, HttpRouter, HttpServerError, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { FiberRef } from "effect"
import { triggerPath } from "../../api/run/TriggerUrl.ts"
import type { Trigger } from "../../engine/accept/Trigger.ts"
import type { StoredRequests } from "../../engine/manage/StoredRequests.ts"
import { Settings } from "../../engine/Settings.ts"
import type { SnsRequests } from "../../engine/verify/SnsRequests.ts"
import * as EventRequest from "../events/EventRequest.ts"
import type { RunEvents } from "../events/RunEvents.ts"
import type { BodyBudget } from "../request/BodyBudget.ts"
import { patternOf } from "../request/ExactPath.ts"
import * as RequestLog from "../request/RequestLog.ts"
import * as Unmatched from "../request/Unmatched.ts"
import type { CallerCheck } from "./CallerCheck.ts"
import * as CallersRuns from "./CallersRuns.ts"
import * as StartRun from "./StartRun.ts"

type Request = HttpServerRequest.HttpServerRequest

const endpoints = Effect.all([StartRun.make, CallersRuns.make]).pipe(
  Effect.map(([start, callersRuns]) => ({ ...start, ...callersRuns }))
)

const postRoute = `${triggerPath}/:token` as const
/** For requests with the token in a header. */
const headerRoute = triggerPath

/** A path's parameters, and the request. */
const parts = Effect.all([HttpServerRequest.HttpServerRequest, HttpRouter.params])

export const layer = HttpRouter.addAll(
  Effect.map(endpoints, ({ post, stream, show, events, cancel }) =>
    ([postRoute, headerRoute] as const).flatMap((postRoute) => {
      const showRoute = `${postRoute}/runs/:run_id` as const
      const eventsRoute = `${showRoute}/events` as const
      const cancelRoute = `${showRoute}/cancel` as const
      return [
        ...Unmatched.anyMethod(
          postRoute,
          RequestLog.observe(
            postRoute,
            Effect.flatMap(parts, ([request, { token }]) =>
              EventRequest.isAsked(request) ? stream(request, token) : post(request, token)
            )
          )
        ),
        ...Unmatched.anyMethod(
          showRoute,
          RequestLog.observe(
            showRoute,
            Effect.flatMap(parts, ([request, { token, run_id }]) => show(request, token, run_id))
          )
        ),
        ...Unmatched.anyMethod(
          eventsRoute,
          RequestLog.observe(
            eventsRoute,
            Effect.flatMap(parts, ([request, { token, run_id }]) => events(request, token, run_id))
          )
        ),
        ...Unmatched.anyMethod(
          cancelRoute,
          RequestLog.observe(
            cancelRoute,
            Effect.flatMap(parts, ([request, { token, run_id }]) => cancel(request, token, run_id))
          )
        )
      ]
    })
  )
)

/**
 * `POST /webhook/trigger/:token`, and the same without the token in the path, directly from a Node server. It bypasses
 * Effect's server and router, which do as much work for a request as the engine does for a run. `false`: the router
 * must handle the request. Takes only bodies of a known, allowed length, no requests for events, and nothing while spans are
 * collected, which Effect's server begins.
 */
export type DirectHandler = (request: IncomingMessage, response: ServerResponse) => boolean

/** False turns this off (decision 0011): every request passes Effect's server. */
const isDirect: boolean = true

export const makeDirectHandler: Effect.Effect<
  DirectHandler,
  never,
  BodyBudget | CallerCheck | RunEvents | SnsRequests | StoredRequests | Settings | Trigger
> = Effect.gen(function* () {
  const { post } = yield* StartRun.make
  const { maxBody } = yield* Settings
  const [withToken, withoutToken] = [patternOf(postRoute), patternOf(headerRoute)]
  const isTraced = yield* FiberRef.get(References.TracerEnabled)
  const observe = yield* RequestLog.makeDirect

  return (source, response) => {
    if (!isDirect || isTraced || source.method !== "POST") return false
    if (!(Number(source.headers["content-length"]) <= maxBody)) return false
    const token = withToken.exec(source.url!)?.[1]
    if (token === undefined && !withoutToken.test(source.url!)) return false
    // The parts of a request that the endpoint reads, as in Effect's request for Node.
    const { headers, method, url } = source
    if (EventRequest.isAsked({ headers: headers as Headers.Headers, url: url! })) return false
    const remoteAddress = Option.fromNullishOr(source.socket.remoteAddress)
    const request = { headers, method, remoteAddress, response, source, url } as unknown as Request
    const fiber = observe(token === undefined ? headerRoute : postRoute, request, post(request, token), (answer) =>
      write(response, answer)
    )
    response.once("close", () => {
      if (!response.writableEnded) fiber.interruptUnsafe(HttpServerError.clientAbortFiberId)
    })
    return true
  }
})

/** The endpoint's bodies are all in memory. */
const write = (response: ServerResponse, { body, headers, status }: HttpServerResponse.HttpServerResponse): void => {
  response.writeHead(status, headers)
  response.end(body._tag === "Uint8Array" ? body.body : undefined)
}
