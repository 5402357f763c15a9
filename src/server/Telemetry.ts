import * as OtlpLogger from "@effect/opentelemetry/OtlpLogger"
import * as OtlpMetrics from "@effect/opentelemetry/OtlpMetrics"
import * as OtlpResource from "@effect/opentelemetry/OtlpResource"
import * as OtlpSerialization from "@effect/opentelemetry/OtlpSerialization"
import * as OtlpTracer from "@effect/opentelemetry/OtlpTracer"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer, Option, Redacted } from "effect"
import { v4 } from "uuid"
import type { Teams } from "../engine/manage/Teams.ts"
import { sampling } from "../telemetry/Sampling.ts"
import type { LeaderEnvironment } from "./environment/LeaderEnvironment.ts"
import * as TeamGaugesOtlp from "./TeamGaugesOtlp.ts"

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
    onNone: () => Layer.setTracerEnabled(false),
    onSome: (to) => {
      const tracer = Effect.map(OtlpTracer.make(to("/v1/traces")), (tracer) => Layer.setTracer(sampling(tracer)))
      return Layer.mergeAll(
        OtlpLogger.layer(to("/v1/logs")),
        OtlpMetrics.layer(to("/v1/metrics")),
        Layer.unwrapScoped(tracer)
      ).pipe(Layer.provide(OtlpSerialization.layerJson), Layer.provide(NodeHttpClient.layer))
    }
  })

/** Sends the metrics of teams to the same collector. */
export const teamGauges = (settings: Settings, version: string): Layer.Layer<never, never, Teams> =>
  Option.match(collector(settings, version), {
    onNone: () => Layer.empty,
    onSome: (to) => {
      const { resource, ...options } = to("/v1/metrics")
      return TeamGaugesOtlp.layer({ ...options, resource: OtlpResource.make(resource) }).pipe(
        Layer.provide(NodeHttpClient.layer)
      )
    }
  })
