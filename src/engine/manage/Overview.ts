import { Context, DateTime, Duration, Effect, Layer } from "effect"
import type { NotFound, Unavailable } from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import { runIdOf, teamNameOf, webhookIdOf } from "../../domain/ParsedId.ts"
import { finalStatuses } from "../../domain/run/RunStatus.ts"
import type { RunSummary } from "../../domain/run/RunSummary.ts"
import { mostCounted, type ShownRun } from "../../domain/run/ShownRun.ts"
import type { Activity, Counts, Statistics, StatisticsRange } from "../../domain/run/Statistics.ts"
import type { TeamName } from "../../domain/Team.ts"
import { budgetResetsAt, countedCost } from "../../domain/webhook/Budget.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { TeamStore } from "../../repo/manage/TeamStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import { TeamLeaders } from "../leaders/TeamLeaders.ts"
import { Settings } from "../Settings.ts"
import { waitsFor, windowOf } from "./QueuedRun.ts"

/** Counts over time, and a team's runs, for people. IDs and names come unparsed. */
export class Overview extends Context.Tag("webhook-trigger/Overview")<
  Overview,
  {
    /** The last 24 hours of every webhook that was triggered in that time; up to two seconds old. */
    readonly activity: Effect.Effect<ReadonlyArray<Activity>, Unavailable>
    readonly statistics: (id: string, range: StatisticsRange) => Effect.Effect<Statistics, NotFound | Unavailable>
    /** A run, and why it waits if it is queued. */
    readonly run: (run_id: string) => Effect.Effect<ShownRun, NotFound | Unavailable>
    /** A team's runs, of its webhooks and in chat, newest first. */
    readonly teamRuns: (team: string, limit: number) => Effect.Effect<ReadonlyArray<RunSummary>, NotFound | Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<
    Overview,
    never,
    HistoryStore | Settings | TeamLeaders | TeamStore | WebhookStore
  > = Layer.effect(
    Overview,
    Effect.gen(function* () {
      const leaders = yield* TeamLeaders
      const history = yield* HistoryStore
      const teams = yield* TeamStore
      const webhooks = yield* WebhookStore
      const settings = yield* Settings

      const lastDay = Effect.gen(function* () {
        const { since, step, count } = bucketsOf("24h", yield* DateTime.now)
        const hours = new Map<WebhookId, Array<Activity["hours"][number]>>()
        for (const { webhook_id, bucket: hour, ...counts } of yield* history.activity(since, step)) {
          if (hour < 0 || hour >= count) continue
          const all = hours.get(webhook_id) ?? []
          hours.set(webhook_id, all)
          all.push({ hour, ...withoutZeros(counts) })
        }
        return [...hours].map(([webhook_id, hours]) => ({
          webhook_id,
          hours: hours.toSorted((a, b) => a.hour - b.hour)
        }))
      })

      const budgetUse = Effect.fnUntraced(function* (webhook: Webhook, at: DateTime.Utc) {
        if (webhook.max_runs_per_day === undefined && webhook.max_cost_per_day === undefined) return undefined
        const use = yield* history.dayUse(webhook.id, at)
        const { unknownCost } = settings
        const cost_usd = countedCost(use, unknownCost)
        return { runs: use.runs, cost_usd, unknown_cost_usd: unknownCost, resets_at: budgetResetsAt(at) }
      })

      const statistics = Effect.fn("Overview.statistics")(function* (id: WebhookId, range: StatisticsRange) {
        const at = yield* DateTime.now
        const webhook = yield* webhooks.webhook(id)
        const { since, step, count } = bucketsOf(range, at)
        const [now, past, budget] = yield* Effect.all(
          [history.slots(id), history.statistics(id, since, step), budgetUse(webhook, at)],
          { concurrency: 3 }
        )
        const byBucket = new Map(past.map((each) => [each.bucket, each]))
        return {
          ...now,
          ...(budget && { budget }),
          limit: webhook.max_concurrent ?? settings.maxConcurrent,
          buckets: Array.from({ length: count }, (_, i) => {
            const { bucket: _bucket, ...found } = byBucket.get(i) ?? { ...none, bucket: i }
            return { ...found, at: DateTime.addDuration(since, Duration.times(step, i)) }
          })
        }
      })

      /** Undefined if the broker is out of reach. */
      const isLed = (team: TeamName) => Effect.orElseSucceed(leaders.isLed(team), () => undefined)

      const run = Effect.fn("Overview.run")(function* (id: RunId) {
        const run = yield* history.run(id)
        if (run.status !== "queued") return run
        const window = windowOf(run)
        if (window !== undefined) return { ...run, waits_for: window }
        const facts = yield* history.queuedFacts(id, mostCounted)
        const waits_for = facts && waitsFor(run, facts, yield* isLed(run.team))
        return { ...run, ...(waits_for && { waits_for }) }
      })

      return Overview.of({
        // Many readers of a busy server share one read.
        activity: yield* Effect.cachedWithTTL(lastDay, "2 seconds"),
        statistics: (id, range) => Effect.flatMap(webhookIdOf(id), (id) => statistics(id, range)),
        run: (id) => Effect.flatMap(runIdOf(id), run),
        teamRuns: (team, limit) =>
          Effect.flatMap(teamNameOf(team), (team) => Effect.zipRight(teams.team(team), history.teamRuns(team, limit)))
      })
    })
  )
}

const withoutZeros = <A extends object>(counts: A): Partial<A> =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)) as Partial<A>

const none: Counts = {
  ...(Object.fromEntries(finalStatuses.map((status) => [status, 0])) as Omit<Counts, "live">),
  live: 0
}

const ranges: { readonly [R in StatisticsRange]: { readonly step: Duration.Duration; readonly count: number } } = {
  "24h": { step: Duration.hours(1), count: 24 },
  "7d": { step: Duration.hours(6), count: 28 },
  "30d": { step: Duration.hours(24), count: 30 }
}

/** The buckets of a range, on whole steps, so they do not move with time. The last one is unfinished. */
const bucketsOf = (range: StatisticsRange, now: DateTime.Utc) => {
  const { step, count } = ranges[range]
  const millis = Duration.toMillis(step)
  const since = DateTime.unsafeMake((Math.floor(DateTime.toEpochMillis(now) / millis) - count + 1) * millis)
  return { since, step, count }
}
