import { Clock, Context, Duration, Effect, Layer, Schema } from "effect"
import { NotFound, type Unavailable } from "../domain/Errors.ts"
import { WebhookId } from "../domain/Id.ts"
import type { Run } from "../domain/Run.ts"
import type { Activity, Counts, Statistics, StatisticsRange } from "../domain/Statistics.ts"
import { Repo } from "../repo/Repo.ts"
import { Settings } from "./Settings.ts"
import { teamNamed } from "./Teams.ts"
import type { Entry } from "./Trigger.ts"

/** What is going on, for people: counts over time, and what a team was asked. Ids and names come as a caller wrote them. */
export class Overview extends Context.Tag("webhook-trigger/Overview")<
  Overview,
  {
    /** The last 24 hours of every webhook that was triggered in them; up to two seconds old. */
    readonly activity: Effect.Effect<ReadonlyArray<Activity>, Unavailable>
    readonly statistics: (id: string, range: StatisticsRange) => Effect.Effect<Statistics, NotFound | Unavailable>
    /** What a team was asked by its webhooks and in chat, newest first. */
    readonly teamRuns: (team: string, limit: number) => Effect.Effect<ReadonlyArray<Run>, NotFound | Unavailable>
    /** A webhook as its token would open it, for whoever may manage it. */
    readonly entry: (id: string) => Effect.Effect<Entry, NotFound | Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<Overview, never, Repo | Settings> = Layer.effect(
    Overview,
    Effect.gen(function* () {
      const repo = yield* Repo
      const settings = yield* Settings

      const found = (id: string) =>
        isWebhookId(id) ? Effect.succeed(id.toLowerCase() as WebhookId) : Effect.fail(new NotFound())

      const lastDay = Effect.gen(function* () {
        const { since, step_ms } = startOf("24h", yield* Clock.currentTimeMillis)
        const hours = new Map<WebhookId, Array<Counts>>()
        for (const { webhook_id, bucket, ...counts } of yield* repo.activity(since, step_ms)) {
          const all = hours.get(webhook_id) ?? Array.from({ length: 24 }, () => none)
          if (bucket >= 0 && bucket < 24) all[bucket] = counts
          hours.set(webhook_id, all)
        }
        return [...hours].map(([webhook_id, hours]) => ({ webhook_id, hours }))
      })

      const statistics = Effect.fn("Overview.statistics")(function* (id: WebhookId, range: StatisticsRange) {
        const webhook = yield* repo.webhook(id)
        const { since, step_ms, count } = startOf(range, yield* Clock.currentTimeMillis)
        const [now, past] = yield* Effect.all([repo.slots(id), repo.statistics(id, since, step_ms)], { concurrency: 2 })
        const at = (bucket: number) => new Date(since.getTime() + bucket * step_ms)
        const byBucket = new Map(past.map((each) => [each.bucket, each]))
        return {
          ...now,
          limit: webhook.max_concurrent ?? settings.maxConcurrent,
          buckets: Array.from({ length: count }, (_, i) => {
            const { bucket: _bucket, ...found } = byBucket.get(i) ?? { ...none, bucket: i }
            return { ...found, at: at(i) }
          })
        }
      })

      return Overview.of({
        // Reads every run of the day: many readers of a busy server share one look.
        activity: yield* Effect.cachedWithTTL(lastDay, "2 seconds"),
        statistics: (id, range) => Effect.flatMap(found(id), (id) => statistics(id, range)),
        teamRuns: (team, limit) =>
          Effect.flatMap(teamNamed(team), (team) => Effect.zipRight(repo.team(team), repo.teamRuns(team, limit))),
        entry: (id) =>
          Effect.flatMap(found(id), (id) =>
            Effect.zipWith(repo.webhook(id), repo.tokenHash(id), (webhook, token_hash) => ({ webhook, token_hash }))
          )
      })
    })
  )
}

const isWebhookId = Schema.is(WebhookId)

const none: Counts = { success: 0, error: 0, timeout: 0, live: 0 }

const hour = Duration.toMillis("1 hour")

const ranges: { readonly [R in StatisticsRange]: { readonly step_ms: number; readonly count: number } } = {
  "24h": { step_ms: hour, count: 24 },
  "7d": { step_ms: 6 * hour, count: 28 },
  "30d": { step_ms: 24 * hour, count: 30 }
}

/** The buckets of a range: they lie on whole steps, so they stand still while time goes on; the last one is running. */
const startOf = (range: StatisticsRange, now: number) => {
  const { step_ms, count } = ranges[range]
  const since = new Date((Math.floor(now / step_ms) - count + 1) * step_ms)
  return { since, step_ms, count }
}
