import { type Context, DateTime, Duration, Effect } from "effect"
import type { Alert } from "../../../domain/alert/Alert.ts"
import type { AlertRule } from "../../../domain/alert/AlertRule.ts"
import { Invalid } from "../../../domain/Errors.ts"
import type { AlertRuleId, WebhookId } from "../../../domain/Id.ts"
import { toRun } from "../../../domain/run/Run.ts"
import { changesOf, keyOf, type StoredAlert } from "../../alert/AlertChanges.ts"
import { AlertStore } from "../../alert/AlertStore.ts"
import { isOfCurrentTeam } from "../access/OwnerStoreMemory.ts"
import { deliverAlert } from "../delivery/DeliveryStoreMemory.ts"
import { makeWebhookLimits } from "../run/WebhookLimitsMemory.ts"
import { isAfter, orNotFound, type Tables } from "../Tables.ts"

const fault = (pointer: string) => new Invalid({ faults: [{ pointer, detail: "does not exist" }] })

const shown = ({ created_at: _, id: __, updated_at: ___, ...fields }: AlertRule): Partial<AlertRule> => fields

export const makeAlertStore = (tables: Tables): Context.Tag.Service<AlertStore> => {
  const { alertRules: rules, alerts, audit } = tables
  const limits = makeWebhookLimits(tables)

  const exists = ({ team, webhook_id }: AlertRule): boolean =>
    (webhook_id === undefined || tables.webhooks.has(webhook_id)) && (team === undefined || tables.teams.has(team))

  /** Rules of deleted webhooks and teams go with them, and alerts with their rules. */
  const kept = () => {
    for (const rule of rules.values()) if (!exists(rule)) rules.delete(rule.id)
    for (const alert of alerts.values()) if (alert.rule_id && !rules.has(alert.rule_id)) alerts.delete(alert.id)
    return { rules, alerts: [...alerts.values()] }
  }

  const isOpen = ({ state }: StoredAlert): boolean => state !== "resolved"

  const ruleOf = ({ rule_id }: StoredAlert) => (rule_id === undefined ? undefined : rules.get(rule_id))

  const failures = (id: WebhookId): number => {
    const of = tables.where((row) => row.webhook_id === id)
    const lastGood = of.findLast(({ row }) => row.status === "success")?.seq ?? 0
    const since = tables.webhooks.get(id)?.failures_since
    return of.filter(
      ({ row, seq }) =>
        seq > lastGood &&
        (row.status === "error" || row.status === "timeout") &&
        row.error_code !== "budget_exceeded" &&
        (since === undefined || isAfter(row.finished_at!, since))
    ).length
  }

  return AlertStore.of({
    createRule: (rule, draft, faultBeside) =>
      Effect.suspend(() => {
        const refusal = faultBeside?.([...kept().rules.values()])
        if (refusal !== undefined) return refusal
        if (rule.webhook_id !== undefined && !tables.webhooks.has(rule.webhook_id)) return fault("/webhook_id")
        if (rule.team !== undefined && !tables.teams.has(rule.team)) return fault("/team")
        rules.set(rule.id, rule)
        audit.write(draft, { object: rule.id, after: shown(rule) })
        return Effect.succeed(rule)
      }),
    rules: Effect.sync(() => [...kept().rules.values()]),
    rule: (id) =>
      orNotFound(
        () => kept().rules.get(id),
        (rule) => rule
      ),
    updateRule: (id: AlertRuleId, change, draft, faultBeside) =>
      Effect.zipRight(
        Effect.suspend(() => faultBeside?.([...kept().rules.values()].filter((one) => one.id !== id)) ?? Effect.void),
        orNotFound(
          () => kept().rules.get(id),
          (before) => {
            const { destination_ids: ids = before.destination_ids ?? null, ...fields } = change
            const { destination_ids: _, ...rest } = before
            const after: AlertRule = { ...rest, ...fields, ...(ids !== null && { destination_ids: ids }) }
            rules.set(id, after)
            for (const alert of alerts.values()) {
              if (change.enabled !== false || alert.rule_id !== id || !isOpen(alert)) continue
              alerts.set(alert.id, { ...alert, state: "resolved", resolved_at: change.updated_at })
            }
            audit.write(draft, { object: id, before: shown(before), after: shown(after) })
            return after
          }
        )
      ),
    deleteRule: (id, draft) =>
      orNotFound(
        () => kept().rules.get(id),
        (before) => {
          rules.delete(id)
          kept()
          audit.write(draft, { object: id, before: shown(before) })
        }
      ),
    alerts: ({ limit, owners, state, webhook_id }) =>
      Effect.sync(() =>
        kept()
          .alerts.filter((alert) => (state === undefined ? alert.state !== "pending" : alert.state === state))
          .filter((alert) => webhook_id === undefined || alert.webhook_id === webhook_id)
          .filter(
            ({ resolved_at, since, team }) =>
              owners === undefined ||
              (team !== undefined &&
                owners.includes(team) &&
                (resolved_at === undefined || isOfCurrentTeam(tables, team, since)))
          )
          .toReversed()
          .slice(0, limit)
          .map(({ subject: _, ...alert }) => alert as Alert)
      ),
    beginMeasuring: (now, interval) =>
      Effect.sync(() => {
        const at = DateTime.toEpochMillis(now)
        if (tables.measuredAt > at - Duration.toMillis(interval)) return false
        tables.measuredAt = at
        return true
      }),
    recordMeasurement: (measurement, keptSince) =>
      Effect.sync(() => {
        const all = kept().alerts
        const quietSince = DateTime.subtractDuration(measurement.now, measurement.quiet)
        const notified = all.flatMap((alert) =>
          alert.notified_at && isAfter(alert.notified_at, quietSince)
            ? [[keyOf(alert), alert.notified_at] as const]
            : []
        )
        const { events, put, remove } = changesOf(all.filter(isOpen), new Map(notified), measurement)
        for (const { id, resolved_at } of all) if (resolved_at && isAfter(keptSince, resolved_at)) alerts.delete(id)
        for (const id of remove) alerts.delete(id)
        const isMeasured = (alert: StoredAlert) => alert.rule_id === undefined || ruleOf(alert)?.enabled === true
        for (const alert of put.filter(isMeasured)) alerts.set(alert.id, alert)
        for (const change of events.filter(({ alert }) => isMeasured(alert))) {
          deliverAlert(tables, change, ruleOf(change.alert)?.destination_ids)
        }
      }),
    isNeeded: Effect.sync(
      () =>
        [...rules.values()].some(({ enabled }) => enabled) ||
        [...tables.webhooks.values()].some((one) => (one.pause_after_failures ?? one.paused_at) !== undefined) ||
        [...alerts.values()].some(isOpen)
    ),
    recovered: Effect.sync(() => {
      const paused = [...tables.webhooks.values()].filter(({ id, paused_at }) =>
        tables
          .where((row) => row.webhook_id === id && row.status === "success")
          .some(({ row }) => paused_at !== undefined && isAfter(row.finished_at!, paused_at))
      )
      return new Set(paused.map(({ id }) => id))
    }),
    failuresInARow: (most) =>
      Effect.sync(() => {
        const counts = [...tables.webhooks.keys()].map((id) => [id, Math.min(most, failures(id))] as const)
        return new Map(counts.filter(([, count]) => count > 0))
      }),
    durations: (since) =>
      Effect.sync(() =>
        [...tables.webhooks.keys()].flatMap((webhook_id) => {
          const took = tables
            .where(
              (row) => row.webhook_id === webhook_id && row.status === "success" && !isAfter(since, row.accepted_at)
            )
            .flatMap(({ row }) => toRun(row).duration_ms ?? [])
            .sort((a, b) => a - b)
          const p95_ms = took[Math.ceil(took.length * 0.95) - 1]
          return p95_ms === undefined ? [] : [{ webhook_id, runs: took.length, p95_ms }]
        })
      ),
    dayUses: (ids, at) => Effect.sync(() => new Map(ids.map((id) => [id, limits.dayUse(id, at)])))
  })
}
