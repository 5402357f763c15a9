/** How runs ended and how long they took. The server that records an end counts it. */
import { DateTime, Duration, Metric } from "effect"
import type { AgentReport } from "../../domain/run/AgentReport.ts"
import type { Run } from "../../domain/run/Run.ts"
import { finalStatuses } from "../../domain/run/RunStatus.ts"
import type { TeamName } from "../../domain/Team.ts"
import * as Metrics from "../../telemetry/Metrics.ts"

const ended = Metric.counter("webhook_runs_ended_total", {
  description: "Runs whose end this server recorded, by status.",
  incremental: true
})

/** Shows the counter of ends before the first one. */
export const begin = (): void => Metrics.begin(ended, "status", finalStatuses)

/** In seconds, up to a day, the longest timeout. */
const boundaries = Metric.boundariesFromIterable([0.05, 0.25, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400])

const queued = Metric.histogram("webhook_run_queued_seconds", {
  description: "From a run's acceptance until its leader started, or until its end when none did.",
  boundaries
})
const worked = Metric.histogram("webhook_run_work_seconds", {
  description: "From the leader's start to the end of the run.",
  boundaries
})
const total = Metric.histogram("webhook_run_total_seconds", {
  description: "From a run's acceptance to its end.",
  boundaries
})

const tokens = Metric.counter("webhook_run_tokens_total", {
  description: "Tokens that agents reported for their runs, by team and by kind: input, output, cached_input.",
  incremental: true
})
const cost = Metric.counter("webhook_run_cost_usd_total", {
  description: "US dollars that agents reported for their runs, by team.",
  incremental: true
})

/** Counts what an agent reported of a run, once: with its end, or when the report came later. */
export const recordReport = ({ usage }: Pick<AgentReport, "usage">, team: TeamName): void => {
  if (usage === undefined) return
  const { cached_input_tokens, cost_usd, input_tokens, output_tokens } = usage
  const kinds = { input: input_tokens, output: output_tokens, cached_input: cached_input_tokens }
  for (const [kind, count] of Object.entries(kinds)) {
    if (count !== undefined) Metrics.record(tokens, count, { team, kind })
  }
  if (cost_usd !== undefined) Metrics.record(cost, cost_usd, { team })
}

const between = (from: DateTime.Utc, to: DateTime.Utc): number =>
  Math.max(0, Duration.toSeconds(DateTime.distance(from, to)))

/** Counts a run that has ended. */
export const record = (run: Run): void => {
  const { accepted_at, finished_at, started_at, status, team } = run
  Metrics.record(ended, 1, { status })
  recordReport(run, team)
  if (finished_at === undefined) return
  const labels = { status, team }
  Metrics.record(queued, between(accepted_at, started_at ?? finished_at), labels)
  if (started_at !== undefined) Metrics.record(worked, between(started_at, finished_at), labels)
  Metrics.record(total, between(accepted_at, finished_at), labels)
}
