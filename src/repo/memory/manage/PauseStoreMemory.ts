import { type Context, DateTime, Effect } from "effect"
import type { AuditDraft } from "../../../domain/access/AuditEvent.ts"
import { describeMeasured, pausedCondition } from "../../../domain/alert/AlertCondition.ts"
import type { RunStatus } from "../../../domain/run/RunStatus.ts"
import type { WebhookRow } from "../../../domain/webhook/Webhook.ts"
import { quietTime, type StoredAlert } from "../../alert/AlertChanges.ts"
import { keptKey, newestRuns, type PauseDue, PauseStore } from "../../manage/PauseStore.ts"
import { webhookChange } from "../access/AuditStoreMemory.ts"
import { deliverAlert } from "../delivery/DeliveryStoreMemory.ts"
import { change, isAfter, isWaiting, type Tables } from "../Tables.ts"

export const makePauseStore = (tables: Tables): Context.Tag.Service<PauseStore> => {
  const { alerts, audit, notify, webhooks } = tables

  const runsOf = ({ id }: WebhookRow, statuses: ReadonlyArray<RunStatus>) =>
    tables.where((row) => row.webhook_id === id && statuses.includes(row.status))

  const failuresOf = (webhook: WebhookRow): number => {
    const { failures_since: since } = webhook
    const lastGood = runsOf(webhook, ["success"]).at(-1)?.seq ?? 0
    return runsOf(webhook, ["error", "timeout"]).filter(
      ({ row, seq }) =>
        seq > lastGood &&
        row.error_code !== "budget_exceeded" &&
        (since === undefined || isAfter(row.finished_at!, since))
    ).length
  }

  const dueOf = (webhook: WebhookRow): ReadonlyArray<PauseDue> => {
    const { enabled, id: webhook_id, pause_after_failures: limit, paused_at, version } = webhook
    if (paused_at !== undefined) {
      const newest = runsOf(webhook, ["success"]).slice(-newestRuns)
      const isOver = limit === undefined || newest.some(({ row }) => isAfter(row.finished_at!, paused_at))
      return isOver ? [{ webhook_id, version }] : []
    }
    const failures = limit !== undefined && enabled ? failuresOf(webhook) : 0
    return limit !== undefined && failures >= limit ? [{ webhook_id, version, failures }] : []
  }

  const write = (before: WebhookRow, after: WebhookRow, draft: AuditDraft | undefined) => {
    audit.write(draft, { object: after.id, ...webhookChange(before, after) })
    webhooks.set(after.id, after)
    notify({ _tag: "WebhookChanged", webhook_id: after.id })
  }

  return PauseStore.of({
    anyMayPause: Effect.sync(() =>
      [...webhooks.values()].some(
        ({ pause_after_failures, paused_at }) => pause_after_failures !== undefined || paused_at !== undefined
      )
    ),
    pausesDue: Effect.sync(() => [...webhooks.values()].flatMap(dueOf)),
    pauseWebhook: ({ failures, version, webhook_id }, { at, id }, draft) =>
      Effect.sync(() => {
        const webhook = webhooks.get(webhook_id)
        if (webhook?.version !== version || webhook.paused_at !== undefined) return false
        const paused_reason = describeMeasured("failures_in_a_row", failures)
        write(
          webhook,
          { ...webhook, paused_at: at, paused_by: "automatic", paused_reason, version: version + 1 },
          draft
        )
        const isQuiet = [...alerts.values()].some(
          ({ condition, notified_at, webhook_id: of }) =>
            of === webhook_id &&
            condition === pausedCondition &&
            notified_at !== undefined &&
            isAfter(notified_at, DateTime.subtractDuration(at, quietTime))
        )
        const alert: StoredAlert = {
          id,
          subject: `webhook ${webhook_id}`,
          condition: pausedCondition,
          state: "firing",
          name: webhook.name,
          webhook_id,
          team: webhook.team,
          threshold: webhook.pause_after_failures!,
          value: failures,
          since: at,
          ...(!isQuiet && { notified_at: at })
        }
        alerts.set(id, alert)
        if (!isQuiet) deliverAlert(tables, { alert, event: "alert.firing" })
        return true
      }),
    resumeWebhook: (id, at, { audit: draft, version } = {}) =>
      Effect.sync(() => {
        const webhook = webhooks.get(id)
        if (webhook?.paused_at === undefined || (version !== undefined && webhook.version !== version)) return false
        const { paused_at: _, paused_by: __, paused_reason: ___, ...rest } = webhook
        write(webhook, { ...rest, failures_since: at, version: webhook.version + 1 }, draft)
        resolvePause(tables, webhook, at)
        for (const [key, { run_id }] of tables.windows) {
          if (!key.startsWith(`${id} `) || !key.includes(` ${keptKey}`)) continue
          tables.windows.set(key, { run_id, until: at })
          const run = tables.find(run_id)
          if (run === undefined || !isWaiting(run.row)) continue
          const { collecting_until, deadline_at } = run.row
          const wait = deadline_at && collecting_until && DateTime.distance(collecting_until, deadline_at)
          change(run, {
            collecting_until: at,
            ...(wait !== undefined && { deadline_at: DateTime.add(at, { millis: wait }) })
          })
        }
        return true
      })
  })
}

const firing = (tables: Tables, { id }: WebhookRow): ReadonlyArray<StoredAlert> =>
  [...tables.alerts.values()].filter(
    ({ condition, state, webhook_id }) => webhook_id === id && condition === pausedCondition && state === "firing"
  )

/** The alert of a paused webhook has its team and name. */
export const movePause = (tables: Tables, webhook: WebhookRow): void => {
  const { name, team } = webhook
  for (const alert of firing(tables, webhook)) tables.alerts.set(alert.id, { ...alert, name, team })
}

/** Ends the alert of a paused webhook, and sends that. */
export const resolvePause = (tables: Tables, webhook: WebhookRow, at: DateTime.Utc): void => {
  const { name, team } = webhook
  for (const alert of firing(tables, webhook)) {
    const over: StoredAlert = { ...alert, name, team, state: "resolved", resolved_at: at }
    tables.alerts.set(alert.id, over)
    if (alert.notified_at !== undefined) deliverAlert(tables, { alert: over, event: "alert.resolved" })
  }
}
