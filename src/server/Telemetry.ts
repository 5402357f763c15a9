import * as Otlp from "@effect/opentelemetry/Otlp"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Layer, Option } from "effect"
import { v4 } from "uuid"
import type { Environment } from "./Environment.ts"

/**
 * Traces, metrics and log lines to an OpenTelemetry collector (OTLP over HTTP, JSON), when one is set. Each process has an
 * instance id of its own: without it the counters of several would overwrite each other at the collector.
 */
export const otlp = (environment: Pick<Environment, "otlpEndpoint">, version: string): Layer.Layer<never> =>
  Option.match(environment.otlpEndpoint, {
    onNone: () => Layer.setTracerEnabled(false),
    onSome: (baseUrl) =>
      Otlp.layerJson({
        baseUrl,
        resource: {
          serviceName: "webhook-trigger",
          serviceVersion: version,
          attributes: { "service.instance.id": v4() }
        }
      }).pipe(Layer.provide(NodeHttpClient.layer))
  })
