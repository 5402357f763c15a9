/** `/metrics`. */
import { DateTime, Effect, Metric } from "effect"
import { HttpServerResponse } from "effect/http"
import { MetricKey, MetricPair, MetricState } from "effect"
import type { Team } from "../../domain/Team.ts"
import { Teams } from "../../engine/manage/Teams.ts"
import { ClockOffset } from "../../engine/upkeep/DatabaseClock.ts"
import { teamGauges } from "../../engine/upkeep/TeamGauges.ts"
import { checkMetricsToken } from "../access/OperationsAccess.ts"
import { ServerFacts } from "../manage/ServerFacts.ts"
import { processStatistics } from "./ProcessStatistics.ts"
import { type Family, families, toText } from "./PrometheusText.ts"
import * as ReadOnlyRoute from "./ReadOnlyRoute.ts"

/** Effect counts its fibers in the same registry, without descriptions and by the names of another convention. */
const isOwn = ({ metricKey }: MetricPair.MetricPair.Untyped): boolean => !metricKey.name.startsWith("effect_")

const ofProcess: Effect.Effect<ReadonlyArray<Family>> = Effect.zipWith(
  Effect.map(Metric.snapshot, (pairs) => families(pairs.filter(isOwn))),
  processStatistics,
  (measured, statistics) => [...measured, ...statistics]
)

const gaugesOf = (team: Team): ReadonlyArray<MetricPair.MetricPair.Untyped> =>
  teamGauges.map(({ description, name, valueOf }) =>
    MetricPair.unsafeMake(
      MetricKey.tagged(MetricKey.gauge(name, { description }), "team", team.team),
      MetricState.gauge(valueOf(team))
    )
  )

const oldestGauge = MetricKey.gauge("webhook_team_oldest_queued_seconds", {
  description: "How long the oldest queued run of the team has been waiting; absent without any."
})

const oldestOf = (oldest: ReadonlyMap<string, DateTime.Utc>, now: DateTime.Utc): ReadonlyArray<Family> =>
  families(
    [...oldest].map(([team, since]) =>
      MetricPair.unsafeMake(
        MetricKey.tagged(oldestGauge, "team", team),
        MetricState.gauge(Math.max(0, DateTime.distance(since, now)) / 1_000)
      )
    )
  )

const clockGauge = MetricKey.gauge("webhook_clock_offset_seconds", {
  description: "How far this server's clock is ahead of the database's, which the server uses."
})

const buildInfo = (version: string): ReadonlyArray<Family> =>
  families([
    MetricPair.unsafeMake(
      MetricKey.tagged(
        MetricKey.tagged(
          MetricKey.gauge("webhook_build_info", { description: "1, with the versions of the server and of Node.js." }),
          "version",
          version
        ),
        "node_version",
        process.version
      ),
      MetricState.gauge(1)
    )
  ])

/** If the database or the bus does not answer, a scraper gets the last known values before it gives up. */
const readTimeout = "2 seconds"

const make = Effect.gen(function* () {
  const teams = yield* Teams
  const checkToken = yield* checkMetricsToken
  const clockOffset = yield* ClockOffset
  const build = buildInfo((yield* ServerFacts).version)
  const readClock = () => {
    const millis = clockOffset.millis()
    return millis === undefined ? [] : families([MetricPair.unsafeMake(clockGauge, MetricState.gauge(millis / 1_000))])
  }
  /** From the database and the broker. */
  let gauges: ReadonlyArray<Family> = []
  const readGauges = teams.list.pipe(
    Effect.timeout(readTimeout),
    Effect.match({
      onSuccess: (list) => {
        gauges = families(list.flatMap(gaugesOf))
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
    const [measured] = yield* Effect.all([ofProcess, readGauges, readOldest], { concurrency: "unbounded" })
    const waiting = oldestOf(oldest, yield* DateTime.now)
    return HttpServerResponse.text(toText([...build, ...readClock(), ...gauges, ...waiting, ...measured]), {
      contentType: "text/plain; version=0.0.4; charset=utf-8"
    })
  })
  return Effect.andThen(checkToken, respond)
})

export const layer = ReadOnlyRoute.layer("/metrics", make)
