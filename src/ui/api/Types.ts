/** The API's records in JSON. */

import type { Access as ApiAccess } from "../../api/access/Access.ts"
import type { ListedSession } from "../../api/access/Sessions.ts"
import type { ChangeEvent as ApiChangeEvent } from "../../api/ChangeEvent.ts"
import type { DestinationWithSecret as ApiDestinationWithSecret } from "../../api/delivery/Destinations.ts"
import type { DraftPreview as ApiDraftPreview, Now as ApiNow, Server as ApiServer } from "../../api/Overview.ts"
import type { WebhookWithToken as ApiWebhookWithToken } from "../../api/webhook/Tokens.ts"
import type { ApiKey as DomainApiKey } from "../../domain/access/ApiKey.ts"
import type * as DomainAudit from "../../domain/access/AuditEvent.ts"
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
import type { InJson } from "./Client.ts"

export type Webhook = InJson<DomainWebhook>
export type WebhookWithToken = InJson<typeof ApiWebhookWithToken.Type>
export type TemplateVersion = InJson<DomainTemplateVersion>
export type TemplateVersionSummary = InJson<DomainTemplateVersionSummary>
export type Run = InJson<DomainRun>
export type DraftPreview = InJson<ApiDraftPreview>
/** A run without its texts. */
export type RunState = InJson<DomainRunState>
/** A run in a list, with truncated texts. */
export type RunSummary = InJson<DomainRunSummary>
export type ChangeEvent = InJson<ApiChangeEvent>
export type ReceivedRequest = InJson<DomainReceivedRequest>
export type AuditEvent = InJson<DomainAudit.AuditEvent>
export type AuditAction = DomainAudit.AuditAction
export type AuditActor = DomainAudit.AuditActor
export type Session = InJson<ListedSession>
export type Destination = InJson<DomainDestination>
export type DestinationWithSecret = InJson<typeof ApiDestinationWithSecret.Type>
export type Delivery = InJson<DomainDelivery.EventDelivery>
export type DeliveryAttempt = InJson<DomainDelivery.DeliveryAttempt>
export type DeliveryStatus = DomainDelivery.DeliveryStatus
export type Alert = InJson<DomainAlert.Alert>
export type AlertState = DomainAlert.AlertState
export type AlertRule = InJson<DomainAlertRule>
export type Team = InJson<DomainTeam>
export type Access = InJson<ApiAccess>
export type ApiKey = InJson<DomainApiKey>
export type Thread = InJson<DomainThread>
export type Activity = InJson<DomainStatistics.Activity>
export type Counts = InJson<DomainStatistics.Counts>
export type Totals = InJson<DomainStatistics.Totals>
export type Now = InJson<ApiNow>
export type Statistics = InJson<DomainStatistics.Statistics>
export type StatisticsRange = DomainStatistics.StatisticsRange
export type Server = InJson<ApiServer>
