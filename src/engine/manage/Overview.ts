import { Cache, Context, DateTime, Duration, Effect, Layer } from "effect"
import type { NotFound, Unavailable } from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import { runIdOf, teamNameOf, webhookIdOf } from "../../domain/ParsedId.ts"
import { finalStatuses } from "../../domain/run/RunStatus.ts"
import type { RunSummary } from "../../domain/run/RunSummary.ts"
import { mostCounted, type ShownRun } from "../../domain/run/ShownRun.ts"
import type {
  Activity,
  Counts,
  RunBucket,
  Statistics,
  StatisticsRange,
  Totals,
  WorkNow
} from "../../domain/run/Statistics.ts"
import type { TeamName } from "../../domain/Team.ts"
import { budgetResetsAt, countedCost } from "../../domain/webhook/Budget.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { TeamStore } from "../../repo/manage/TeamStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import { TeamLeaders } from "../leaders/TeamLeaders.ts"
import { Settings } from "../Settings.ts"
import { heldBy, waitsFor } from "./QueuedRun.ts"

/** Counts over time, and a team's runs, for people. IDs and names come unparsed. */
export class Overview extends Context.Service<
  Overview,
  {
    /** The last 24 hours of every webhook that was triggered in that time; up to two seconds old. */
    readonly activity: Effect.Effect<ReadonlyArray<Activity>, Unavailable>
    /** The totals of the webhooks of `owners`, if given; up to five seconds old. */
    readonly totals: (owners?: ReadonlyArray<TeamName>) => Effect.Effect<Totals, Unavailable>
    /** The same of what the teams have now. */
    readonly now: (owners?: ReadonlyArray<TeamName>) => Effect.Effect<ReadonlyArray<WorkNow>, Unavailable>
    readonly statistics: (id: string, range: StatisticsRange) => Effect.Effect<Statistics, NotFound | Unavailable>
    /** A run, and why it waits if it is queued. */
    readonly run: (run_id: string) => Effect.Effect<ShownRun, NotFound | Unavailable>
    /** A team's runs, of its webhooks and in chat, newest first. */
    readonly teamRuns: (team: string, limit: number) => Effect.Effect<ReadonlyArray<RunSummary>, NotFound | Unavailable>
  }
>()("webhook-trigger/Overview") {
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
        return {
          ...now,
          ...(budget && { budget }),
          limit: webhook.max_concurrent ?? settings.maxConcurrent,
          buckets: filled(past, { since, step, count })
        }
      })

      /** Undefined if the broker is out of reach. */
      const isLed = (team: TeamName) => Effect.orElseSucceed(leaders.isLed(team), () => undefined)

      const run = Effect.fn("Overview.run")(function* (id: RunId) {
        const run = yield* history.run(id)
        if (run.status !== "queued") return run
        const held = heldBy(run)
        if (held !== undefined) return { ...run, waits_for: held }
        const facts = yield* history.queuedFacts(id, mostCounted)
        const waits_for = facts && waitsFor(run, facts, yield* isLed(run.team))
        return { ...run, ...(waits_for && { waits_for }) }
      })

      const totals = Effect.fn("Overview.totals")(function* (owners: Owners) {
        const at = yield* DateTime.now
        const hours = bucketsOf("48h", at)
        const halves = { ...hours, step: Duration.hours(24), count: 2 }
        const read = (buckets: Buckets) =>
          Effect.map(history.totals(owners, buckets.since, buckets.step), (past) => filled(past, buckets))
        const [byHour, [day_before, last_day], days] = yield* Effect.all(
          [read(hours), read(halves), read(bucketsOf("14d", at))],
          { concurrency: 3 }
        )
        return { hours: byHour, day_before: day_before!, last_day: last_day!, days }
      })

      return Overview.of({
        // Many readers of a busy server share one read.
        activity: yield* Effect.cachedWithTTL(lastDay, "2 seconds"),
        totals: yield* sharedByReaders(totals, "5 seconds"),
        now: yield* sharedByReaders(history.work, "1 second"),
        statistics: (id, range) => Effect.flatMap(webhookIdOf(id), (id) => statistics(id, range)),
        run: (id) => Effect.flatMap(runIdOf(id), run),
        teamRuns: (team, limit) =>
          Effect.flatMap(teamNameOf(team), (team) => Effect.andThen(teams.team(team), history.teamRuns(team, limit)))
      })
    })
  )
}

type Owners = ReadonlyArray<TeamName> | undefined

/** Readers with the same teams share one read. */
const sharedByReaders = <A, E>(read: (owners: Owners) => Effect.Effect<A, E>, timeToLive: Duration.Input) => {
  const everything = "*"
  const lookup = (key: string) => read(key === everything ? undefined : (key.split(",") as Array<TeamName>))
  return Effect.map(
    Cache.make({ capacity: 64, timeToLive, lookup }),
    (cache) => (owners: Owners) => Cache.get(cache, owners?.toSorted().join() ?? everything)
  )
}

const withoutZeros = <A extends object>(counts: A): Partial<A> =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)) as Partial<A>

const none: Counts = {
  ...(Object.fromEntries(finalStatuses.map((status) => [status, 0])) as Omit<Counts, "live">),
  live: 0
}

const ranges: {
  readonly [R in StatisticsRange | "48h" | "14d"]: { readonly step: Duration.Duration; readonly count: number }
} = {
  "24h": { step: Duration.hours(1), count: 24 },
  "48h": { step: Duration.hours(1), count: 48 },
  "7d": { step: Duration.hours(6), count: 28 },
  "14d": { step: Duration.hours(24), count: 14 },
  "30d": { step: Duration.hours(24), count: 30 }
}

interface Buckets {
  readonly since: DateTime.Utc
  readonly step: Duration.Duration
  readonly count: number
}

/** All buckets, also those without runs. */
const filled = (past: ReadonlyArray<RunBucket>, { count, since, step }: Buckets) => {
  const byBucket = new Map(past.map((each) => [each.bucket, each]))
  return Array.from({ length: count }, (_, i) => {
    const { bucket: _bucket, ...found } = byBucket.get(i) ?? { ...none, bucket: i }
    return { ...found, at: DateTime.addDuration(since, Duration.times(step, i)) }
  })
}

/** The buckets of a range, on whole steps, so they do not move with time. The last one is unfinished. */
const bucketsOf = (range: keyof typeof ranges, now: DateTime.Utc): Buckets => {
  const { step, count } = ranges[range]
  const millis = Duration.toMillis(step)
  const since = DateTime.makeUnsafe((Math.floor(DateTime.toEpochMillis(now) / millis) - count + 1) * millis)
  return { since, step, count }
}
