/**
 * Everything that speaks HTTP, as layers for the `HttpLayerRouter` of any server: this package's own, or that of a host
 * that runs the webhook engine inside its API.
 */
import {
  type Etag,
  type FileSystem,
  type HttpApiGroup,
  HttpLayerRouter,
  type HttpPlatform,
  type Path
} from "@effect/platform"
import { Layer } from "effect"
import { Api } from "../api/Api.ts"
import type { AdminKey } from "../engine/AdminKey.ts"
import type { Cancellation } from "../engine/Cancellation.ts"
import type { Overview } from "../engine/Overview.ts"
import type { Replay } from "../engine/Replay.ts"
import type { Requests } from "../engine/Requests.ts"
import { Sessions } from "../engine/Sessions.ts"
import type { Settings } from "../engine/Settings.ts"
import type { Teams } from "../engine/Teams.ts"
import type { Trigger } from "../engine/Trigger.ts"
import type { Webhooks } from "../engine/Webhooks.ts"
import type { AuditStore } from "../repo/AuditStore.ts"
import type { ChangeFeed } from "../repo/ChangeFeed.ts"
import type { HistoryStore } from "../repo/HistoryStore.ts"
import type { SessionStore } from "../repo/SessionStore.ts"
import { AdminKeyCheck } from "./AdminKeyCheck.ts"
import * as AuditHandlers from "./AuditHandlers.ts"
import * as Auth from "./Auth.ts"
import { BodyBudget } from "./BodyBudget.ts"
import * as Docs from "./Docs.ts"
import { Events } from "./Events.ts"
import * as Health from "./Health.ts"
import * as OpenApi from "./OpenApi.ts"
import * as OverviewHandlers from "./OverviewHandlers.ts"
import * as Prometheus from "./Prometheus.ts"
import * as Redaction from "./Redaction.ts"
import * as RequestLog from "./RequestLog.ts"
import { RunExport } from "./RunExport.ts"
import * as RunsHandlers from "./RunsHandlers.ts"
import * as SessionHandlers from "./SessionHandlers.ts"
import * as SessionsHandlers from "./SessionsHandlers.ts"
import * as TeamsHandlers from "./TeamsHandlers.ts"
import * as TriggerRoutes from "./TriggerRoutes.ts"
import * as Ui from "./Ui.ts"
import * as Unmatched from "./Unmatched.ts"
import * as WebhooksHandlers from "./WebhooksHandlers.ts"

/** `/webhook/trigger/…`: enough for a host that only lets its callers trigger webhooks. */
export const trigger = Layer.merge(Layer.provide(TriggerRoutes.layer, BodyBudget.layer), Redaction.layer)

/** Registers nothing: the group's routes are `TriggerRoutes`, written by hand. */
const triggerGroup = Layer.empty as Layer.Layer<HttpApiGroup.ApiGroup<"webhook-trigger", "trigger">>

/** What every server of `@effect/platform` provides. */
type Server =
  | Etag.Generator
  | FileSystem.FileSystem
  | HttpLayerRouter.HttpRouter
  | HttpPlatform.HttpPlatform
  | Path.Path

type Engine =
  | AdminKey
  | AuditStore
  | Cancellation
  | ChangeFeed
  | HistoryStore
  | Overview
  | Replay
  | Requests
  | SessionStore
  | Settings
  | Teams
  | Trigger
  | Webhooks

/** `/api/…`: teams, webhooks, the history and sessions, for anyone who has the admin key. */
export const management: Layer.Layer<never, never, Engine | Server> = HttpLayerRouter.addHttpApi(Api).pipe(
  Layer.provide([
    triggerGroup,
    TeamsHandlers.layer,
    WebhooksHandlers.layer,
    RunsHandlers.layer,
    AuditHandlers.layer,
    SessionHandlers.layer,
    SessionsHandlers.layer,
    OverviewHandlers.layer
  ]),
  Layer.provide(Auth.layer),
  Layer.provide(RequestLog.layer),
  Layer.merge(Unmatched.methodNotAllowed(Unmatched.apiPaths())),
  Layer.provide([AdminKeyCheck.layer, Sessions.layer, Events.layer, RunExport.layer])
)

/** `/health/…`, `/metrics`, `/openapi.json` and `/docs`. */
export const operations = Layer.mergeAll(Health.layer, Prometheus.layer, OpenApi.layer, Docs.layer)

/** `/`: the web UI, if it was built; it needs `management`. */
export const ui = Ui.layer

/** All of them. */
export const layer = Layer.mergeAll(trigger, management, operations, ui)

/** For a server of its own: a path that none of its routes has is answered as a problem, or with a page to a browser. */
export const notFound = Ui.notFound
