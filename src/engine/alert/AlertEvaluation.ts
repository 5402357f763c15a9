import { Context, DateTime, Duration, Effect } from "effect"
import { conditionOf, describeMeasured, pausedCondition } from "../../domain/alert/AlertCondition.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import { type Breach, quietTime } from "../../repo/alert/AlertChanges.ts"
import { AlertStore } from "../../repo/alert/AlertStore.ts"
import type { DestinationStore } from "../../repo/delivery/DestinationStore.ts"
import type { HistoryStore } from "../../repo/history/HistoryStore.ts"
import type { TeamStore } from "../../repo/manage/TeamStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import * as Audit from "../access/Audit.ts"
import type { TeamLeaders } from "../leaders/TeamLeaders.ts"
import type { Settings } from "../Settings.ts"
import * as Measures from "./Measures.ts"

/** How often it is measured. Tests choose a faster pace. */
export class Pace extends Context.Reference("webhook-trigger/AlertEvaluation.Pace", {
  defaultValue: () => ({ interval: Duration.seconds(15) })
}) {}

/** How long alerts are kept that are over. */
const keptFor = Duration.days(30)

/**
 * Begins and ends alerts, and pauses webhooks whose runs fail in a row. Every server tries to; the rows let one of them measure at
 * a time.
 */
export const make: Effect.Effect<
  Effect.Effect<void, Unavailable>,
  never,
  AlertStore | DestinationStore | HistoryStore | Settings | TeamLeaders | TeamStore | WebhookStore
> = Effect.gen(function* () {
  // Each server comes back after an interval. By clocks that are being corrected, that may be a little less.
  const pause = Duration.times((yield* Pace).interval, 0.9)
  const store = yield* AlertStore
  const webhooks = yield* WebhookStore
  const measure = yield* Measures.make

  /**
   * Pauses webhooks with `pause_after_failures`, and resumes those that succeed again. Returns the alerts of paused ones. What
   * counts is the webhook's row: if a crash comes between a pause and its alert, the next round begins the alert. Not whole: the
   * database is out of reach, or a webhook was edited in the meantime, so no alert ends before the next round.
   */
  const pauses = (now: DateTime.Utc) =>
    Effect.gen(function* () {
      const watched = (yield* webhooks.webhooks).filter(
        ({ pause_after_failures, paused_at }) => pause_after_failures !== undefined || paused_at !== undefined
      )
      if (watched.length === 0) return { breaches: [], isWhole: true }
      const failures = yield* store.failuresInARow(conditionOf("failures_in_a_row").threshold.max)
      const recovered = yield* store.recovered
      const breaches: Array<Breach> = []
      let isWhole = true
      for (const { enabled, id, name, pause_after_failures: limit, paused_at, team, version } of watched) {
        const value = failures.get(id) ?? 0
        if (paused_at !== undefined && (limit === undefined || recovered.has(id))) {
          yield* webhooks.resumeWebhook(id, now, yield* Audit.automaticDraft("webhook.resumed"))
          continue
        }
        if (limit === undefined || (paused_at === undefined && (!enabled || value < limit))) continue
        if (paused_at === undefined) {
          const reason = describeMeasured("failures_in_a_row", value)
          const audit = yield* Audit.automaticDraft("webhook.paused")
          if (!(yield* webhooks.pauseWebhook(id, { version, at: now, reason }, audit))) {
            isWhole = false
            continue
          }
        }
        const rule = { condition: pausedCondition, threshold: limit } as const
        breaches.push({ rule, subject: `webhook ${id}`, name, webhook_id: id, team, value })
      }
      return { breaches, isWhole }
    }).pipe(Effect.orElseSucceed(() => ({ breaches: [], isWhole: false })))

  return Effect.gen(function* () {
    if (!(yield* store.isNeeded)) return
    const now = yield* DateTime.now
    if (!(yield* store.beginMeasuring(now, pause))) return
    const paused = yield* pauses(now)
    const enabled = (yield* store.rules).filter(({ enabled }) => enabled)
    const { breaches, rules } = yield* measure(enabled, now)
    yield* store.recordMeasurement(
      {
        now,
        quiet: quietTime,
        // The pauses are a cause without ID.
        rules: paused.isWhole ? [...rules, {}] : rules,
        breaches: [...breaches, ...paused.breaches]
      },
      DateTime.subtractDuration(now, keptFor)
    )
  })
})
