/**
 * Everything that speaks HTTP, as layers for the `HttpLayerRouter` of whoever serves it: the server in this package, or
 * a host that composes the webhook engine into its own API.
 */
import { HttpLayerRouter } from "@effect/platform"
import { Layer } from "effect"
import { ManagementApi } from "../api/Api.ts"
import { SessionApi } from "../api/UiApi.ts"
import * as Access from "./Access.ts"
import * as Auth from "./Auth.ts"
import * as Docs from "./Docs.ts"
import { Events } from "./Events.ts"
import * as Guard from "./Guard.ts"
import * as Health from "./Health.ts"
import * as MethodNotAllowed from "./MethodNotAllowed.ts"
import * as Metrics from "./Metrics.ts"
import * as OpenApi from "./OpenApi.ts"
import * as OverviewHandlers from "./OverviewHandlers.ts"
import * as RunsHandlers from "./RunsHandlers.ts"
import * as SessionHandlers from "./SessionHandlers.ts"
import { Sessions } from "./Sessions.ts"
import * as TeamsHandlers from "./TeamsHandlers.ts"
import * as TriggerRoutes from "./TriggerRoutes.ts"
import * as Ui from "./Ui.ts"
import * as WebhooksHandlers from "./WebhooksHandlers.ts"

/** `/webhook/trigger/…`: all that a host needs whose callers are to trigger webhooks. */
export const trigger = Layer.mergeAll(TriggerRoutes.layer, Guard.layer)

/** `/api/…`: teams, webhooks and the history, for whoever has the admin key. */
export const management = HttpLayerRouter.addHttpApi(ManagementApi).pipe(
  Layer.provide([TeamsHandlers.layer, WebhooksHandlers.layer, RunsHandlers.layer]),
  Layer.merge(
    HttpLayerRouter.addHttpApi(SessionApi).pipe(Layer.provide([SessionHandlers.layer, OverviewHandlers.layer]))
  ),
  Layer.provide(Auth.layer),
  Layer.provide(Access.layer),
  Layer.merge(MethodNotAllowed.layer(MethodNotAllowed.pathsOf(ManagementApi, SessionApi))),
  Layer.provide([Sessions.layer, Events.layer])
)

const get = new Set(["GET"])

/** `/health/…`, `/metrics`, `/openapi.json` and `/docs`. */
export const operations = Layer.mergeAll(
  Health.layer,
  Metrics.layer,
  OpenApi.layer,
  Docs.layer,
  MethodNotAllowed.layer(
    new Map(
      (["/health/live", "/health/ready", "/metrics", "/openapi.json", "/docs"] as const).map((path) => [path, get])
    )
  )
)

/** `/`: the web UI, when it was built; it needs `management`. */
export const ui = Ui.layer

/** All of them. */
export const layer = Layer.mergeAll(trigger, management, operations, ui)

/** For a server of its own: what none of its routes takes is answered as a problem too. */
export const notFound = Guard.notFound
