/** A read-only path outside the API: its route, observed, and 405 for every other method. */
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

export const layer = <E, R>(path: `/${string}`, makeHandler: Effect.Effect<Handler, E, R>) =>
  Layer.merge(
    HttpRouter.addAll(Effect.map(makeHandler, (handler) => [HttpRouter.route("GET", path, handler)])).pipe(
      Layer.provide(RequestLog.layer)
    ),
    Unmatched.methodNotAllowed(Unmatched.onlyGet([path]))
  )
