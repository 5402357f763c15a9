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
  type RunProgress,
  type Subject,
  type TeamQueue
} from "./bus/Bus.ts"
export * as BusMemory from "./bus/BusMemory.ts"
export { ApiKey, ApiKeyDraft, type ApiKeyRow } from "./domain/access/ApiKey.ts"
// Errors and records.
export {
  AuditAction,
  AuditActor,
  type AuditDraft,
  AuditEvent,
  auditedFields,
  auditedLength
} from "./domain/access/AuditEvent.ts"
export { type GrantLimits, includesTeam, includesWebhook } from "./domain/access/Grant.ts"
export { LeaderKey, LeaderKeyDraft, type LeaderKeyRow } from "./domain/access/LeaderKey.ts"
export type { Session, SessionRow } from "./domain/access/Session.ts"
export { Alert, AlertState, describeAlert } from "./domain/alert/Alert.ts"
export {
  type AlertCondition,
  type AlertConditionData,
  alertConditions,
  describeMeasured,
  pausedCondition
} from "./domain/alert/AlertCondition.ts"
export { AlertRule, AlertRuleDraft, AlertRuleEdit } from "./domain/alert/AlertRule.ts"
export { DeliveryAttempt, DeliveryStatus, EventDelivery } from "./domain/delivery/Delivery.ts"
export {
  Destination,
  DestinationDraft,
  DestinationEdit,
  DestinationRow,
  toDestination
} from "./domain/delivery/Destination.ts"
export {
  type AlertEvent,
  alertEvents,
  type DestinationEvent,
  type DestinationRunEvent,
  eventOfStatus,
  type RunEndEvent,
  runEndEvents,
  runEvents,
  startEvent
} from "./domain/delivery/DestinationEvent.ts"
export {
  BudgetExceeded,
  EditConflict,
  Fault,
  FilterFailed,
  Forbidden,
  IdempotencyKeyReused,
  Invalid,
  InvalidBody,
  InvalidParameter,
  InvalidVariables,
  MissingVariables,
  NotFound,
  NotVerified,
  PromptLost,
  PromptTooLarge,
  RateLimited,
  RunEnded,
  RunUnfinished,
  SchemaMismatch,
  TeamExists,
  TeamInUse,
  TeamNotRunning,
  TeamUnknown,
  TemplateFailed,
  TemplateInvalid,
  ThreadEnded,
  ThreadKeyTooLong,
  TooManyAttempts,
  TooManyQueued,
  TooManyStreams,
  Unauthorized,
  Unavailable,
  UnsupportedMediaType,
  WebhookDisabled,
  WebhookPaused
} from "./domain/Errors.ts"
export {
  AlertId,
  AlertRuleId,
  ApiKeyId,
  AuditEventId,
  DeliveryId,
  DestinationId,
  LeaderId,
  LeaderKeyId,
  makeApiKeyId,
  makeLeaderKeyId,
  makeRunId,
  makeSessionId,
  makeWebhookId,
  RunId,
  SessionId,
  ThreadId,
  WebhookId
} from "./domain/Id.ts"
export type { PromptLayout } from "./domain/prompt/PromptLayout.ts"
export { templateOf } from "./domain/prompt/TemplateChanges.ts"
export { TemplateVersion, TemplateVersionSummary, templatesKept } from "./domain/prompt/TemplateVersion.ts"
export type { IncomingRequest, RequestValues } from "./domain/request/IncomingRequest.ts"
export type { FormFields } from "./domain/request/Payload.ts"
export { kindOf, ReceivedRequest, type RequestKind } from "./domain/request/ReceivedRequest.ts"
export { AgentReport, AgentUsage, RunLink, readReport, reportOf } from "./domain/run/AgentReport.ts"
export {
  CancelledBy,
  earlierRunOf,
  isAnswer,
  noLeaderInTime,
  type Outcome,
  outcomeFields,
  Run,
  RunError,
  RunMode,
  RunRow,
  RunStatus,
  retryAt,
  toRun,
  Variables
} from "./domain/run/Run.ts"
export { RunSource } from "./domain/run/RunSource.ts"
export { RunState, stateFields, toRunState } from "./domain/run/RunState.ts"
export { type FinalStatus, finalStatuses, isFinal, runStatuses } from "./domain/run/RunStatus.ts"
export { RunSummary, type SummaryRow, summarize, toRunSummary } from "./domain/run/RunSummary.ts"
export { ReportedUsage, RunUsage } from "./domain/run/RunUsage.ts"
export type { Counts, RunBucket, Statistics, StatisticsRange } from "./domain/run/Statistics.ts"
export { addUsage, noUsage, usageOfOne } from "./domain/run/UsageSum.ts"
export { storable } from "./domain/StorableText.ts"
export { Team, TeamName, type TeamRecord } from "./domain/Team.ts"
export { maxThreadKey, RunThread, Thread, ThreadKey, threadKeyOf } from "./domain/Thread.ts"
export { Verification } from "./domain/verification/Verification.ts"
export { type Budget, budgetDay, budgetExceeded, countedCost, type DayUse } from "./domain/webhook/Budget.ts"
export { parseRate, type Rate } from "./domain/webhook/Rate.ts"
export type { TokenHash } from "./domain/webhook/Token.ts"
export { Webhook, WebhookDraft, WebhookEdit, WebhookRow } from "./domain/webhook/Webhook.ts"
// The engine and its services.
export type { JsonObject, Retries, Window } from "./domain/webhook/WebhookSettingKinds.ts"
export type { Candidate } from "./engine/accept/Acceptance.ts"
export type { MessageRequest } from "./engine/accept/Candidates.ts"
export { type ExistingRun, HandOver, type HandOverRefused } from "./engine/accept/HandOver.ts"
export {
  Replay,
  type Replayed,
  type ReplayFilter,
  type ReplayRefused,
  type ReplayRequest
} from "./engine/accept/Replay.ts"
export type { AcceptedOrEnded } from "./engine/accept/Submit.ts"
export {
  type ReadFor,
  type Refused,
  type Submitted,
  Trigger,
  type Triggered,
  type TriggerRefused,
  type TriggerRequest
} from "./engine/accept/Trigger.ts"
export { AdminKey } from "./engine/access/AdminKey.ts"
export { ApiKeys, type NewApiKey } from "./engine/access/ApiKeys.ts"
export { Origin, type OriginValues, type Requester } from "./engine/access/Audit.ts"
export { LeaderKeys, type NewLeaderKey } from "./engine/access/LeaderKeys.ts"
export type { AccessToken } from "./engine/access/oidc/AccessTokens.ts"
export type { GroupRole } from "./engine/access/oidc/GroupRoles.ts"
export { type ClientAuthentication, Oidc, type OidcSettings } from "./engine/access/oidc/OidcSettings.ts"
export type { SignedInPerson } from "./engine/access/oidc/Provider.ts"
export { type NewSession, type OpenSession, Sessions } from "./engine/access/Sessions.ts"
export { Alerts } from "./engine/alert/Alerts.ts"
export { AddressPolicy, type AddressPolicyService, type Allowed } from "./engine/delivery/AddressPolicy.ts"
export type { Receives } from "./engine/delivery/DestinationChecks.ts"
export { type DeliveryFilter, Destinations, type OwnerId, type WithSecret } from "./engine/delivery/Destinations.ts"
export type { Sent } from "./engine/delivery/kinds/Sender.ts"
export { type Email, Mailer, type MailerService, type MailSettings } from "./engine/delivery/mail/Mailer.ts"
export type { Sender as EmailSender, SmtpServer } from "./engine/delivery/mail/SmtpServer.ts"
export { Outbox, type Tested } from "./engine/delivery/Outbox.ts"
export { type Answer, NoAnswer, type Post, Poster } from "./engine/delivery/Poster.ts"
export type { Resolve } from "./engine/delivery/Resolver.ts"
export {
  type AcceptResult,
  type AdmittingLanes,
  CurrentLanes,
  type Reservation
} from "./engine/dispatch/CurrentLanes.ts"
export { Limiter, type SlotRequest, type Usage } from "./engine/dispatch/Limiter.ts"
export * as Engine from "./engine/Engine.ts"
export { HttpLeaders, type HttpReply } from "./engine/leaders/HttpLeaders.ts"
export { Cancellation, type CancelledCounts, type CancelOptions } from "./engine/manage/Cancellation.ts"
export { Overview } from "./engine/manage/Overview.ts"
export type { RequestToStore } from "./engine/manage/RequestToStore.ts"
export { type ListedRequests, StoredRequests, type UncodedRequest } from "./engine/manage/StoredRequests.ts"
export { Teams } from "./engine/manage/Teams.ts"
export { Threads } from "./engine/manage/Threads.ts"
export { Webhooks, type WithToken } from "./engine/manage/Webhooks.ts"
export { Correlation as RunCorrelation } from "./engine/outcome/Correlation.ts"
export { type AdmissionWithEnds, type AdmitWithEnds, type OnEnd, Outcomes } from "./engine/outcome/Outcomes.ts"
export { ReplyRecorder } from "./engine/outcome/ReplyRecorder.ts"
export type { Progress } from "./engine/outcome/SentAndStarted.ts"
export type { Waiting } from "./engine/outcome/Waiting.ts"
export { ProgressReports } from "./engine/progress/ProgressReports.ts"
export type { Progressed, RunUpdate } from "./engine/progress/RunUpdate.ts"
export { RunWatch } from "./engine/progress/RunWatch.ts"
export type { Draft, DraftPreview, PreviewDraft } from "./engine/prompt/DraftPreview.ts"
export type { Sample } from "./engine/prompt/Input.ts"
export type { InputChecks } from "./engine/prompt/InputChecks.ts"
export {
  type LanguageOptions,
  type Place,
  type Rendered,
  Renderer,
  type RenderOptions,
  type RenderRefused
} from "./engine/prompt/Renderer.ts"
export type { Preview, PreviewRefused } from "./engine/prompt/WebhookPreview.ts"
export { Settings, type SettingsValues } from "./engine/Settings.ts"
export { Shutdown } from "./engine/Shutdown.ts"
export * as AuditOutput from "./engine/upkeep/AuditOutput.ts"
export * as DatabaseClock from "./engine/upkeep/DatabaseClock.ts"
export { auditRetention, runRetention } from "./engine/upkeep/Upkeep.ts"
export type { Certificate as SnsCertificate } from "./engine/verify/AmazonSns.ts"
export { parseKey, type SecretKey, SecretKeys, type SecretKeysService } from "./engine/verify/SecretKeys.ts"
export { SnsRequests } from "./engine/verify/SnsRequests.ts"
export type { Token } from "./engine/verify/Token.ts"
export { ServerFacts, type ServerFactsValues } from "./http/manage/ServerFacts.ts"
export { PublicUrl } from "./http/request/PublicUrl.ts"
export { TrustedProxies } from "./http/request/TrustedProxies.ts"
export { UiPath } from "./http/request/UiPath.ts"
// HTTP.
export { ConnectionLimits, type Limits as ConnectionLimitsValues } from "./http/serve/ConnectionLimits.ts"
export * as Connections from "./http/serve/Connections.ts"
export * as Drain from "./http/serve/Drain.ts"
export { CannotListen } from "./http/serve/Listener.ts"
export * as NodeServer from "./http/serve/NodeServer.ts"
export * as Routes from "./http/serve/Routes.ts"
// The ports of the rows, and what a driver of them needs.
export { AdminKeyStore } from "./repo/access/AdminKeyStore.ts"
export { ApiKeyStore } from "./repo/access/ApiKeyStore.ts"
export {
  type AuditExportQuery,
  type AuditFilter,
  type AuditPage,
  type AuditQuery,
  AuditStore,
  decodeAuditCursor
} from "./repo/access/AuditStore.ts"
export { LeaderKeyStore } from "./repo/access/LeaderKeyStore.ts"
export { type Owned, OwnerStore } from "./repo/access/OwnerStore.ts"
export { type ReplyKey, ReplyKeyStore } from "./repo/access/ReplyKeyStore.ts"
export { SecretKeyStore } from "./repo/access/SecretKeyStore.ts"
export { SessionStore } from "./repo/access/SessionStore.ts"
export {
  type AlertChanges,
  type Breach,
  changesOf,
  keyOf,
  type Measurement,
  quietTime,
  type StoredAlert
} from "./repo/alert/AlertChanges.ts"
export { type AlertQuery, type AlertRuleChange, AlertStore } from "./repo/alert/AlertStore.ts"
export { type Change, ChangeFeed, type ChangeListener, makeChangeListeners } from "./repo/ChangeFeed.ts"
export { bucketOf } from "./repo/delivery/CallerBucket.ts"
export {
  type About,
  type AttemptResult,
  type ClaimOptions,
  type DeliveryPage,
  type DeliveryQuery,
  DeliveryStore,
  type DueDelivery,
  type InProgress,
  movedAttempt,
  storedAttempts
} from "./repo/delivery/DeliveryStore.ts"
export {
  type DestinationChange,
  DestinationStore,
  type FaultBeside,
  type Owner,
  type SealedFields
} from "./repo/delivery/DestinationStore.ts"
export { decodeCursor, decodeIdCursor, decodeTimeCursor, encodeCursor } from "./repo/history/Cursor.ts"
export { HistoryStore, type ReplayableQuery, type StatesQuery, type WholeRun } from "./repo/history/HistoryStore.ts"
export { type IgnoredCount, RequestStore } from "./repo/history/RequestStore.ts"
export { fulfils, type RunFilter, type RunPage, type RunQuery, searchedId } from "./repo/history/RunQuery.ts"
export { TeamStore } from "./repo/manage/TeamStore.ts"
export {
  type FirstVerified,
  type NewWebhook,
  type OldTokenUse,
  type WebhookChange,
  WebhookStore
} from "./repo/manage/WebhookStore.ts"
export type { Repo } from "./repo/Repo.ts"
export {
  type AskingLeader,
  absentAfter,
  type HttpLeader,
  HttpLeaderStore,
  type KeyedLeader,
  type OfferedPrompt,
  type PromptState,
  renewedAfter,
  replacedAfter,
  replacedAfterClose,
  type TakenPrompt
} from "./repo/run/HttpLeaderStore.ts"
export { type LaneRun, LaneStore, type LaneThread, type Queued } from "./repo/run/LaneStore.ts"
export { LeaseLost, LeaseStore, type ProcessLock, type Term } from "./repo/run/LeaseStore.ts"
export {
  keptText,
  type ProgressMark,
  type ProgressNews,
  type ProgressReport,
  ProgressStore,
  type ProgressText,
  type RunNews,
  shortestReport
} from "./repo/run/ProgressStore.ts"
export {
  addsLate,
  type EndedRun,
  firstOfEach,
  type LateReport,
  type RunEnd,
  type RunEvent,
  sentBefore,
  timesOfEnd
} from "./repo/run/RunEnd.ts"
export {
  type Acceptance,
  type AcceptanceRefused,
  type AcceptOptions,
  type Admission,
  type ExpireOptions,
  isRetry,
  mostAhead,
  type NewRun,
  type QueuedRuns,
  RunStore,
  WebhookEdited
} from "./repo/run/RunStore.ts"
export { type ThreadPage, type ThreadQuery, ThreadStore } from "./repo/run/ThreadStore.ts"
export { TimeStore } from "./repo/TimeStore.ts"
export type { Networks } from "./runtime/Networks.ts"
