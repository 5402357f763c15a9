import * as Otlp from "@effect/opentelemetry/Otlp"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Layer, Logger, Option } from "effect"
import type { Environment } from "./Environment.ts"

/** Log lines go to standard error, one format for people and two for programs. */
export const logs = (environment: Pick<Environment, "logLevel" | "logFormat">): Layer.Layer<never> => {
  const loggers = {
    pretty: Logger.prettyLogger({ stderr: true }),
    logfmt: Logger.withConsoleError(Logger.logfmtLogger),
    json: Logger.withConsoleError(Logger.jsonLogger)
  }
  return Layer.merge(
    Logger.replace(Logger.defaultLogger, loggers[environment.logFormat]),
    Logger.minimumLogLevel(environment.logLevel)
  )
}

/** Traces, metrics and log lines to an OpenTelemetry collector (OTLP over HTTP, JSON), when one is set. */
export const otlp = (environment: Pick<Environment, "otlpEndpoint">, version: string): Layer.Layer<never> =>
  Option.match(environment.otlpEndpoint, {
    onNone: () => Layer.setTracerEnabled(false),
    onSome: (baseUrl) =>
      Otlp.layerJson({ baseUrl, resource: { serviceName: "webhook-trigger", serviceVersion: version } }).pipe(
        Layer.provide(NodeHttpClient.layer)
      )
  })
