/** A read-only path outside the API: its route, observed, and 405 for every other method. */
import { HttpLayerRouter, type HttpServerRequest, type HttpServerResponse } from "@effect/platform"
import { Effect, Layer } from "effect"
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
    HttpLayerRouter.addAll(
      Effect.map(makeHandler, (handler) => [HttpLayerRouter.route("GET", path, RequestLog.observe(path, handler))])
    ),
    Unmatched.methodNotAllowed(Unmatched.onlyGet([path]))
  )
