import type { Server } from "node:http"
import { HttpLayerRouter, HttpMiddleware } from "@effect/platform"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer, Option } from "effect"
import { constTrue } from "effect/Function"
import { BodyBudget } from "./BodyBudget.ts"
import * as Connections from "./Connections.ts"
import { PublicUrl } from "./PublicUrl.ts"
import * as Routes from "./Routes.ts"
import { strictTransportSecurity } from "./SecurityHeaders.ts"
import * as TriggerRoutes from "./TriggerRoutes.ts"

const routes = Layer.merge(Routes.layer, Routes.notFound)

/** Has a Node server answer all routes until the scope closes, triggers past Effect's server. */
export const layer = (server: Server) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const routed = yield* NodeHttpServer.makeHandler(yield* HttpLayerRouter.toHttpEffect(routes))
      const triggered = yield* TriggerRoutes.makeDirectHandler
      const transportSecurity = Option.getOrUndefined(strictTransportSecurity(yield* PublicUrl))
      const handle: typeof routed = (request, response) => {
        if (transportSecurity !== undefined) response.setHeader("strict-transport-security", transportSecurity)
        if (!triggered(request, response)) routed(request, response)
      }
      yield* Effect.acquireRelease(
        Effect.sync(() => server.on("request", handle)),
        () => Effect.sync(() => server.off("request", handle))
      )
    })
  ).pipe(
    Layer.provide(Layer.merge(BodyBudget.layer, Connections.layer(server))),
    // Effect's request logger and tracer, which record URLs and headers, are off for all routes: `RequestLog` does both.
    Layer.locally(HttpMiddleware.loggerDisabled, true),
    Layer.locally(HttpMiddleware.currentTracerDisabledWhen, constTrue)
  )
