/** Settings of leaders, which the server shares. `docs/reference/settings.md` explains every variable. */
import { Option, Schema } from "effect"
import {
  baseUrl,
  duration,
  type Format,
  headerList,
  optional,
  secret,
  text,
  type Values,
  withDefault
} from "../../settings/EnvironmentVariable.ts"
import * as Buses from "../drivers/Buses.ts"
import * as Logs from "../Logs.ts"
import { stallTimeoutFormat } from "../leaders/WorkspaceWords.ts"
import * as LoadSettings from "./LoadSettings.ts"

const leaderKey: Format<string> = {
  accepts: "takes a leader key, which begins with `whl_`",
  schema: Schema.String.pipe(Schema.check(Schema.isPattern(/^whl_[0-9A-Za-z]+$/)))
}

export const settings = {
  ...Buses.settings,
  ...Logs.settings,
  /** How long an agent may show nothing before it is stopped. */
  agentStallTimeout: withDefault("AGENT_STALL_TIMEOUT", stallTimeoutFormat, Option.none()),
  /** How long leaders may finish the run in hand when they are stopped. Default: 10 minutes for agents, 10 s for commands. */
  leaderDrain: optional("LEADER_DRAIN", duration("0 seconds", "1 day", "10 minutes")),
  /** Receives traces, metrics and log lines. */
  otlpEndpoint: optional("OTEL_EXPORTER_OTLP_ENDPOINT", baseUrl("http://collector.example.com:4318")),
  /** For example the collector's API key. */
  otlpHeaders: optional("OTEL_EXPORTER_OTLP_HEADERS", secret(headerList)),
  otlpServiceName: withDefault("OTEL_SERVICE_NAME", text("a name"), "webhook-trigger")
}

export type LeaderEnvironment = Values<typeof settings>

/** Settings of the `leader` command alone. */
const ofCommand = {
  /** The server that it leads a team of, without a broker. */
  leaderUrl: optional("LEADER_URL", baseUrl("https://hooks.example.com")),
  leaderKey: optional("LEADER_KEY", secret(leaderKey))
}

export type CommandEnvironment = LeaderEnvironment & Values<typeof ofCommand>

/** The variables with a secret. */
export const secrets = LoadSettings.secretsOf({ ...settings, ...ofCommand })

export const warnOfMisspelled = LoadSettings.warnOfMisspelled(settings, ofCommand)

/** Fails with all faults at once. */
export const load = LoadSettings.load({ ...settings, ...ofCommand })
