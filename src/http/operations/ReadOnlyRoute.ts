/** Read-only paths outside the API: their routes, observed, and 405 for every other method. */
import { Effect, Layer } from "effect"
import { HttpRouter, type HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { NotFound, Unauthorized, Unavailable } from "../../domain/Errors.ts"
import * as RequestLog from "../request/RequestLog.ts"
import * as Unmatched from "../request/Unmatched.ts"

type Handler = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  NotFound | Unauthorized | Unavailable,
  HttpServerRequest.HttpServerRequest
>

type Route = readonly [path: `/${string}`, handler: Handler]

export const all = <E, R>(make: Effect.Effect<ReadonlyArray<Route>, E, R>) =>
  Layer.unwrap(
    Effect.map(make, (routes) =>
      Layer.merge(
        HttpRouter.addAll(routes.map(([path, handler]) => HttpRouter.route("GET", path, handler))).pipe(
          Layer.provide(RequestLog.layer)
        ),
        Unmatched.methodNotAllowed(Unmatched.onlyGet(routes.map(([path]) => path)))
      )
    )
  )

export const layer = <E, R>(path: `/${string}`, makeHandler: Effect.Effect<Handler, E, R>) =>
  all(Effect.map(makeHandler, (handler): ReadonlyArray<Route> => [[path, handler]]))
