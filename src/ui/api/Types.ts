import type * as OverviewApi from "../../api/Overview.ts"
import type { Run as DomainRun, RunStatus as DomainStatus } from "../../domain/Run.ts"
import type { Team as DomainTeam } from "../../domain/Team.ts"
import type { Webhook as DomainWebhook } from "../../domain/Webhook.ts"
import type { Json } from "./Client.ts"

export type Webhook = Json<DomainWebhook>
export type Run = Json<DomainRun>
export type RunStatus = DomainStatus
export type Team = Json<DomainTeam>
export type Activity = Json<OverviewApi.Activity>
export type Counts = OverviewApi.Counts
export type Statistics = Json<OverviewApi.Statistics>
export type Server = OverviewApi.Server

/** A webhook's token, in the one moment it is known. */
export interface FreshToken {
  readonly webhook: Webhook
  readonly token: string
  readonly trigger_url: string
}
