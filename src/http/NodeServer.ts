import type { Server } from "node:http"
import { HttpLayerRouter, HttpMiddleware, HttpServer } from "@effect/platform"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { type Duration, Effect, Layer, Option } from "effect"
import { constTrue } from "effect/Function"
import { Settings } from "../engine/Settings.ts"
import { BodyBudget } from "./BodyBudget.ts"
import { ConnectionLimits } from "./ConnectionLimits.ts"
import * as Connections from "./Connections.ts"
import * as LimitedConnections from "./LimitedConnections.ts"
import * as Listener from "./Listener.ts"
import * as ManagementAccess from "./ManagementAccess.ts"
import { PublicUrl } from "./PublicUrl.ts"
import * as Routes from "./Routes.ts"
import { strictTransportSecurity } from "./SecurityHeaders.ts"
import * as TriggerRoutes from "./TriggerRoutes.ts"

const routes = Layer.merge(Routes.layer, Routes.notFound)

/** Has a Node server answer all routes until the scope closes, triggers past Effect's server. */
export const layer = (server: Server, limits = new ConnectionLimits()) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const app = yield* ManagementAccess.restricted(yield* HttpLayerRouter.toHttpEffect(routes))
      const routed = yield* NodeHttpServer.makeHandler(app)
      const triggered = yield* TriggerRoutes.makeDirectHandler
      const transportSecurity = Option.getOrUndefined(strictTransportSecurity(yield* PublicUrl))
      const handle: typeof routed = (request, response) => {
        if (LimitedConnections.refuse(request, response)) return
        if (transportSecurity !== undefined) response.setHeader("strict-transport-security", transportSecurity)
        if (!triggered(request, response)) routed(request, response)
      }
      yield* Effect.acquireRelease(
        Effect.sync(() => server.on("request", handle)),
        () => Effect.sync(() => server.off("request", handle))
      )
    })
  ).pipe(
    Layer.provide(
      Layer.mergeAll(
        BodyBudget.layer,
        Connections.layer(server, { limits, answersAll: true }),
        NodeHttpServer.layerContext
      )
    ),
    // Effect's request logger and tracer, which record URLs and headers, are off for all routes: `RequestLog` does both.
    Layer.locally(HttpMiddleware.loggerDisabled, true),
    Layer.locally(HttpMiddleware.currentTracerDisabledWhen, constTrue)
  )

export interface ServeOptions {
  readonly port: number
  /** The address to listen on; absent: all of this machine's. */
  readonly host?: string
  /** How long a stop waits for callers that wait for an answer; default 30 seconds. */
  readonly grace?: Duration.DurationInput
}

/**
 * Serves a host's routes, ours among them, in the right order: it listens once all of them exist. When its scope closes it
 * stops as `Drain` says, while everything that the routes need still works. In place of `HttpLayerRouter.serve`, with
 * Effect's request logger as there.
 */
export const serve = <A, E, R>(hostRoutes: Layer.Layer<A, E, R>, { grace = "30 seconds", ...address }: ServeOptions) =>
  Effect.gen(function* () {
    const app = yield* HttpLayerRouter.toHttpEffect(hostRoutes)
    const { maxBody } = yield* Settings
    const { drain, layer: listening, server } = Listener.make({ ...address, shutdownGrace: grace, maxBody })
    // They are there in the turn of the event loop in which it begins to listen, before the first request is read.
    const answers = HttpServer.withLogAddress(HttpServer.serve(app, HttpMiddleware.logger))
    return drain.pipe(
      Layer.provide([answers, Connections.layer(server, { limits: new ConnectionLimits() })]),
      Layer.provideMerge(listening)
    )
  }).pipe(Layer.unwrapScoped, Layer.provide(NodeHttpServer.layerContext))
