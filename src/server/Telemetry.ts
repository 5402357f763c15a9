import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Clock, Effect, Layer, Option, Redacted, References, Schedule, Tracer } from "effect"
import { HttpBody, HttpClient } from "effect/http"
import {
  OtlpExporter,
  OtlpLogger,
  OtlpMetrics,
  OtlpResource,
  OtlpSerialization,
  OtlpTracer
} from "effect/observability"
import { v4 } from "uuid"
import type { Team } from "../domain/Team.ts"
import { Teams } from "../engine/manage/Teams.ts"
import * as TeamGauges from "../engine/upkeep/TeamGauges.ts"
import type { LeaderEnvironment } from "./environment/LeaderEnvironment.ts"

/** The same interval as for Effect's metrics. */
const interval = "10 seconds"

const toOtlp = (teams: ReadonlyArray<Team>, resource: OtlpResource.Resource, now: bigint) => ({
  resourceMetrics: [
    {
      resource,
      scopeMetrics: [
        {
          scope: { name: OtlpResource.serviceNameUnsafe(resource) },
          metrics: TeamGauges.teamGauges.map(({ description, name, valueOf }) => ({
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
const sendTeamGauges = (options: {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly resource: OtlpResource.Resource
}): Layer.Layer<never, never, HttpClient.HttpClient | Teams> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const teams = yield* Teams
      const client = yield* HttpClient.HttpClient
      const send = Effect.gen(function* () {
        const body = toOtlp(yield* teams.list, options.resource, yield* Clock.currentTimeNanos)
        yield* client.post(options.url, { headers: options.headers, body: HttpBody.jsonUnsafe(body) })
      }).pipe(
        Effect.scoped,
        Effect.timeout(interval),
        Effect.withTracerEnabled(false),
        Effect.ignoreCause({ log: "Debug" })
      )
      yield* Effect.forkScoped(Effect.repeat(send, Schedule.spaced(interval)))
    })
  )

/** Collects no spans that the caller does not sample, and none of the server's own background work. */
const sampling = (tracer: Tracer.Tracer): Tracer.Tracer => ({
  ...tracer,
  span: (options) => {
    const { kind, parent } = options
    const sampled = Option.isSome(parent) ? parent.value.sampled : kind !== "internal" && kind !== "client"
    return tracer.span({ ...options, sampled })
  }
})

type Settings = Pick<LeaderEnvironment, "otlpEndpoint" | "otlpHeaders" | "otlpServiceName">

/** Prevents several processes from overwriting each other's counters at the collector. */
const instanceId = v4()

/** The collector's addresses, headers and resource attributes. */
const collector = ({ otlpEndpoint, otlpHeaders, otlpServiceName }: Settings, version: string) =>
  Option.map(otlpEndpoint, (endpoint) => {
    const headers = Option.match(otlpHeaders, { onNone: () => ({}), onSome: Redacted.value })
    const resource = {
      serviceName: otlpServiceName,
      serviceVersion: version,
      attributes: { "service.instance.id": instanceId }
    }
    return (path: string) => ({ url: `${endpoint}${path}`, headers, resource })
  })

/** Sends traces, metrics and log lines to an OpenTelemetry collector (OTLP over HTTP with JSON), if one is set. */
export const otlp = (settings: Settings, version: string): Layer.Layer<never> =>
  Option.match(collector(settings, version), {
    onNone: () => Layer.succeed(References.TracerEnabled, false),
    onSome: (to) =>
      Layer.mergeAll(
        OtlpLogger.layer(to("/v1/logs")),
        OtlpMetrics.layer(to("/v1/metrics")),
        Layer.effect(Tracer.Tracer, Effect.map(OtlpTracer.make(to("/v1/traces")), sampling))
      ).pipe(
        Layer.provide(
          Layer.mergeAll(OtlpExporter.layerFlusher, OtlpSerialization.layerJson, NodeHttpClient.layerNodeHttp)
        )
      )
  })

/** Sends the metrics of teams to the same collector. */
export const teamGauges = (settings: Settings, version: string): Layer.Layer<never, never, Teams> =>
  Option.match(collector(settings, version), {
    onNone: () => Layer.empty,
    onSome: (to) => {
      const { resource, ...options } = to("/v1/metrics")
      return sendTeamGauges({ ...options, resource: OtlpResource.make(resource) }).pipe(
        Layer.provide(NodeHttpClient.layerNodeHttp)
      )
    }
  })
