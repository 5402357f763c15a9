/**
 * The conditions of alert rules, as data: what the API checks, and what the command line and the web UI ask for. How each one
 * is measured is in `engine/alert/Measures.ts`. Plain data: the web UI loads it without `Schema`.
 */

interface AlertConditionData {
  /** For people. */
  readonly label: string
  /** Its subject. A rule for a team covers its webhooks and their destinations; a rule for all covers everything. */
  readonly of: "webhook" | "team" | "destination"
  readonly help: string
  readonly threshold: {
    readonly unit: "runs" | "%" | "seconds" | "minutes" | "US dollars"
    readonly default: number
    readonly min: number
    readonly max: number
    readonly whole: boolean
  }
  /** The default of `window_hours`; absent: the condition has no period. */
  readonly hours?: number
}

const maxMinutes = 60 * 24 * 30

const alertConditions = {
  failures_in_a_row: {
    label: "Failures in a row",
    of: "webhook",
    help: "How many of the webhook's runs failed or timed out since its last success. Cancelled runs do not count.",
    threshold: { unit: "runs", default: 3, min: 1, max: 100, whole: true }
  },
  failure_rate: {
    label: "Failure rate",
    of: "webhook",
    help: "The share of runs that failed or timed out, among at least 5 that succeeded, failed or timed out.",
    threshold: { unit: "%", default: 50, min: 1, max: 100, whole: true },
    hours: 1
  },
  latency: {
    label: "Duration",
    of: "webhook",
    help: "The 95th percentile of the duration of at least 5 successful runs.",
    threshold: { unit: "seconds", default: 300, min: 1, max: 86_400, whole: true },
    hours: 1
  },
  cost: {
    label: "Cost",
    of: "webhook",
    help: "What agents reported as the cost of the webhook's runs.",
    threshold: { unit: "US dollars", default: 10, min: 0.01, max: 1_000_000, whole: false },
    hours: 24
  },
  budget: {
    label: "Budget used",
    of: "webhook",
    help: "How much of the webhook's `max_runs_per_day` or `max_cost_per_day` is used.",
    threshold: { unit: "%", default: 80, min: 1, max: 100, whole: true }
  },
  no_run: {
    label: "No run",
    of: "webhook",
    help: "How long the enabled webhook has had no run.",
    threshold: { unit: "minutes", default: 24 * 60, min: 1, max: maxMinutes, whole: true }
  },
  no_leader: {
    label: "Team without a leader",
    of: "team",
    help: "How long the team has had no leader. Paused teams do not count.",
    threshold: { unit: "minutes", default: 5, min: 1, max: maxMinutes, whole: true }
  },
  usage_limit: {
    label: "Usage limit",
    of: "team",
    help: "How long the team has rested because its agent reached a usage limit.",
    threshold: { unit: "minutes", default: 1, min: 1, max: maxMinutes, whole: true }
  },
  queue_age: {
    label: "Queue age",
    of: "team",
    help: "How long the team's oldest queued run has waited.",
    threshold: { unit: "minutes", default: 10, min: 1, max: maxMinutes, whole: true }
  },
  destination_failing: {
    label: "Destination failing",
    of: "destination",
    help: "How long a webhook's destination has failed every attempt. One that the server switched off or paused counts, too.",
    threshold: { unit: "minutes", default: 10, min: 1, max: maxMinutes, whole: true }
  }
} as const satisfies { readonly [name: string]: AlertConditionData }

export type AlertCondition = keyof typeof alertConditions

export const alertConditionNames = Object.keys(alertConditions) as [AlertCondition, ...Array<AlertCondition>]

/** The same, with the fields that not every condition has. */
export const conditionOf = (condition: AlertCondition): AlertConditionData => alertConditions[condition]

/** A rate or a percentile of fewer runs says nothing. */
export const leastRuns = 5

const rounded = (value: number): number => Math.round(value * 100) / 100

const number = (value: number): string => new Intl.NumberFormat("en").format(rounded(value))

const minutes = (value: number): string => {
  if (value >= 48 * 60) return `${number(Math.floor(value / (24 * 60)))} days`
  if (value >= 120) return `${number(Math.floor(value / 60))} hours`
  return `${number(Math.floor(value))} ${Math.floor(value) === 1 ? "minute" : "minutes"}`
}

/** The condition of alerts without a rule: a webhook was paused automatically. */
export const pausedCondition = "paused"

/** The measured value in a few words, such as “3 runs failed in a row”. */
export const describeMeasured = (condition: AlertCondition | typeof pausedCondition, value: number): string => {
  switch (condition) {
    case "failures_in_a_row":
      return value === 1 ? "the last run failed" : `${number(value)} runs failed in a row`
    case "failure_rate":
      return `${number(value)}% of the runs failed`
    case "latency":
      return `runs take ${number(value)} seconds (95th percentile)`
    case "cost":
      return `runs cost $${value.toFixed(2)}`
    case "budget":
      return `${number(value)}% of the daily budget is used`
    case "no_run":
      return `no run for ${minutes(value)}`
    case "no_leader":
      return `no leader for ${minutes(value)}`
    case "usage_limit":
      return `rests because of a usage limit for ${minutes(value)}`
    case "queue_age":
      return `the oldest queued run has waited for ${minutes(value)}`
    case "destination_failing":
      return `has failed for ${minutes(value)}`
    case "paused":
      return `paused because ${describeMeasured("failures_in_a_row", value)}`
  }
}
