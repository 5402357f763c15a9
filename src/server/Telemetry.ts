import * as OtlpLogger from "@effect/opentelemetry/OtlpLogger"
import * as OtlpMetrics from "@effect/opentelemetry/OtlpMetrics"
import * as OtlpSerialization from "@effect/opentelemetry/OtlpSerialization"
import * as OtlpTracer from "@effect/opentelemetry/OtlpTracer"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer, Option, Redacted } from "effect"
import { v4 } from "uuid"
import { sampling } from "../telemetry/Sampling.ts"
import type { LeaderEnvironment } from "./LeaderEnvironment.ts"

/**
 * Traces, metrics and log lines to an OpenTelemetry collector (OTLP over HTTP, JSON), when one is set. Each process has an
 * instance id of its own: without it the counters of several would overwrite each other at the collector.
 */
export const otlp = (
  { otlpEndpoint, otlpHeaders, otlpServiceName }: LeaderEnvironment,
  version: string
): Layer.Layer<never> =>
  Option.match(otlpEndpoint, {
    onNone: () => Layer.setTracerEnabled(false),
    onSome: (endpoint) => {
      const headers = Option.match(otlpHeaders, { onNone: () => ({}), onSome: Redacted.value })
      const resource = {
        serviceName: otlpServiceName,
        serviceVersion: version,
        attributes: { "service.instance.id": v4() }
      }
      const to = (path: string) => ({ url: `${endpoint}${path}`, headers, resource })
      const tracer = Effect.map(OtlpTracer.make(to("/v1/traces")), (tracer) => Layer.setTracer(sampling(tracer)))
      return Layer.mergeAll(
        OtlpLogger.layer(to("/v1/logs")),
        OtlpMetrics.layer(to("/v1/metrics")),
        Layer.unwrapScoped(tracer)
      ).pipe(Layer.provide(OtlpSerialization.layerJson), Layer.provide(NodeHttpClient.layer))
    }
  })
