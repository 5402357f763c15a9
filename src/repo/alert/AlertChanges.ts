/** The changes by a measurement: a plain function, which `AlertStore` calls while it holds the alerts. */
import { DateTime, Duration } from "effect"
import type { Alert } from "../../domain/alert/Alert.ts"
import type { AlertEvent } from "../../domain/delivery/DestinationEvent.ts"
import { type AlertId, type AlertRuleId, alertIdAt } from "../../domain/Id.ts"

/** After a message that an alert began, how long others of the same rule about the same subject are silent. */
export const quietTime = Duration.hours(1)

/** Why there are alerts: a rule, or the `pause_after_failures` of webhooks, which has no ID. */
interface Cause extends Pick<Alert, "condition" | "threshold"> {
  readonly id?: AlertRuleId
}

/** A subject that fulfils a condition now. */
export interface Breach extends Pick<Alert, "name" | "webhook_id" | "team" | "destination_id"> {
  readonly rule: Cause
  /** The subject: a rule has only one alert for it at a time. */
  readonly subject: string
  /** The measured value; absent: for how many minutes it has been so. */
  readonly value?: number
  /** How long it must have been so. Default: not at all. */
  readonly after?: Duration.Duration
}

export interface Measurement {
  readonly now: DateTime.Utc
  /** The causes that were measured. Alerts of others stay as they are. */
  readonly rules: ReadonlyArray<Pick<Cause, "id">>
  readonly breaches: ReadonlyArray<Breach>
  /** After a message that an alert began, another one of the same rule about the same subject is silent for so long. */
  readonly quiet: Duration.Duration
}

/** An alert as it is stored. `pending`: its condition has not held long enough. */
export interface StoredAlert extends Omit<Alert, "state"> {
  readonly state: Alert["state"] | "pending"
  readonly subject: string
}

interface AlertChanges {
  readonly put: ReadonlyArray<StoredAlert>
  readonly remove: ReadonlyArray<AlertId>
  /** The events to be sent. */
  readonly events: ReadonlyArray<{ readonly alert: StoredAlert; readonly event: AlertEvent }>
}

export const keyOf = ({ rule_id, subject }: Pick<StoredAlert, "rule_id" | "subject">): string =>
  `${rule_id ?? ""} ${subject}`

/**
 * @param open the alerts that are pending or firing
 * @param notified when the last message was sent that an alert began, by `keyOf`
 */
export const changesOf = (
  open: ReadonlyArray<StoredAlert>,
  notified: ReadonlyMap<string, DateTime.Utc>,
  { breaches, now, quiet, rules }: Measurement
): AlertChanges => {
  const measured = new Set(rules.map(({ id }) => id))
  const byKey = new Map(open.map((alert) => [keyOf(alert), alert]))
  const put: Array<StoredAlert> = []
  const events: Array<AlertChanges["events"][number]> = []
  const remove: Array<AlertId> = []

  const isQuiet = (key: string): boolean => {
    const last = notified.get(key)
    return last !== undefined && DateTime.isGreaterThan(DateTime.addDuration(last, quiet), now)
  }

  const firing = new Set<string>()
  for (const { after = Duration.zero, rule, subject, value, ...about } of breaches) {
    const of = { ...(rule.id !== undefined && { rule_id: rule.id }), subject }
    const key = keyOf(of)
    firing.add(key)
    const before = byKey.get(key)
    const since = before?.since ?? now
    const lasted = DateTime.distance(since, now)
    if (before?.state === "firing" && (before.notified_at !== undefined || isQuiet(key))) {
      // Its webhook has moved: the alert moves with it.
      if (before.team !== about.team) put.push({ ...before, ...about })
      continue
    }
    const started: StoredAlert = {
      ...about,
      id: before?.id ?? alertIdAt(DateTime.toEpochMillis(now)),
      ...of,
      condition: rule.condition,
      threshold: rule.threshold,
      value: value ?? Duration.toMinutes(lasted),
      since,
      state: "firing"
    }
    if (before === undefined && Duration.isGreaterThan(after, Duration.zero)) put.push({ ...started, state: "pending" })
    else if (before?.state === "pending" && Duration.isLessThan(lasted, after)) continue
    else if (isQuiet(key)) put.push(started)
    else {
      const alert = { ...started, ...(before?.state === "firing" && { value: before.value }), notified_at: now }
      put.push(alert)
      events.push({ alert, event: "alert.firing" })
    }
  }
  for (const alert of open) {
    if (firing.has(keyOf(alert)) || !measured.has(alert.rule_id)) continue
    if (alert.state === "pending") remove.push(alert.id)
    else {
      const over: StoredAlert = { ...alert, state: "resolved", resolved_at: now }
      put.push(over)
      if (alert.notified_at !== undefined) events.push({ alert: over, event: "alert.resolved" })
    }
  }
  return { put, remove, events }
}
