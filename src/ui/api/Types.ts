import type { Server as ApiServer } from "../../api/Overview.ts"
import type { Run as DomainRun, RunStatus as DomainStatus } from "../../domain/Run.ts"
import type * as DomainStatistics from "../../domain/Statistics.ts"
import type { Team as DomainTeam } from "../../domain/Team.ts"
import type { Webhook as DomainWebhook } from "../../domain/Webhook.ts"
import type { Json } from "./Client.ts"

export type Webhook = Json<DomainWebhook>
export type Run = Json<DomainRun>
export type RunStatus = DomainStatus
export type Team = Json<DomainTeam>
export type Activity = Json<DomainStatistics.Activity>
export type Counts = DomainStatistics.Counts
export type Statistics = Json<DomainStatistics.Statistics>
export type Server = ApiServer

/** A webhook's token, in the one moment it is known. */
export interface FreshToken {
  readonly webhook: Webhook
  readonly token: string
  readonly trigger_url: string
}
