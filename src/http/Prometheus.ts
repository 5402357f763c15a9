/** `/metrics`. */
import { HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import { Context, Effect, Layer, Metric, type MetricPair } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import { Teams } from "../engine/Teams.ts"
import { type Family, families, toText } from "./PrometheusText.ts"
import * as RequestLog from "./RequestLog.ts"

const queued = Metric.gauge("webhook_team_queued", { description: "Runs accepted for the team and not yet sent." })
const consumers = Metric.gauge("webhook_team_consumers", {
  description: "Leaders connected to the team's queue; 0: the team is not running."
})

const ofTeams = new Set(["webhook_team_queued", "webhook_team_consumers"])

/** Told by the database and the broker, and the same for every process: not to be added up. */
const isShared = ({ metricKey }: MetricPair.MetricPair.Untyped) => ofTeams.has(metricKey.name)

/** What this process has measured itself. */
export const ofProcess: Effect.Effect<ReadonlyArray<Family>> = Effect.map(Metric.snapshot, (pairs) =>
  families(pairs.filter((pair) => !isShared(pair)))
)

const shared = Effect.map(Metric.snapshot, (pairs) => families(pairs.filter(isShared)))

/** What the processes of this server have measured, added up: of this one, unless its host knows of others. */
export class ProcessMetrics extends Context.Reference<ProcessMetrics>()("webhook-trigger/ProcessMetrics", {
  defaultValue: (): { readonly all: Effect.Effect<ReadonlyArray<Family>, Unavailable> } => ({ all: ofProcess })
}) {}

/** Before a scraper gives up, it gets the last known values, when the database or the bus does not answer. */
const refreshTimeout = "2 seconds"

const make = Effect.gen(function* () {
  const router = yield* HttpLayerRouter.HttpRouter
  const teams = yield* Teams
  const processes = yield* ProcessMetrics
  const refresh = Effect.gen(function* () {
    for (const team of yield* teams.list) {
      yield* Metric.set(Metric.tagged(queued, "team", team.team), team.queued)
      yield* Metric.set(Metric.tagged(consumers, "team", team.team), team.consumers)
    }
  }).pipe(Effect.timeout(refreshTimeout), Effect.ignore)
  const metrics = Effect.all([Effect.zipRight(refresh, shared), processes.all], { concurrency: "unbounded" }).pipe(
    Effect.map(([ofTeams, measured]) =>
      HttpServerResponse.text(toText([...ofTeams, ...measured]), {
        contentType: "text/plain; version=0.0.4; charset=utf-8"
      })
    )
  )
  yield* router.add("GET", "/metrics", RequestLog.observe("/metrics", metrics))
})

export const layer = Layer.scopedDiscard(make)
