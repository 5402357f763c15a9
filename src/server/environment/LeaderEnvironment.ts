/** What a leader reads of the environment, and the server too. `docs/settings.md` explains every variable. */
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
  /** Traces, metrics and log lines are sent there; absent: nowhere. */
  otlpEndpoint: optional("OTEL_EXPORTER_OTLP_ENDPOINT", baseUrl("http://collector.example.com:4318")),
  /** Sent with each of them; a collector's key, for example. */
  otlpHeaders: optional("OTEL_EXPORTER_OTLP_HEADERS", secret(headerList)),
  /** What they are said to come from. */
  otlpServiceName: withDefault("OTEL_SERVICE_NAME", text("a name"), "webhook-trigger")
}

export type LeaderEnvironment = Values<typeof settings>

/** Fails with all faults at once. */
export const load = LoadSettings.load(settings)
