/**
 * The webhook trigger service as layers, for a host that runs it inside an Effect API server of its own:
 * `Routes.layer` for its `HttpRouter`, on `Engine.layer`, on the `Repo`, `Bus`, `Limiter` and `Renderer` it
 * chooses. Drivers have entries of their own: `webhook-trigger/postgres`, `/pglite` and `/amqp`. See docs/internals/embedding.md.
 */

// The layers of a server.

export { AdminKey } from "./engine/access/AdminKey.ts"
export { type ClientAuthentication, Oidc, type OidcSettings } from "./engine/access/oidc/OidcSettings.ts"
export * as Engine from "./engine/Engine.ts"
export { Settings, type SettingsValues } from "./engine/Settings.ts"
export { Shutdown } from "./engine/Shutdown.ts"
export * as AuditOutput from "./engine/upkeep/AuditOutput.ts"
export * as DatabaseClock from "./engine/upkeep/DatabaseClock.ts"
export { auditRetention, runRetention, stepsRetention } from "./engine/upkeep/Upkeep.ts"
export { parseKey, type SecretKey, SecretKeys } from "./engine/verify/SecretKeys.ts"
export { PublicUrl } from "./http/request/PublicUrl.ts"
export { TrustedProxies } from "./http/request/TrustedProxies.ts"
export { UiPath } from "./http/request/UiPath.ts"
export { ConnectionLimits } from "./http/serve/ConnectionLimits.ts"
export * as Connections from "./http/serve/Connections.ts"
export * as Drain from "./http/serve/Drain.ts"
export { CannotListen } from "./http/serve/Listener.ts"
export * as NodeServer from "./http/serve/NodeServer.ts"
export * as Routes from "./http/serve/Routes.ts"
export type * from "./repo/Repo.ts"
export { type Bucket, FileBucket } from "./repo/run/FileBucket.ts"
export * as S3 from "./repo/s3/S3.ts"

// Services for the host's own code, their records and errors.

export * from "./domain/Errors.ts"
export { WebhookId } from "./domain/Id.ts"
export { Team, TeamName } from "./domain/Team.ts"
export { Webhook, WebhookDraft, WebhookEdit } from "./domain/webhook/Webhook.ts"
export type { JsonObject, Retries, Singleton, Window } from "./domain/webhook/WebhookSettingKinds.ts"
export { Origin, type OriginValues } from "./engine/access/Audit.ts"
export { Teams } from "./engine/manage/Teams.ts"
export { Webhooks, type WithToken } from "./engine/manage/Webhooks.ts"
export { Trigger } from "./engine/trigger/Trigger.ts"

// The bus in this process, and what a host's own bus consists of.

export {
  Bus,
  type Correlation,
  type DeadLettered,
  type Delivery,
  type FileReply,
  type Inspection,
  LeaderBus,
  type LeaderReply,
  type Prompt,
  type PromptThread,
  QueueGone,
  type Reply,
  type ReplyChecks,
  type ReplyHandler,
  type RunProgress,
  type Subject,
  type TeamQueue,
  type WantedFile
} from "./bus/Bus.ts"
export * as BusMemory from "./bus/BusMemory.ts"
export { RunId, type ThreadId } from "./domain/Id.ts"
export type { AgentReport } from "./domain/run/AgentReport.ts"
export type { RunFile, SentFile } from "./domain/run/RunFile.ts"
export type { RunSource } from "./domain/run/RunSource.ts"

// The parts of a host's own limiter or renderer.

export type { PromptLayout } from "./domain/prompt/PromptLayout.ts"
export type { Variables } from "./domain/run/Run.ts"
export type { Evaluator } from "./engine/prompt/Evaluator.ts"
export {
  type LanguageOptions,
  type Place,
  type Rendered,
  Renderer,
  type RenderOptions,
  type RenderRefused
} from "./engine/prompt/Renderer.ts"
export { Limiter } from "./engine/step/Limiter.ts"
export type { SlotLimits } from "./repo/run/RunStore.ts"

// The engine's other services: names for a host's inferred types.

export type { ApiKeys } from "./engine/access/ApiKeys.ts"
export type { LeaderKeys } from "./engine/access/LeaderKeys.ts"
export type { Alerts } from "./engine/alert/Alerts.ts"
export type { Destinations } from "./engine/delivery/Destinations.ts"
export type { TeamLeaders } from "./engine/leaders/TeamLeaders.ts"
export type { Approvals } from "./engine/manage/Approvals.ts"
export type { Cancellation } from "./engine/manage/Cancellation.ts"
export type { Overview } from "./engine/manage/Overview.ts"
export type { StoredRequests } from "./engine/manage/StoredRequests.ts"
export type { Threads } from "./engine/manage/Threads.ts"
export type { Outcomes } from "./engine/outcome/Outcomes.ts"
export type { ProgressReports } from "./engine/progress/ProgressReports.ts"
export type { RunWatch } from "./engine/progress/RunWatch.ts"
export type { Replay } from "./engine/replay/Replay.ts"
export type { HttpLeaders } from "./engine/reply/HttpLeaders.ts"
export type { SlackActions } from "./engine/slack/SlackActions.ts"
export type { SnsRequests } from "./engine/verify/SnsRequests.ts"
export type { TokenKeys } from "./engine/verify/TokenKeys.ts"
