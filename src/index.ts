/**
 * The webhook trigger service as layers, for a host that runs it inside an Effect API server of its own:
 * `Routes.layer` for its `HttpLayerRouter`, on `Engine.layer`, on the `Repo`, `Bus`, `Limiter` and `Renderer` it
 * chooses. Drivers have entries of their own: `webhook-trigger/postgres`, `/pglite` and `/amqp`. See docs/embedding.md.
 */

// The ports, to use or to write a driver for.
export * from "./bus/Bus.ts"
// Records and errors.
export * from "./domain/Errors.ts"
export { makeRunId, makeWebhookId, RunId, WebhookId } from "./domain/Id.ts"
export {
  isFinal,
  type Outcome,
  Run,
  RunError,
  RunMode,
  RunRow,
  RunSource,
  RunStatus,
  toRun,
  Variables
} from "./domain/Run.ts"
export type { FinalStatus } from "./domain/RunStatus.ts"
export type { Counts, RunBucket, Statistics, StatisticsRange } from "./domain/Statistics.ts"
export { Team, TeamName, type TeamRecord } from "./domain/Team.ts"
export type { TokenHash } from "./domain/Token.ts"
export { Webhook, WebhookDraft, WebhookEdit, WebhookRow } from "./domain/Webhook.ts"
// The engine.
export { AdminKey } from "./engine/AdminKey.ts"
export { type Checkpoint, Checkpoints } from "./engine/Checkpoints.ts"
export * as Engine from "./engine/Engine.ts"
export { Limiter, type SlotRequest, type Usage } from "./engine/Limiter.ts"
export { Overview } from "./engine/Overview.ts"
export { Renderer } from "./engine/Renderer.ts"
export * as Retention from "./engine/Retention.ts"
export { Settings, type SettingsValues } from "./engine/Settings.ts"
export { Shutdown } from "./engine/Shutdown.ts"
export { Teams } from "./engine/Teams.ts"
export { hashToken, isTokenShaped, makeToken, type Token, tokenHint } from "./engine/Token.ts"
export { type Refused, type Submitted, Trigger, type TriggerRequest } from "./engine/Trigger.ts"
export { type Preview, Webhooks, type WithToken } from "./engine/Webhooks.ts"
// HTTP.
export { PublicUrl } from "./http/PublicUrl.ts"
export * as Routes from "./http/Routes.ts"
export { ServerFacts } from "./http/ServerFacts.ts"
export * from "./repo/AdminKeyStore.ts"
export * from "./repo/ChangeFeed.ts"
export { decodeCursor, encodeCursor } from "./repo/Cursor.ts"
export * from "./repo/HistoryStore.ts"
export * from "./repo/LaneStore.ts"
export * from "./repo/LeaseStore.ts"
export { Repo } from "./repo/Repo.ts"
export * from "./repo/RunStore.ts"
export * from "./repo/TeamStore.ts"
export * from "./repo/WebhookStore.ts"
