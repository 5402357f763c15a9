/** `/metrics`. */
import { HttpServerResponse } from "@effect/platform"
import { Context, Effect, Metric, MetricKey, MetricPair, MetricState } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { Team } from "../../domain/Team.ts"
import { Teams } from "../../engine/manage/Teams.ts"
import { ClockOffset } from "../../engine/upkeep/DatabaseClock.ts"
import { teamGauges } from "../../engine/upkeep/TeamGauges.ts"
import { checkMetricsToken } from "../access/OperationsAccess.ts"
import { type Family, families, toText } from "./PrometheusText.ts"
import * as ReadOnlyRoute from "./ReadOnlyRoute.ts"

/** This process's own metrics. */
export const ofProcess: Effect.Effect<ReadonlyArray<Family>> = Effect.map(Metric.snapshot, families)

/** The metrics of all processes of this server, added up. By default, this process is the only one. */
export class ProcessMetrics extends Context.Reference<ProcessMetrics>()("webhook-trigger/ProcessMetrics", {
  defaultValue: (): { readonly all: Effect.Effect<ReadonlyArray<Family>, Unavailable> } => ({ all: ofProcess })
}) {}

const gaugesOf = (team: Team): ReadonlyArray<MetricPair.MetricPair.Untyped> =>
  teamGauges.map(({ description, name, valueOf }) =>
    MetricPair.unsafeMake(
      MetricKey.tagged(MetricKey.gauge(name, { description }), "team", team.team),
      MetricState.gauge(valueOf(team))
    )
  )

const clockGauge = MetricKey.gauge("webhook_clock_offset_seconds", {
  description: "How far this server's clock is ahead of the database's, which the server uses."
})

/** If the database or the bus does not answer, a scraper gets the last known values before it gives up. */
const readTimeout = "2 seconds"

const make = Effect.gen(function* () {
  const teams = yield* Teams
  const processes = yield* ProcessMetrics
  const checkToken = yield* checkMetricsToken
  const clockOffset = yield* ClockOffset
  /** The offset of this machine's clock, so it is the same for every process. */
  const readClock = () => {
    const millis = clockOffset.millis()
    return millis === undefined ? [] : families([MetricPair.unsafeMake(clockGauge, MetricState.gauge(millis / 1_000))])
  }
  /** From the database and the broker: the same for every process, so not added up. */
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
  const respond = Effect.map(Effect.all([processes.all, readGauges], { concurrency: "unbounded" }), ([measured]) =>
    HttpServerResponse.text(toText([...readClock(), ...gauges, ...measured]), {
      contentType: "text/plain; version=0.0.4; charset=utf-8"
    })
  )
  return Effect.zipRight(checkToken, respond)
})

export const layer = ReadOnlyRoute.layer("/metrics", make)
