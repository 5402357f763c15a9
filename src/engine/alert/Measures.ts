/** How each condition of an alert rule is measured. Nothing here reads more than the condition needs. */
import { DateTime, Duration, Effect } from "effect"
import type { Alert } from "../../domain/alert/Alert.ts"
import { type AlertCondition, conditionOf, leastRuns } from "../../domain/alert/AlertCondition.ts"
import type { AlertRule } from "../../domain/alert/AlertRule.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import { countRated } from "../../domain/run/RunStatus.ts"
import { countedCost } from "../../domain/webhook/Budget.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import type { Breach } from "../../repo/alert/AlertChanges.ts"
import { AlertStore } from "../../repo/alert/AlertStore.ts"
import { DestinationStore } from "../../repo/delivery/DestinationStore.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { TeamStore } from "../../repo/manage/TeamStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import { TeamLeaders } from "../leaders/TeamLeaders.ts"
import { Settings } from "../Settings.ts"

/** A measurement of a webhook, a team or a destination. */
interface Measured extends Pick<Alert, "name" | "webhook_id" | "team" | "destination_id"> {
  readonly subject: string
  /** Absent: it is so now, and the rule's threshold is for how many minutes it must be. */
  readonly value?: number
}

type Measure = (hours: number) => Effect.Effect<ReadonlyArray<Measured>, Unavailable>

const ofWebhook = ({ id, name, team }: Webhook, value: number): Measured => ({
  ...{ subject: `webhook ${id}`, name, webhook_id: id, team, value }
})

const minutesBetween = (from: DateTime.Utc, to: DateTime.Utc): number =>
  Math.max(0, Duration.toMinutes(DateTime.distance(from, to)))

type Rated = Parameters<typeof countRated>[0]
const none: Rated = { success: 0, error: 0, timeout: 0 }

const hour = Duration.hours(1)

/** Measures what rules need, and returns which of them were measured, and what fulfils them. */
export const make = Effect.gen(function* () {
  const alerts = yield* AlertStore
  const destinations = yield* DestinationStore
  const history = yield* HistoryStore
  const leaders = yield* TeamLeaders
  const teams = yield* TeamStore
  const webhookStore = yield* WebhookStore
  const { unknownCost } = yield* Settings

  const measuresAt = (now: DateTime.Utc, webhooks: Effect.Effect<ReadonlyArray<Webhook>, Unavailable>) => {
    /** By webhook; one without a value is left out. */
    const ofEach = (valueOf: (webhook: Webhook) => number | undefined) =>
      Effect.map(webhooks, (all) =>
        all.flatMap((webhook) => {
          const value = valueOf(webhook)
          return value === undefined ? [] : [ofWebhook(webhook, value)]
        })
      )

    const startOf = (hours: number) => DateTime.subtract(DateTime.startOf(now, "hour"), { hours })

    /** The runs of a period, summed up. */
    const activity = (hours: number) =>
      Effect.map(history.activity(startOf(hours), hour), (buckets) => {
        const sums = new Map<WebhookId, Rated & { readonly cost: number | undefined }>()
        for (const { error, success, timeout, usage, webhook_id } of buckets) {
          const sum = sums.get(webhook_id) ?? { ...none, cost: undefined }
          sums.set(webhook_id, {
            success: sum.success + success,
            error: sum.error + error,
            timeout: sum.timeout + timeout,
            cost: usage?.cost_usd === undefined ? sum.cost : (sum.cost ?? 0) + usage.cost_usd
          })
        }
        return sums
      })

    const measures: { readonly [Condition in AlertCondition]: Measure } = {
      failures_in_a_row: () =>
        Effect.flatMap(alerts.failuresInARow(conditionOf("failures_in_a_row").threshold.max), (failures) =>
          ofEach(({ id }) => failures.get(id))
        ),
      failure_rate: (hours) =>
        Effect.flatMap(activity(hours), (sums) =>
          ofEach(({ id }) => {
            const sum = sums.get(id) ?? none
            const rated = countRated(sum)
            return rated < leastRuns ? undefined : ((rated - sum.success) / rated) * 100
          })
        ),
      latency: (hours) =>
        Effect.flatMap(alerts.durations(startOf(hours)), (all) => {
          const found = new Map(all.map((one) => [one.webhook_id, one]))
          return ofEach(({ id }) => {
            const { p95_ms, runs } = found.get(id) ?? { p95_ms: 0, runs: 0 }
            return runs < leastRuns ? undefined : p95_ms / 1000
          })
        }),
      cost: (hours) => Effect.flatMap(activity(hours), (sums) => ofEach(({ id }) => sums.get(id)?.cost)),
      budget: () =>
        Effect.gen(function* () {
          const limited = (yield* webhooks).filter(
            ({ max_cost_per_day, max_runs_per_day }) => max_cost_per_day !== undefined || max_runs_per_day !== undefined
          )
          const uses = yield* alerts.dayUses(
            limited.map(({ id }) => id),
            now
          )
          return limited.flatMap((webhook) => {
            const use = uses.get(webhook.id)
            const { max_cost_per_day = Number.POSITIVE_INFINITY, max_runs_per_day = Number.POSITIVE_INFINITY } = webhook
            if (use === undefined) return []
            const used = Math.max(use.runs / max_runs_per_day, countedCost(use, unknownCost) / max_cost_per_day)
            return [ofWebhook(webhook, used * 100)]
          })
        }),
      no_run: () =>
        ofEach(({ created_at, enabled, last_triggered_at }) =>
          enabled ? minutesBetween(last_triggered_at ?? created_at, now) : undefined
        ),
      no_leader: () =>
        Effect.gen(function* () {
          const active = (yield* teams.teams).filter(({ paused_at }) => paused_at === undefined)
          const found = yield* Effect.forEach(
            active,
            ({ team }) => Effect.map(leaders.isLed(team), (isLed) => (isLed ? [] : [team])),
            { concurrency: 16 }
          )
          return found.flat().map((team): Measured => ({ subject: `team ${team}`, name: team, team }))
        }),
      usage_limit: () =>
        Effect.map(teams.teams, (all) =>
          all.flatMap(({ resting_since: since, team }): Measured | [] =>
            since === undefined ? [] : { subject: `team ${team}`, name: team, team, value: minutesBetween(since, now) }
          )
        ),
      queue_age: () =>
        Effect.map(teams.oldestQueued, (oldest) =>
          [...oldest].map(
            ([team, at]): Measured => ({ subject: `team ${team}`, name: team, team, value: minutesBetween(at, now) })
          )
        ),
      destination_failing: () =>
        Effect.gen(function* () {
          const names = new Map((yield* webhooks).map((webhook) => [webhook.id, webhook]))
          return (yield* destinations.destinationRows).flatMap((row): Measured | [] => {
            const { disabled_reason, enabled, failing_since, id, paused = false, updated_at, webhook_id } = row
            const webhook = webhook_id && names.get(webhook_id)
            // An alert destination that fails could not send its own alert.
            if (webhook === undefined) return []
            const isOff = (!enabled || paused) && disabled_reason !== undefined
            if (!isOff && (!enabled || paused || failing_since === undefined)) return []
            const value = isOff
              ? conditionOf("destination_failing").threshold.max
              : minutesBetween(failing_since ?? updated_at, now)
            return { ...ofWebhook(webhook, value), subject: `destination ${id}`, destination_id: id }
          })
        })
    }
    return measures
  }

  return (rules: ReadonlyArray<AlertRule>, now: DateTime.Utc) =>
    Effect.gen(function* () {
      const measures = measuresAt(now, yield* Effect.cached(webhookStore.webhooks))
      const kinds = new Map(rules.map((rule) => [`${rule.condition} ${hoursOf(rule)}`, rule]))
      // The alerts of a condition that cannot be measured now stay as they are.
      const found = yield* Effect.forEach(
        kinds,
        ([kind, rule]) =>
          Effect.map(Effect.option(measures[rule.condition](hoursOf(rule))), (measured) => [kind, measured] as const),
        { concurrency: "unbounded" }
      )
      const byKind = new Map(
        found.flatMap(([kind, measured]) => (measured._tag === "Some" ? [[kind, measured.value]] : []))
      )
      const measuredOf = (rule: AlertRule) => byKind.get(`${rule.condition} ${hoursOf(rule)}`)
      return {
        rules: rules.filter((rule) => measuredOf(rule) !== undefined),
        breaches: rules.flatMap((rule) => (measuredOf(rule) ?? []).flatMap((measured) => breachOf(rule, measured)))
      }
    })
})

const hoursOf = ({ condition, window_hours }: AlertRule): number => window_hours ?? conditionOf(condition).hours ?? 0

/** None if the rule is about something else, or its threshold is not reached. */
const breachOf = (rule: AlertRule, { value, ...about }: Measured): ReadonlyArray<Breach> => {
  if (rule.webhook_id !== undefined && rule.webhook_id !== about.webhook_id) return []
  if (rule.team !== undefined && rule.team !== about.team) return []
  if (value === undefined) return [{ ...about, rule, after: Duration.minutes(rule.threshold) }]
  return value < rule.threshold ? [] : [{ ...about, rule, value }]
}
