/** `/metrics`. */
import { Context, DateTime, Effect, Metric } from "effect"
import { HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import type { Team } from "../../domain/Team.ts"
import { Teams } from "../../engine/manage/Teams.ts"
import { ClockOffset } from "../../engine/upkeep/DatabaseClock.ts"
import { teamGauges } from "../../engine/upkeep/TeamGauges.ts"
import { checkMetricsToken } from "../access/OperationsAccess.ts"
import { ServerFacts } from "../manage/ServerFacts.ts"
import * as ProcessStatistics from "./ProcessStatistics.ts"
import * as ReadOnlyRoute from "./ReadOnlyRoute.ts"

/** A value that is read for a response. */
export type Value = readonly [
  metric: Metric.Metric<number, unknown>,
  value: number,
  labels?: Readonly<Record<string, string>>
]

/** In a registry of their own: Effect's forgets nothing, such as a team that was deleted. */
const textOf = (values: ReadonlyArray<Value>): string => {
  const registry = Context.make(Metric.MetricRegistry, new Map())
  for (const [metric, value, labels = {}] of values) {
    metric.updateUnsafe(value, Context.add(registry, Metric.CurrentMetricAttributes, labels))
  }
  return PrometheusMetrics.formatUnsafe(registry)
}

const gauges = teamGauges.map(({ description, name, valueOf }) => ({
  valueOf,
  gauge: Metric.gauge(name, { description })
}))

const ofTeams = (teams: ReadonlyArray<Team>): ReadonlyArray<Value> =>
  teams.flatMap((team) => gauges.map(({ gauge, valueOf }): Value => [gauge, valueOf(team), { team: team.team }]))

const oldestGauge = Metric.gauge("webhook_team_oldest_queued_seconds", {
  description: "How long the oldest queued run of the team has been waiting; absent without any."
})

const oldestOf = (oldest: ReadonlyMap<string, DateTime.Utc>, now: DateTime.Utc): ReadonlyArray<Value> =>
  Array.from(oldest, ([team, since]): Value => {
    const millis = now.epochMilliseconds - since.epochMilliseconds
    return [oldestGauge, Math.max(0, millis) / 1_000, { team }]
  })

const clockGauge = Metric.gauge("webhook_clock_offset_seconds", {
  description: "How far this server's clock is ahead of the database's, which the server uses."
})

const buildGauge = Metric.gauge("webhook_build_info", {
  description: "1, with the versions of the server and of Node.js."
})

/** If the database or the bus does not answer, a scraper gets the last known values before it gives up. */
const readTimeout = "2 seconds"

const make = Effect.gen(function* () {
  const teams = yield* Teams
  const checkToken = yield* checkMetricsToken
  const clockOffset = yield* ClockOffset
  const build: Value = [buildGauge, 1, { version: (yield* ServerFacts).version, node_version: process.version }]
  const readClock = (): ReadonlyArray<Value> => {
    const millis = clockOffset.millis()
    return millis === undefined ? [] : [[clockGauge, millis / 1_000]]
  }
  /** From the database and the broker. */
  let known: ReadonlyArray<Value> = []
  const readGauges = teams.list.pipe(
    Effect.timeout(readTimeout),
    Effect.match({
      onSuccess: (list) => {
        known = ofTeams(list)
      },
      onFailure: () => {}
    })
  )
  /** Apart from the others, which do not read the runs: these may be locked. */
  let oldest: ReadonlyMap<string, DateTime.Utc> = new Map()
  const readOldest = teams.oldestQueued.pipe(
    Effect.timeout(readTimeout),
    Effect.match({
      onSuccess: (read) => {
        oldest = read
      },
      onFailure: () => {}
    })
  )
  const respond = Effect.gen(function* () {
    yield* Effect.all([readGauges, readOldest], { concurrency: "unbounded" })
    const waiting = oldestOf(oldest, yield* DateTime.now)
    const read = textOf([build, ...readClock(), ...known, ...waiting, ...ProcessStatistics.read()])
    return HttpServerResponse.text(`${read}${yield* PrometheusMetrics.format()}`, {
      contentType: "text/plain; version=0.0.4; charset=utf-8"
    })
  })
  return Effect.andThen(checkToken, respond)
})

export const layer = ReadOnlyRoute.layer("/metrics", make)
