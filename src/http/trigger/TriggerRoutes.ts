/**
 * The group `trigger` of the API: `POST /webhook/trigger/:token`, and the caller's view of a run, at `Location`. The
 * same routes also exist with the token in a header. Written by hand, for the exact order of the checks.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { triggerPath } from "../../api/run/TriggerUrl.ts"
import * as EventRequest from "../events/EventRequest.ts"
import * as RequestLog from "../request/RequestLog.ts"
import * as CallersRuns from "./CallersRuns.ts"
import * as StartRun from "./StartRun.ts"

/** With the token in the path, or in a header. */
const postRoutes = [`${triggerPath}/:token`, triggerPath] as const

/** Any method: the endpoints check it themselves, in their order. */
const route = <E, R>(
  path: `/${string}`,
  handler: (
    request: HttpServerRequest.HttpServerRequest,
    token: string | undefined,
    run_id: string | undefined
  ) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
) =>
  HttpRouter.route(
    "*",
    path,
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      Effect.flatMap(HttpRouter.params, ({ run_id, token }) => handler(request, token, run_id))
    )
  )

export const layer = HttpRouter.addAll(
  Effect.map(Effect.all([StartRun.make, CallersRuns.make]), ([{ post, stream }, { cancel, events, show }]) =>
    postRoutes.flatMap((postRoute) => {
      const showRoute = `${postRoute}/runs/:run_id` as const
      return [
        route(postRoute, (request, token) =>
          EventRequest.isAsked(request) ? stream(request, token) : post(request, token)
        ),
        route(showRoute, show),
        route(`${showRoute}/events`, events),
        route(`${showRoute}/cancel`, cancel)
      ]
    })
  )
).pipe(Layer.provide(RequestLog.layer))
