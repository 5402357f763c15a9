/**
 * All routes, as layers for the `HttpRouter` of any server: this package's own, or that of a host that embeds the
 * engine.
 */
import { type FileSystem, Layer, type Path } from "effect"
import { type Etag, type HttpPlatform, HttpRouter } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Management } from "../../api/Api.ts"
import type { AdminKey } from "../../engine/access/AdminKey.ts"
import { ApiKeys } from "../../engine/access/ApiKeys.ts"
import { LeaderKeys } from "../../engine/access/LeaderKeys.ts"
import { OidcProvider } from "../../engine/access/oidc/Provider.ts"
import { Sessions } from "../../engine/access/Sessions.ts"
import { SignInLink } from "../../engine/access/SignInLink.ts"
import type { Alerts } from "../../engine/alert/Alerts.ts"
import type { Destinations } from "../../engine/delivery/Destinations.ts"
import type { Approvals } from "../../engine/manage/Approvals.ts"
import type { Cancellation } from "../../engine/manage/Cancellation.ts"
import type { Overview } from "../../engine/manage/Overview.ts"
import type { StoredRequests } from "../../engine/manage/StoredRequests.ts"
import type { Teams } from "../../engine/manage/Teams.ts"
import type { Threads } from "../../engine/manage/Threads.ts"
import type { Webhooks } from "../../engine/manage/Webhooks.ts"
import type { RunWatch } from "../../engine/progress/RunWatch.ts"
import type { Replay } from "../../engine/replay/Replay.ts"
import type { HttpLeaders } from "../../engine/reply/HttpLeaders.ts"
import type { Settings } from "../../engine/Settings.ts"
import type { Trigger } from "../../engine/trigger/Trigger.ts"
import { AuditStore } from "../../repo/access/AuditStore.ts"
import type { Repo } from "../../repo/Repo.ts"
import * as Auth from "../access/Auth.ts"
import { KeyCheck } from "../access/KeyCheck.ts"
import * as SessionHandlers from "../access/SessionHandlers.ts"
import * as SignInRoutes from "../access/SignInRoutes.ts"
import { Events } from "../events/Events.ts"
import { RunEvents } from "../events/RunEvents.ts"
import * as LeaderKeyCheck from "../leaders/LeaderKeyCheck.ts"
import * as LeadingHandlers from "../leaders/LeadingHandlers.ts"
import * as AccessHandlers from "../manage/AccessHandlers.ts"
import * as AlertsHandlers from "../manage/AlertsHandlers.ts"
import * as AuditHandlers from "../manage/AuditHandlers.ts"
import * as ConfigHandlers from "../manage/ConfigHandlers.ts"
import * as DestinationsHandlers from "../manage/DestinationsHandlers.ts"
import { RunExport } from "../manage/export/RunExport.ts"
import * as OverviewHandlers from "../manage/OverviewHandlers.ts"
import * as RunsHandlers from "../manage/RunsHandlers.ts"
import * as TeamsHandlers from "../manage/TeamsHandlers.ts"
import * as WebhooksHandlers from "../manage/WebhooksHandlers.ts"
import * as McpRoutes from "../mcp/McpRoutes.ts"
import * as Docs from "../operations/Docs.ts"
import * as Guides from "../operations/Guides.ts"
import * as Health from "../operations/Health.ts"
import * as OpenApi from "../operations/OpenApi.ts"
import * as Prometheus from "../operations/Prometheus.ts"
import * as Ui from "../operations/Ui.ts"
import { BodyBudget } from "../request/BodyBudget.ts"
import * as Compression from "../request/Compression.ts"
import * as Redaction from "../request/Redaction.ts"
import * as RequestLog from "../request/RequestLog.ts"
import * as Unmatched from "../request/Unmatched.ts"
import { CallerCheck } from "../trigger/CallerCheck.ts"
import * as TriggerRoutes from "../trigger/TriggerRoutes.ts"

/** `/webhook/trigger/…`: enough for a host that only lets callers trigger webhooks. */
export const trigger = Layer.merge(
  Layer.provide(TriggerRoutes.layer, Layer.mergeAll(BodyBudget.layer, CallerCheck.layer, RunEvents.layer)),
  Redaction.layer
)

/** Services of every server of `@effect/platform`. */
type Server = Etag.Generator | FileSystem.FileSystem | HttpRouter.HttpRouter | HttpPlatform.HttpPlatform | Path.Path

type Engine =
  | AdminKey
  | ApiKeys
  | Approvals
  | Cancellation
  | Alerts
  | Destinations
  | HttpLeaders
  | LeaderKeys
  | Overview
  | Replay
  | Repo
  | RunWatch
  | StoredRequests
  | Settings
  | Teams
  | Threads
  | Trigger
  | Webhooks

/**
 * `/api/…`: teams, webhooks, the history and sessions, for anyone with a key whose role and teams allow it. `/mcp`:
 * webhooks as tools for AI assistants, for the same keys. `/leader/…`: a team's prompts, for anyone with a key of its
 * leader.
 */
export const management: Layer.Layer<never, never, Engine | Server> = HttpApiBuilder.layer(Management).pipe(
  Layer.provide([
    TeamsHandlers.layer,
    LeadingHandlers.layer,
    WebhooksHandlers.layer,
    DestinationsHandlers.layer,
    AccessHandlers.layer,
    AlertsHandlers.layer,
    ConfigHandlers.layer,
    RunsHandlers.layer,
    AuditHandlers.layer,
    SessionHandlers.layer,
    OverviewHandlers.layer
  ]),
  Layer.provide([Auth.layer, LeaderKeyCheck.layer]),
  // Handlers record audit events.
  HttpRouter.provideRequest(Layer.effect(AuditStore, AuditStore)),
  Layer.provide(Compression.layer),
  Layer.provide(RequestLog.layer),
  Layer.merge(McpRoutes.layer),
  Layer.merge(SignInRoutes.layer),
  Layer.merge(Unmatched.methodNotAllowed(Unmatched.apiPaths())),
  Layer.provide([KeyCheck.layer, Sessions.layer, SignInLink.layer, OidcProvider.layer]),
  Layer.provide([Events.layer, RunEvents.layer, RunExport.layer])
)

/** `/health/…`, `/metrics`, `/openapi.json`, `/docs`, and the guides below it. */
export const operations = Layer.mergeAll(Health.layer, Prometheus.layer, OpenApi.layer, Docs.layer, Guides.layer)

/** The web UI, if it was built: at `/`, or at the path of `UiPath`. Needs `management`. */
export const ui = Ui.layer

/** All routes. */
export const layer = Layer.mergeAll(trigger, management, operations, ui)

/** For a server of its own: an unknown path is answered with a problem, or with a page to a browser. */
export const notFound = Ui.notFound
