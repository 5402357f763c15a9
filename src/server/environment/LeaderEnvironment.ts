/** Settings of leaders, which the server shares. `docs/settings.md` explains every variable. */
import {
  baseUrl,
  headerList,
  optional,
  secret,
  text,
  type Values,
  withDefault
} from "../../settings/EnvironmentVariable.ts"
import * as Buses from "../drivers/Buses.ts"
import * as Logs from "../Logs.ts"
import * as LoadSettings from "./LoadSettings.ts"

export const settings = {
  ...Buses.settings,
  ...Logs.settings,
  /** Receives traces, metrics and log lines. */
  otlpEndpoint: optional("OTEL_EXPORTER_OTLP_ENDPOINT", baseUrl("http://collector.example.com:4318")),
  /** For example the collector's API key. */
  otlpHeaders: optional("OTEL_EXPORTER_OTLP_HEADERS", secret(headerList)),
  otlpServiceName: withDefault("OTEL_SERVICE_NAME", text("a name"), "webhook-trigger")
}

export type LeaderEnvironment = Values<typeof settings>

/** Fails with all faults at once. */
export const load = LoadSettings.load(settings)
