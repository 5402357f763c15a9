/**
 * The webhook trigger service as layers, for a host that runs it inside an Effect API server of its own:
 * `Routes.layer` for its `HttpLayerRouter`, on `Engine.layer`, on the `Repo`, `Bus`, `Limiter` and `Renderer` it
 * chooses. Drivers have entries of their own: `webhook-trigger/postgres`, `/pglite` and `/amqp`. See docs/embedding.md.
 */

// The port of the bus, with the bus in this process.
export {
  Bus,
  type Correlation,
  type DeadLettered,
  type Delivery,
  type Inspection,
  LeaderBus,
  type LeaderReply,
  type Prompt,
  QueueGone,
  type Reply,
  type ReplyChecks,
  type Subject,
  type TeamQueue
} from "./bus/Bus.ts"
export * as BusMemory from "./bus/BusMemory.ts"
// Errors and records.
export {
  AuditAction,
  AuditActor,
  type AuditDraft,
  AuditEvent,
  auditedFields,
  auditedLength
} from "./domain/AuditEvent.ts"
export {
  ChangedMeanwhile,
  Fault,
  FilterFailed,
  IdempotencyKeyReused,
  Invalid,
  InvalidBody,
  InvalidParameter,
  InvalidVariables,
  MissingVariables,
  NotFound,
  NotVerified,
  PromptTooLarge,
  RateLimited,
  RunEnded,
  SchemaMismatch,
  TeamExists,
  TeamInUse,
  TeamNotRunning,
  TeamUnknown,
  TemplateFailed,
  TemplateInvalid,
  TooManyAttempts,
  TooManyQueued,
  Unavailable,
  UnsupportedMediaType,
  WebhookDisabled
} from "./domain/Errors.ts"
export { AuditEventId, makeRunId, makeSessionId, makeWebhookId, RunId, SessionId, WebhookId } from "./domain/Id.ts"
export type { IncomingRequest, RequestValues } from "./domain/IncomingRequest.ts"
export type { FormFields } from "./domain/Payload.ts"
export type { PromptLayout } from "./domain/PromptLayout.ts"
export { parseRate, type Rate } from "./domain/Rate.ts"
export { isAccepted, ReceivedRequest } from "./domain/ReceivedRequest.ts"
export {
  isAnswer,
  leaderless,
  type Outcome,
  outcomeFields,
  Run,
  RunError,
  RunMode,
  RunRow,
  RunSource,
  RunStatus,
  retryAt,
  toRun,
  Variables
} from "./domain/Run.ts"
export { RunState, stateFields, toRunState } from "./domain/RunState.ts"
export { type FinalStatus, finalStatuses, isFinal, runStatuses } from "./domain/RunStatus.ts"
export { RunSummary, type SummaryRow, summarize, toRunSummary } from "./domain/RunSummary.ts"
export type { Session, SessionRow } from "./domain/Session.ts"
export type { Counts, RunBucket, Statistics, StatisticsRange } from "./domain/Statistics.ts"
export { storable } from "./domain/StorableText.ts"
export { Team, TeamName, type TeamRecord } from "./domain/Team.ts"
export { templateOf } from "./domain/TemplateChanges.ts"
export { TemplateVersion, TemplateVersionSummary, templatesKept } from "./domain/TemplateVersion.ts"
export type { TokenHash } from "./domain/Token.ts"
export { Verification } from "./domain/Verification.ts"
export { Webhook, WebhookDraft, WebhookEdit, WebhookRow } from "./domain/Webhook.ts"
// The engine and its services.
export type { JsonObject, Retries, Window } from "./domain/WebhookSettingKinds.ts"
export type { Candidate } from "./engine/Acceptance.ts"
export { AdminKey } from "./engine/AdminKey.ts"
export { Origin, type OriginValues } from "./engine/Audit.ts"
export * as AuditRetention from "./engine/AuditRetention.ts"
export { Cancellation, type CancelledCounts, type CancelOptions } from "./engine/Cancellation.ts"
export type { MessageRequest } from "./engine/Candidates.ts"
export { CurrentLanes } from "./engine/CurrentLanes.ts"
export * as DatabaseClock from "./engine/DatabaseClock.ts"
export type { Draft, DraftPreview, PreviewDraft } from "./engine/DraftPreview.ts"
export * as Engine from "./engine/Engine.ts"
export { type Earlier, HandOver, type HandOverRefused } from "./engine/HandOver.ts"
export type { Sample } from "./engine/Input.ts"
export type { KnownRequest } from "./engine/KeptRequest.ts"
export type { Lanes } from "./engine/Lanes.ts"
export { Limiter, type SlotRequest, type Usage } from "./engine/Limiter.ts"
export type { Progress } from "./engine/Marks.ts"
export { type OnEnd, Outcomes } from "./engine/Outcomes.ts"
export { Overview } from "./engine/Overview.ts"
export {
  type LanguageOptions,
  type Place,
  type Rendered,
  Renderer,
  type RenderOptions,
  type RenderRefused
} from "./engine/Renderer.ts"
export { Replay, type Replayed, type ReplayFilter, type ReplayRefused, type ReplayRequest } from "./engine/Replay.ts"
export { Requests } from "./engine/Requests.ts"
export * as Retention from "./engine/Retention.ts"
export { parseKey, type SecretKey, SecretKeys, type SecretKeysService } from "./engine/SecretKeys.ts"
export { type NewSession, Sessions } from "./engine/Sessions.ts"
export { Settings, type SettingsValues } from "./engine/Settings.ts"
export { Shutdown } from "./engine/Shutdown.ts"
export type { Handed } from "./engine/Submit.ts"
export { Teams } from "./engine/Teams.ts"
export type { Token } from "./engine/Token.ts"
export { type Refused, type Submitted, Trigger, type TriggerRefused, type TriggerRequest } from "./engine/Trigger.ts"
export { type Preview, Webhooks, type WithToken } from "./engine/Webhooks.ts"
// HTTP.
export { ConnectionLimits, type Limits as ConnectionLimitsValues } from "./http/ConnectionLimits.ts"
export * as Connections from "./http/Connections.ts"
export * as Drain from "./http/Drain.ts"
export { CannotListen } from "./http/Listener.ts"
export * as NodeServer from "./http/NodeServer.ts"
export { PublicUrl } from "./http/PublicUrl.ts"
export * as Routes from "./http/Routes.ts"
export { ServerFacts, type ServerFactsValues } from "./http/ServerFacts.ts"
export { type Networks, TrustedProxies } from "./http/TrustedProxies.ts"
// The ports of the rows, and what a driver of them needs.
export { AdminKeyStore } from "./repo/AdminKeyStore.ts"
export { type AuditPage, type AuditQuery, AuditStore, decodeAuditCursor } from "./repo/AuditStore.ts"
export { type Change, ChangeFeed, type ChangeListener, makeChangeListeners } from "./repo/ChangeFeed.ts"
export { decodeCursor, decodeIdCursor, encodeCursor } from "./repo/Cursor.ts"
export { HistoryStore, type ReplayableQuery, type StatesQuery, type WholeRun } from "./repo/HistoryStore.ts"
export { type LaneRun, LaneStore, type Queued } from "./repo/LaneStore.ts"
export { LeaseLost, LeaseStore, type ProcessLock, type Term } from "./repo/LeaseStore.ts"
export { type ReplyKey, ReplyKeyStore } from "./repo/ReplyKeyStore.ts"
export type { Repo } from "./repo/Repo.ts"
export { RequestStore } from "./repo/RequestStore.ts"
export { fulfils, type RunFilter, type RunPage, type RunQuery, searchedId } from "./repo/RunQuery.ts"
export {
  type Acceptance,
  type AcceptanceRefused,
  type AcceptOptions,
  type Admission,
  type EndedRun,
  type ExpireOptions,
  firstOfEach,
  isRetry,
  mostAhead,
  type NewRun,
  type QueuedRuns,
  type RunEnd,
  type RunMark,
  RunStore,
  sentBefore,
  WebhookEdited
} from "./repo/RunStore.ts"
export { SecretKeyStore } from "./repo/SecretKeyStore.ts"
export { SessionStore } from "./repo/SessionStore.ts"
export { TeamStore } from "./repo/TeamStore.ts"
export { TimeStore } from "./repo/TimeStore.ts"
export {
  type FirstVerified,
  type NewWebhook,
  type OldTokenUse,
  type WebhookChange,
  WebhookStore
} from "./repo/WebhookStore.ts"
