import { Schema } from "effect"
import { RunId, WebhookId } from "../Id.ts"
import { Int } from "../SchemaParts.ts"
import { TeamName } from "../Team.ts"
import { optional, time } from "../Time.ts"
import { type FinalStatus, finalStatuses } from "./RunStatus.ts"
import { ReportedUsage } from "./RunUsage.ts"

/** How runs ended that were accepted in some period. */
export const Counts = Schema.Struct({
  ...(Object.fromEntries(finalStatuses.map((status) => [status, Schema.Finite])) as {
    readonly [S in FinalStatus]: typeof Schema.Finite
  }),
  /** Not finished: queued or running. */
  live: Schema.Finite
})
export type Counts = typeof Counts.Type

/** The usage of the runs of some period that reported it; absent if none did. */
const usage = optional(ReportedUsage)

/** Counts without those that are 0. */
const SparseCounts = Schema.Struct({
  ...(Object.fromEntries(finalStatuses.map((status) => [status, optional(Schema.Finite)])) as {
    readonly [S in FinalStatus]: Schema.optionalKey<typeof Schema.Finite>
  }),
  live: optional(Schema.Finite)
})

/** A webhook's last 24 hours, without those that had no runs. */
export const Activity = Schema.Struct({
  webhook_id: WebhookId,
  /** `hour` is 0 for the oldest and 23 for the last one, which ends now. Ascending. */
  hours: Schema.Array(Schema.Struct({ hour: Int, ...SparseCounts.fields, usage }))
}).annotate({ identifier: "Activity" })
export type Activity = typeof Activity.Type

export const StatisticsRange = Schema.Literals(["24h", "7d", "30d"])
export type StatisticsRange = typeof StatisticsRange.Type

const StatisticsBucket = Schema.Struct({
  ...Counts.fields,
  at: time("When the bucket begins; it ends where the next one begins."),
  /** Milliseconds, of successful runs; absent without any. */
  median_ms: optional(Schema.Finite),
  slowest_ms: optional(Schema.Finite),
  usage
})

/** The runs of all webhooks over time. */
export const Totals = Schema.Struct({
  /** The last 48 hours; the last one is not over. */
  hours: Schema.Array(StatisticsBucket),
  /** The last 24 of these hours. */
  last_day: StatisticsBucket,
  /** The 24 hours before. */
  day_before: StatisticsBucket,
  /** The last 14 days in UTC, with today. */
  days: Schema.Array(StatisticsBucket)
}).annotate({ identifier: "Totals" })
export type Totals = typeof Totals.Type

/** The run that a team has now. */
export const WorkNow = Schema.Struct({
  run_id: RunId,
  team: TeamName,
  /** Absent for a chat message. */
  webhook_id: optional(WebhookId),
  title: optional(Schema.String),
  since: time("When the leader reported that it started; before that, when it was sent."),
  /** The latest activity that the agent reported. */
  activity: optional(Schema.String)
}).annotate({ identifier: "WorkNow" })
export type WorkNow = typeof WorkNow.Type

/** A webhook's use today of `max_runs_per_day` and `max_cost_per_day`. */
const BudgetUse = Schema.Struct({
  runs: Schema.Finite.annotate({ description: "The runs that count for `max_runs_per_day`." }),
  cost_usd: Schema.Finite.annotate({
    description:
      "What counts for `max_cost_per_day`, in US dollars: reported costs, and `WEBHOOK_UNKNOWN_COST` for other runs."
  }),
  unknown_cost_usd: Schema.Finite.annotate({
    description: "`WEBHOOK_UNKNOWN_COST`. 0: a run whose cost is unknown counts for nothing in `max_cost_per_day`."
  }),
  resets_at: time("The next midnight in UTC.")
}).annotate({ identifier: "BudgetUse", description: "Today's use of the webhook's budgets; absent without any." })

/** A webhook's current and past work. */
export const Statistics = Schema.Struct({
  /** Runs that hold one of `limit` slots. */
  slots_in_use: Schema.Finite,
  limit: Schema.Finite,
  /** Accepted and waiting for a slot or the team. */
  queued: Schema.Finite,
  budget: optional(BudgetUse),
  buckets: Schema.Array(StatisticsBucket)
}).annotate({ identifier: "Statistics" })
export type Statistics = typeof Statistics.Type

/** The runs accepted within one step of time. */
export interface RunBucket extends Counts {
  /** Steps, from 0. */
  readonly bucket: number
  /** The durations of successful runs; absent without any. */
  readonly median_ms?: number
  readonly slowest_ms?: number
  readonly usage?: ReportedUsage
}
