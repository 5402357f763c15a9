import { Clock, Effect, Layer, Option, Redacted, References, Schedule, Tracer } from "effect"
import { HttpBody, HttpClient } from "effect/http"
import { OtlpLogger, OtlpMetrics, OtlpResource, OtlpSerialization, OtlpTracer } from "effect/observability"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
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
          scope: { name: OtlpResource.unsafeServiceName(resource) },
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
      }).pipe(Effect.scoped, Effect.timeout(interval), Effect.withTracerEnabled(false), Effect.ignore({ log: true }))
      yield* Effect.forkScoped(Effect.repeat(send, Schedule.spaced(interval)))
    })
  )

const hex = (digits: number): string =>
  Array.from({ length: digits }, () => Math.floor(Math.random() * 16).toString(16)).join("")

/** A span that is not collected. Its children are not sampled either. */
const unsampled = (
  name: string,
  parent: Option.Option<Tracer.AnySpan>,
  context: Tracer.Span["context"],
  links: ReadonlyArray<Tracer.SpanLink>,
  startTime: bigint,
  kind: Tracer.SpanKind
): Tracer.Span => {
  const span = {
    _tag: "Span" as const,
    name,
    spanId: hex(16),
    traceId: Option.isSome(parent) ? parent.value.traceId : hex(32),
    parent,
    context,
    status: { _tag: "Started", startTime } as Tracer.SpanStatus,
    attributes: new Map<string, unknown>(),
    links,
    sampled: false,
    kind,
    end: (endTime: bigint, exit: Extract<Tracer.SpanStatus, { _tag: "Ended" }>["exit"]) => {
      span.status = { _tag: "Ended", startTime, endTime, exit }
    },
    attribute: () => {},
    event: () => {},
    addLinks: () => {}
  }
  return span
}

/** A tracer without spans that the caller does not sample, and without the server's own background work. */
const sampling = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    context: (execution, fiber) => tracer.context(execution, fiber),
    span: (name, parent, context, links, startTime, kind, options) => {
      const isSampled = Option.isSome(parent) ? parent.value.sampled : kind !== "internal" && kind !== "client"
      return isSampled
        ? tracer.span(name, parent, context, links, startTime, kind, options)
        : unsampled(name, parent, context, links, startTime, kind)
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
    onSome: (to) => {
      const tracer = Effect.map(OtlpTracer.make(to("/v1/traces")), (tracer) => Layer.succeed(Tracer.Tracer, sampling(tracer)))
      return Layer.mergeAll(
        OtlpLogger.layer(to("/v1/logs")),
        OtlpMetrics.layer(to("/v1/metrics")),
        Layer.unwrap(tracer)
      ).pipe(Layer.provide(OtlpSerialization.layerJson), Layer.provide(NodeHttpClient.layer))
    }
  })

/** Sends the metrics of teams to the same collector. */
export const teamGauges = (settings: Settings, version: string): Layer.Layer<never, never, Teams> =>
  Option.match(collector(settings, version), {
    onNone: () => Layer.empty,
    onSome: (to) => {
      const { resource, ...options } = to("/v1/metrics")
      return sendTeamGauges({ ...options, resource: OtlpResource.make(resource) }).pipe(
        Layer.provide(NodeHttpClient.layer)
      )
    }
  })
