import type { Server } from "node:http"
import type { AddressInfo } from "node:net"
import { type Duration, Effect, Layer, Option } from "effect"
import { HttpMiddleware, HttpRouter, HttpServer } from "effect/http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { constTrue } from "effect/Function"
import * as ManagementAccess from "../access/ManagementAccess.ts"
import { RunEvents } from "../events/RunEvents.ts"
import { BodyBudget } from "../request/BodyBudget.ts"
import { mountedAt, PublicUrl, TriggerPort, withoutMount } from "../request/PublicUrl.ts"
import { strictTransportSecurity } from "../request/SecurityHeaders.ts"
import { CallerCheck } from "../trigger/CallerCheck.ts"
import * as TriggerRoutes from "../trigger/TriggerRoutes.ts"
import { ConnectionLimits } from "./ConnectionLimits.ts"
import * as Connections from "./Connections.ts"
import * as Drain from "./Drain.ts"
import * as LimitedConnections from "./LimitedConnections.ts"
import * as Listener from "./Listener.ts"
import * as Routes from "./Routes.ts"

const routes = Layer.merge(Routes.layer, Routes.notFound)

export interface LayerOptions {
  readonly limits?: ConnectionLimits
  /** A second server, for the management. It answers all routes; the first one answers only triggers and health checks. */
  readonly management?: Option.Option<Server>
}

/** Makes a Node server answer all routes until the scope closes. Triggers bypass Effect's server. */
export const layer = (
  server: Server,
  { limits = new ConnectionLimits(), management = Option.none() }: LayerOptions = {}
) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const all = yield* HttpRouter.toHttpEffect(routes)
      const allowed = yield* ManagementAccess.restricted(all)
      const triggered = yield* TriggerRoutes.makeDirectHandler
      const publicUrl = yield* PublicUrl
      const mount = mountedAt(publicUrl)
      const transportSecurity = Option.getOrUndefined(strictTransportSecurity(publicUrl))

      const answer = (server: Server, app: typeof all, mount = "", transportSecurity?: string) =>
        Effect.gen(function* () {
          const routed = yield* NodeHttpServer.makeHandler(app)
          const handle: typeof routed = (request, response) => {
            request.url = withoutMount(mount, request.url ?? "/")
            if (LimitedConnections.refuse(request, response)) return
            if (transportSecurity !== undefined) response.setHeader("strict-transport-security", transportSecurity)
            if (!triggered(request, response)) routed(request, response)
          }
          yield* Effect.acquireRelease(
            Effect.sync(() => server.on("request", handle)),
            () => Effect.sync(() => server.off("request", handle))
          )
        })

      if (Option.isNone(management)) return yield* answer(server, allowed, mount, transportSecurity)
      yield* answer(server, ManagementAccess.withoutManagement(all), mount, transportSecurity)
      yield* answer(management.value, allowed)
    })
  ).pipe(
    Layer.provide(
      Layer.mergeAll(
        BodyBudget.layer,
        CallerCheck.layer,
        RunEvents.layer,
        Connections.layer(server, { limits, answersAll: true }),
        ...Option.toArray(Option.map(management, (server) => Connections.layer(server, { limits, answersAll: true }))),
        Layer.succeed(
          TriggerPort,
          Option.as(management, () => (server.address() as AddressInfo).port)
        ),
        NodeHttpServer.layerContext
      )
    ),
    // Effect's request logger and tracer, which record URLs and headers, are off for all routes: `RequestLog` does both.
    Layer.locally(HttpMiddleware.loggerDisabled, true),
    Layer.locally(HttpMiddleware.currentTracerDisabledWhen, constTrue)
  )

export interface ServeOptions {
  readonly port: number
  /** The address to listen on; absent: all of this machine's addresses. */
  readonly host?: string
  /** How long a stop waits for waiting callers. Default: 30 seconds. */
  readonly grace?: Duration.Input
}

/**
 * Serves a host's routes and ours in the right order: it listens once all of them exist. When its scope closes, it
 * stops like `Drain`, while everything that the routes need still works. Replaces `HttpLayerRouter.serve`, with
 * Effect's request logger as there.
 */
export const serve = <A, E, R>(hostRoutes: Layer.Layer<A, E, R>, { grace = "30 seconds", ...address }: ServeOptions) =>
  Effect.gen(function* () {
    const app = yield* HttpRouter.toHttpEffect(hostRoutes)
    const { layer: listening, server } = Listener.make(address)
    // They exist in the event loop turn in which it begins to listen, before the first request is read.
    const answers = HttpServer.withLogAddress(HttpServer.serve(app, HttpMiddleware.logger))
    return Drain.layer([server], grace).pipe(
      Layer.provide([answers, Connections.layer(server, { limits: new ConnectionLimits() })]),
      Layer.provideMerge(listening)
    )
  }).pipe(Layer.unwrap, Layer.provide(NodeHttpServer.layerContext))
