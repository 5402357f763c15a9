import { Context, type DateTime, type Duration, type Effect } from "effect"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import type { Alert, AlertState } from "../../domain/alert/Alert.ts"
import type { AlertRule, AlertRuleEdit } from "../../domain/alert/AlertRule.ts"
import type { Invalid, NotFound, Unavailable } from "../../domain/Errors.ts"
import type { AlertRuleId, WebhookId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { DayUse } from "../../domain/webhook/Budget.ts"
import type { Measurement } from "./AlertChanges.ts"

export interface AlertQuery {
  readonly state?: AlertState
  readonly webhook_id?: WebhookId
  /** Only alerts of these teams. */
  readonly owners?: ReadonlyArray<TeamName>
  readonly limit: number
}

/** Fields to overwrite; `null` removes one. */
export type AlertRuleChange = AlertRuleEdit & { readonly updated_at: DateTime.Utc }

/** Why a rule may not be beside the others; `undefined`: it may. */
export type RuleFaultBeside = (others: ReadonlyArray<AlertRule>) => Invalid | undefined

/** The rules of alerts, the alerts, and what rules measure. A change of a rule writes its audit event in the same commit. */
export class AlertStore extends Context.Service<
  AlertStore,
  {
    /**
     * `Invalid`: its webhook or team does not exist. No other change of a rule that asks for `faultBeside` comes between its
     * answer and this one.
     */
    readonly createRule: (
      rule: AlertRule,
      audit?: AuditDraft,
      faultBeside?: RuleFaultBeside
    ) => Effect.Effect<AlertRule, Invalid | Unavailable>
    /** All, oldest first. */
    readonly rules: Effect.Effect<ReadonlyArray<AlertRule>, Unavailable>
    readonly rule: (id: AlertRuleId) => Effect.Effect<AlertRule, NotFound | Unavailable>
    /** Switched off, its alerts are over, without a message. `faultBeside`: as above. */
    readonly updateRule: (
      id: AlertRuleId,
      change: AlertRuleChange,
      audit?: AuditDraft,
      faultBeside?: RuleFaultBeside
    ) => Effect.Effect<AlertRule, Invalid | NotFound | Unavailable>
    /** Deletes its alerts and their deliveries, too. */
    readonly deleteRule: (id: AlertRuleId, audit?: AuditDraft) => Effect.Effect<void, NotFound | Unavailable>
    /** Newest first. */
    readonly alerts: (query: AlertQuery) => Effect.Effect<ReadonlyArray<Alert>, Unavailable>
    /** Whether this server measures now: no other has begun to within `interval`. */
    readonly beginMeasuring: (now: DateTime.Utc, interval: Duration.Duration) => Effect.Effect<boolean, Unavailable>
    /**
     * Begins and ends alerts, and writes the deliveries of messages to the alert destinations of each rule, in one commit.
     * Deletes alerts that were over before `keptSince`.
     */
    readonly recordMeasurement: (measurement: Measurement, keptSince: DateTime.Utc) => Effect.Effect<void, Unavailable>
    /** Whether there is anything to measure: a rule that is switched on, a webhook that may pause or is paused, or an open alert. */
    readonly isNeeded: Effect.Effect<boolean, Unavailable>
    /**
     * How many runs of each webhook failed or timed out since its last success, and since it was resumed or enabled, in the
     * order of acceptance; more than `most` count as `most`. Runs over a budget do not count. Webhooks without any are absent.
     */
    readonly failuresInARow: (most: number) => Effect.Effect<ReadonlyMap<WebhookId, number>, Unavailable>
    /** The paused webhooks that have had a successful run since the pause. */
    readonly recovered: Effect.Effect<ReadonlySet<WebhookId>, Unavailable>
    /** The successful runs accepted since a whole hour, by webhook, with the 95th percentile of their durations. */
    readonly durations: (
      since: DateTime.Utc
    ) => Effect.Effect<
      ReadonlyArray<{ readonly webhook_id: WebhookId; readonly runs: number; readonly p95_ms: number }>,
      Unavailable
    >
    /** `HistoryStore.dayUse` of several webhooks; those without any use are absent. */
    readonly dayUses: (
      ids: ReadonlyArray<WebhookId>,
      at: DateTime.Utc
    ) => Effect.Effect<ReadonlyMap<WebhookId, DayUse>, Unavailable>
  }
>()("webhook-trigger/AlertStore") {}
