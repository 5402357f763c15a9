/** What a leader reads of the environment, and the server too. `docs/settings.md` explains every variable. */
import { LogLevel } from "effect"
import { baseUrl, oneOf, optional, type Values, withDefault, wordFor } from "../engine/EnvironmentVariable.ts"
import * as Buses from "./Buses.ts"
import * as LoadSettings from "./LoadSettings.ts"

const logLevels = wordFor({
  ...{ trace: LogLevel.Trace, debug: LogLevel.Debug, info: LogLevel.Info, warn: LogLevel.Warning },
  ...{ warning: LogLevel.Warning, error: LogLevel.Error, fatal: LogLevel.Fatal, none: LogLevel.None }
})

export const settings = {
  ...Buses.settings,
  logLevel: withDefault("LOG_LEVEL", logLevels, LogLevel.Info),
  logFormat: withDefault("LOG_FORMAT", oneOf("pretty", "logfmt", "json"), process.stderr.isTTY ? "pretty" : "logfmt"),
  /** Traces, metrics and log lines are sent there; absent: nowhere. */
  otlpEndpoint: optional("OTEL_EXPORTER_OTLP_ENDPOINT", baseUrl("http://collector.example.com:4318"))
}

export type LeaderEnvironment = Values<typeof settings>

/** Fails with all faults at once. */
export const load = LoadSettings.load(settings)
