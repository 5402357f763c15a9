import type { Server } from "node:http"
import type { AddressInfo } from "node:net"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { type Duration, Effect, Layer, Option } from "effect"
import { constTrue } from "effect/Function"
import {
  HttpEffect,
  HttpMiddleware,
  HttpRouter,
  HttpServer,
  type HttpServerRequest,
  HttpServerResponse
} from "effect/http"
import * as ManagementAccess from "../access/ManagementAccess.ts"
import { mountedAt, PublicUrl, TriggerPort, withoutMount } from "../request/PublicUrl.ts"
import { strictTransportSecurity } from "../request/SecurityHeaders.ts"
import { ConnectionLimits } from "./ConnectionLimits.ts"
import * as Connections from "./Connections.ts"
import * as Drain from "./Drain.ts"
import * as LimitedConnections from "./LimitedConnections.ts"
import * as Listener from "./Listener.ts"
import * as Routes from "./Routes.ts"

/** A Node server, and the layer with which it listens. */
export interface Listening<E> {
  readonly server: Server
  readonly layer: Layer.Layer<HttpServer.HttpServer, E>
}

export interface LayerOptions<E> {
  readonly limits?: ConnectionLimits
  /** A second server, for the management. It answers all routes; the first one answers only triggers and health checks. */
  readonly management?: Option.Option<Listening<E>>
}

/** Where the service is mounted: removed before the routes see the URL. */
const mountAt = (server: Server, mount: string) =>
  Connections.onRequestWithin(server, (request) => {
    request.url = withoutMount(mount, request.url ?? "/")
  })

/** With `Strict-Transport-Security` on every response. */
const securingTransport = <E, R>(
  header: Option.Option<string>,
  app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest>
) =>
  Option.match(header, {
    onNone: () => app,
    onSome: (value) =>
      HttpEffect.withPreResponseHandler(app, (_, response) =>
        Effect.succeed(HttpServerResponse.setHeader(response, "strict-transport-security", value))
      )
  })

/** Makes Node servers listen once all routes exist, and answer them until the scope closes. */
export const layer = <E, E2 = never>(
  main: Listening<E>,
  { limits = new ConnectionLimits(), management = Option.none() }: LayerOptions<E2> = {}
) =>
  Effect.gen(function* () {
    const routes = yield* HttpRouter.toHttpEffect(Layer.merge(Routes.layer, Routes.notFound))
    const allowed = yield* ManagementAccess.restricted(routes)
    const publicUrl = yield* PublicUrl
    yield* mountAt(main.server, mountedAt(publicUrl))
    const serve = <E>({ layer, server }: Listening<E>, app: typeof routes) =>
      HttpServer.serve(LimitedConnections.refuse(app)).pipe(
        Layer.provide(Connections.layer(server, { limits, answersAll: true })),
        Layer.provideMerge(layer)
      )
    const serveMain = (app: typeof routes) => serve(main, securingTransport(strictTransportSecurity(publicUrl), app))
    return Option.match(management, {
      onNone: () => serveMain(allowed),
      onSome: (management) =>
        serveMain(ManagementAccess.withoutManagement(routes)).pipe(
          Layer.provide(Layer.effectDiscard(Layer.build(serve(management, allowed))))
        )
    })
  }).pipe(
    Layer.unwrap,
    Layer.provide([
      Layer.succeed(
        TriggerPort,
        Option.as(management, () => (main.server.address() as AddressInfo).port)
      ),
      // Effect's tracer, which records URLs and headers, is off for all routes, as is its logger: `RequestLog` does both.
      Layer.succeed(HttpMiddleware.TracerDisabledWhen, constTrue),
      NodeHttpServer.layerHttpServices
    ])
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
 * stops like `Drain`, while everything that the routes need still works. Replaces `HttpRouter.serve`, with
 * Effect's request logger as there.
 */
export const serve = <A, E, R>(hostRoutes: Layer.Layer<A, E, R>, { grace = "30 seconds", ...address }: ServeOptions) =>
  Effect.gen(function* () {
    const app = yield* HttpRouter.toHttpEffect(hostRoutes)
    const { layer: listening, server } = Listener.make(address)
    return Drain.layer([server], grace).pipe(
      // The routes exist in the event loop turn in which it begins to listen, before the first request is read.
      Layer.provide(HttpServer.withLogAddress(HttpServer.serve(app, HttpMiddleware.logger))),
      Layer.provide(Connections.layer(server, { limits: new ConnectionLimits() })),
      Layer.provideMerge(listening)
    )
  }).pipe(Layer.unwrap, Layer.provide(NodeHttpServer.layerHttpServices))
