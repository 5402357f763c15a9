import * as OtlpResource from "@effect/opentelemetry/OtlpResource"
import { HttpBody, HttpClient } from "@effect/platform"
import { Clock, Effect, Layer, Schedule } from "effect"
import type { Team } from "../domain/Team.ts"
import { Teams } from "../engine/manage/Teams.ts"
import { teamGauges } from "../engine/upkeep/TeamGauges.ts"

/** The same interval as for Effect's metrics. */
const interval = "10 seconds"

const toOtlp = (teams: ReadonlyArray<Team>, resource: OtlpResource.Resource, now: bigint) => ({
  resourceMetrics: [
    {
      resource,
      scopeMetrics: [
        {
          scope: { name: OtlpResource.unsafeServiceName(resource) },
          metrics: teamGauges.map(({ description, name, valueOf }) => ({
            name,
            description,
            unit: "1",
            gauge: {
              dataPoints: teams.map((team) => ({
                attributes: [{ key: "team", value: { stringValue: team.team } }],
                timeUnixNano: String(now),
                asDouble: valueOf(team)
              }))
            }
          }))
        }
      ]
    }
  ]
})

/** Sends the gauges of all teams to an OpenTelemetry collector. Failed requests are not repeated. */
export const layer = (options: {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly resource: OtlpResource.Resource
}): Layer.Layer<never, never, HttpClient.HttpClient | Teams> =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const teams = yield* Teams
      const client = yield* HttpClient.HttpClient
      const send = Effect.gen(function* () {
        const body = toOtlp(yield* teams.list, options.resource, yield* Clock.currentTimeNanos)
        yield* client.post(options.url, { headers: options.headers, body: HttpBody.unsafeJson(body) })
      }).pipe(Effect.scoped, Effect.timeout(interval), Effect.withTracerEnabled(false), Effect.ignoreLogged)
      yield* Effect.forkScoped(Effect.repeat(send, Schedule.spaced(interval)))
    })
  )
