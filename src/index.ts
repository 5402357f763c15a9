/**
 * The webhook trigger service as layers, for a host that runs it inside an Effect API server of its own:
 * `Routes.layer` for its `HttpLayerRouter`, on `Engine.layer`, on the `Repo`, `Bus`, `Limiter` and `Renderer` it
 * chooses. See docs/embedding.md.
 */
export * as BusAmqp from "./bus/amqp/BusAmqp.ts"
export { Bus, type Delivery, LeaderBus, type Prompt, QueueGone, type Report, type TeamQueue } from "./bus/Bus.ts"
export * as BusMemory from "./bus/BusMemory.ts"
export * from "./domain/Errors.ts"
export { RunId, WebhookId } from "./domain/Id.ts"
export { type Outcome, Run, RunStatus, type Variables } from "./domain/Run.ts"
export { Team, TeamName } from "./domain/Team.ts"
export { Webhook, WebhookDraft, WebhookEdit } from "./domain/Webhook.ts"
export { AdminKey } from "./engine/AdminKey.ts"
export * as Engine from "./engine/Engine.ts"
export { Limiter, type Usage } from "./engine/Limiter.ts"
export { Renderer } from "./engine/Renderer.ts"
export { Settings, type SettingsValues } from "./engine/Settings.ts"
export { Shutdown } from "./engine/Shutdown.ts"
export { Teams } from "./engine/Teams.ts"
export { Trigger } from "./engine/Trigger.ts"
export { Webhooks } from "./engine/Webhooks.ts"
export { PublicUrl } from "./http/PublicUrl.ts"
export * as Routes from "./http/Routes.ts"
export { Repo } from "./repo/Repo.ts"
export * as PgliteClient from "./repo/sql/PgliteClient.ts"
export * as PostgresClient from "./repo/sql/PostgresClient.ts"
export * as RepoSql from "./repo/sql/RepoSql.ts"
