/** The API's records in JSON. */

import type { Access as ApiAccess } from "../../api/access/Access.ts"
import type { ListedSession } from "../../api/access/Sessions.ts"
import type { ChangeEvent as ApiChangeEvent } from "../../api/ChangeEvent.ts"
import type { DestinationWithSecret as ApiDestinationWithSecret } from "../../api/delivery/Destinations.ts"
import type { DraftPreview as ApiDraftPreview, Server as ApiServer } from "../../api/Overview.ts"
import type { WebhookWithToken as ApiWebhookWithToken } from "../../api/webhook/Tokens.ts"
import type { ApiKey as DomainApiKey } from "../../domain/access/ApiKey.ts"
import type * as DomainAudit from "../../domain/access/AuditEvent.ts"
import type { LeaderKey as DomainLeaderKey } from "../../domain/access/LeaderKey.ts"
import type * as DomainAlert from "../../domain/alert/Alert.ts"
import type { AlertRule as DomainAlertRule } from "../../domain/alert/AlertRule.ts"
import type * as DomainDelivery from "../../domain/delivery/Delivery.ts"
import type { Destination as DomainDestination } from "../../domain/delivery/Destination.ts"
import type {
  TemplateVersion as DomainTemplateVersion,
  TemplateVersionSummary as DomainTemplateVersionSummary
} from "../../domain/prompt/TemplateVersion.ts"
import type { ReceivedRequest as DomainReceivedRequest } from "../../domain/request/ReceivedRequest.ts"
import type { Run as DomainRun } from "../../domain/run/Run.ts"
import type { RunState as DomainRunState } from "../../domain/run/RunState.ts"
import type { RunSummary as DomainRunSummary } from "../../domain/run/RunSummary.ts"
import type * as DomainStatistics from "../../domain/run/Statistics.ts"
import type { Team as DomainTeam } from "../../domain/Team.ts"
import type { Thread as DomainThread } from "../../domain/Thread.ts"
import type { Webhook as DomainWebhook } from "../../domain/webhook/Webhook.ts"
import type { Json } from "./Client.ts"

export type Webhook = Json<DomainWebhook>
export type WebhookWithToken = Json<typeof ApiWebhookWithToken.Type>
export type TemplateVersion = Json<DomainTemplateVersion>
export type TemplateVersionSummary = Json<DomainTemplateVersionSummary>
export type Run = Json<DomainRun>
export type DraftPreview = Json<ApiDraftPreview>
/** A run without its texts. */
export type RunState = Json<DomainRunState>
/** A run in a list, with truncated texts. */
export type RunSummary = Json<DomainRunSummary>
export type ChangeEvent = Json<ApiChangeEvent>
export type ReceivedRequest = Json<DomainReceivedRequest>
export type AuditEvent = Json<DomainAudit.AuditEvent>
export type AuditAction = DomainAudit.AuditAction
export type AuditActor = DomainAudit.AuditActor
export type Session = Json<ListedSession>
export type Destination = Json<DomainDestination>
export type DestinationWithSecret = Json<typeof ApiDestinationWithSecret.Type>
export type Delivery = Json<DomainDelivery.EventDelivery>
export type DeliveryAttempt = Json<DomainDelivery.DeliveryAttempt>
export type DeliveryStatus = DomainDelivery.DeliveryStatus
export type Alert = Json<DomainAlert.Alert>
export type AlertState = DomainAlert.AlertState
export type AlertRule = Json<DomainAlertRule>
export type Team = Json<DomainTeam>
export type Access = Json<ApiAccess>
export type ApiKey = Json<DomainApiKey>
export type LeaderKey = Json<DomainLeaderKey>
export type Thread = Json<DomainThread>
export type Activity = Json<DomainStatistics.Activity>
export type Counts = Json<DomainStatistics.Counts>
export type Statistics = Json<DomainStatistics.Statistics>
export type StatisticsRange = DomainStatistics.StatisticsRange
export type Server = Json<ApiServer>
