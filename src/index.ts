/**
 * The webhook trigger service as layers, for a host that runs it inside an Effect API server of its own:
 * `Routes.layer` for its `HttpLayerRouter`, on `Engine.layer`, on the `Repo`, `Bus`, `Limiter` and `Renderer` it
 * chooses. Drivers have entries of their own: `webhook-trigger/postgres`, `/pglite` and `/amqp`. See docs/embedding.md.
 */

// What a bus of the host's own consists of, and the bus in this process.
export {
  type Answerable,
  Bus,
  type Correlation,
  type DeadLettered,
  type Delivery,
  type Inspection,
  LeaderBus,
  type LeaderReply,
  type Prompt,
  type PromptThread,
  QueueGone,
  type Reply,
  type ReplyChecks,
  type RunProgress,
  type Subject,
  type TeamQueue
} from "./bus/Bus.ts"
export * as BusMemory from "./bus/BusMemory.ts"
// What a limiter or a renderer of the host's own consists of.
export { MissingVariables, PromptTooLarge, TemplateFailed, TemplateInvalid, Unavailable } from "./domain/Errors.ts"
// Services for the host's own code, with their records and errors.
export { RunId, type ThreadId, WebhookId } from "./domain/Id.ts"
export type { PromptLayout } from "./domain/prompt/PromptLayout.ts"
export type { AgentReport } from "./domain/run/AgentReport.ts"
export type { Variables } from "./domain/run/Run.ts"
export type { RunSource } from "./domain/run/RunSource.ts"
export { Team, TeamName } from "./domain/Team.ts"
export { Webhook, WebhookDraft, WebhookEdit } from "./domain/webhook/Webhook.ts"
// Services of the engine, so that a host's inferred types have names for them.
export type { Replay } from "./engine/accept/Replay.ts"
export { Trigger } from "./engine/accept/Trigger.ts"
// The layers of a server.
export { AdminKey } from "./engine/access/AdminKey.ts"
export type { ApiKeys } from "./engine/access/ApiKeys.ts"
export { Origin, type OriginValues } from "./engine/access/Audit.ts"
export type { LeaderKeys } from "./engine/access/LeaderKeys.ts"
export { type ClientAuthentication, Oidc, type OidcSettings } from "./engine/access/oidc/OidcSettings.ts"
export type { Alerts } from "./engine/alert/Alerts.ts"
export type { Destinations } from "./engine/delivery/Destinations.ts"
export { Limiter, type SlotRequest, type Usage } from "./engine/dispatch/Limiter.ts"
export * as Engine from "./engine/Engine.ts"
export type { HttpLeaders } from "./engine/leaders/HttpLeaders.ts"
export type { Cancellation } from "./engine/manage/Cancellation.ts"
export type { Overview } from "./engine/manage/Overview.ts"
export type { StoredRequests } from "./engine/manage/StoredRequests.ts"
export { Teams } from "./engine/manage/Teams.ts"
export type { Threads } from "./engine/manage/Threads.ts"
export { Webhooks, type WithToken } from "./engine/manage/Webhooks.ts"
export type { Outcomes } from "./engine/outcome/Outcomes.ts"
export type { ProgressReports } from "./engine/progress/ProgressReports.ts"
export type { RunWatch } from "./engine/progress/RunWatch.ts"
export {
  type LanguageOptions,
  type Place,
  type Rendered,
  Renderer,
  type RenderOptions,
  type RenderRefused
} from "./engine/prompt/Renderer.ts"
export { Settings, type SettingsValues } from "./engine/Settings.ts"
export { Shutdown } from "./engine/Shutdown.ts"
export * as AuditRetention from "./engine/upkeep/AuditRetention.ts"
export * as DatabaseClock from "./engine/upkeep/DatabaseClock.ts"
export * as Retention from "./engine/upkeep/Retention.ts"
export { parseKey, type SecretKey, SecretKeys } from "./engine/verify/SecretKeys.ts"
export type { SnsRequests } from "./engine/verify/SnsRequests.ts"
export { PublicUrl } from "./http/request/PublicUrl.ts"
export { TrustedProxies } from "./http/request/TrustedProxies.ts"
export { UiPath } from "./http/request/UiPath.ts"
export * as Connections from "./http/serve/Connections.ts"
export * as Drain from "./http/serve/Drain.ts"
export { CannotListen } from "./http/serve/Listener.ts"
export * as NodeServer from "./http/serve/NodeServer.ts"
export * as Routes from "./http/serve/Routes.ts"
export type { Repo } from "./repo/Repo.ts"
