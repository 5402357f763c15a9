/** The server's settings, one line each. `docs/settings.md` explains every variable. */
import { Config, type ConfigError, Data, Duration, Effect, LogLevel, Option, Schema } from "effect"
import {
  address,
  baseUrl,
  configOf,
  duration,
  durationOrOff,
  oneOf,
  optional,
  type Setting,
  secret,
  text,
  type Values,
  wholeNumber,
  withDefault,
  wordFor
} from "../engine/EnvironmentVariable.ts"
import * as SettingsConfig from "../engine/SettingsConfig.ts"

const amqpAddress = address(["amqp:", "amqps:"], "amqp://user:password@mq.example.com:5672")
const postgresAddress = address(["postgres:", "postgresql:"], "postgres://user:password@db.example.com:5432/webhooks")
const adminKeyFormat = {
  accepts: "takes at least 16 characters, no blanks, as an HTTP header can carry them",
  schema: Schema.String.pipe(Schema.pattern(/^[\x21-\x7e]{16,}$/))
}
const logLevels = wordFor({
  ...{ trace: LogLevel.Trace, debug: LogLevel.Debug, info: LogLevel.Info, warn: LogLevel.Warning },
  ...{ warning: LogLevel.Warning, error: LogLevel.Error, fatal: LogLevel.Fatal, none: LogLevel.None }
})

/** What a leader reads too. */
const leaderSettings = {
  /** Absent: the server's bus is in its own memory; a leader cannot do without. */
  amqpUrl: optional("AMQP_URL", secret(amqpAddress)),
  amqpQueueType: withDefault("AMQP_QUEUE_TYPE", oneOf("classic", "quorum"), "classic"),
  logLevel: withDefault("LOG_LEVEL", logLevels, LogLevel.Info),
  logFormat: withDefault("LOG_FORMAT", oneOf("pretty", "logfmt", "json"), process.stderr.isTTY ? "pretty" : "logfmt"),
  /** Traces, metrics and log lines are sent there; absent: nowhere. */
  otlpEndpoint: optional("OTEL_EXPORTER_OTLP_ENDPOINT", baseUrl("http://collector.example.com:4318"))
}

const settings = {
  host: withDefault("HOST", text("an address to listen on"), "0.0.0.0"),
  /** 0: any free port. */
  port: withDefault("PORT", wholeNumber(0, 65_535, " (0: any free port)"), 8080),
  /** Where callers reach the server, without a slash at the end; absent: as each request was addressed. */
  publicUrl: optional("PUBLIC_URL", baseUrl("https://hooks.example.com")),
  /** Absent: PGlite in `dataDir`. */
  databaseUrl: optional("DATABASE_URL", secret(postgresAddress)),
  dataDir: withDefault("DATA_DIR", text("a folder"), "data"),
  /** Absent: one is generated at the first start. */
  adminKey: optional("ADMIN_API_KEY", secret(adminKeyFormat)),
  engine: { config: SettingsConfig.config },
  /** How long ended runs are stored; absent: forever. */
  runRetention: withDefault("RUN_RETENTION", durationOrOff("1 minute", "36500 days", "30 days"), Option.none()),
  /** How long a stop waits for what is in flight. */
  shutdownGrace: withDefault("SHUTDOWN_GRACE", duration("0 seconds", "1 hour", "30 s"), Duration.seconds(30)),
  ...leaderSettings
}

/** Everything that can be set from outside. */
export type Environment = Values<typeof settings>

/** The part of it that a leader needs. */
export type LeaderEnvironment = Values<typeof leaderSettings>

/** A variable whose value cannot be used. */
export interface SettingFault {
  readonly name: string
  readonly accepts: string
  /** As it was given; absent for a secret. */
  readonly given?: string
}

/** Every fault of the environment, not only the first. */
export class SettingsInvalid extends Data.TaggedError("SettingsInvalid")<{
  readonly faults: ReadonlyArray<SettingFault>
}> {}

const secrets = new Set(
  Object.values<Partial<Setting<unknown>>>(settings).flatMap(({ isSecret, variable }) => (isSecret ? [variable] : []))
)

const given = (name: string) =>
  secrets.has(name)
    ? Effect.succeed({})
    : Effect.map(Effect.orDie(Config.withDefault(Config.string(name), "")), (text) => ({ given: text }))

const faultsOf = (
  error: ConfigError.ConfigError
): ReadonlyArray<{ readonly name: string; readonly accepts: string }> =>
  error._op === "And" || error._op === "Or"
    ? [...faultsOf(error.left), ...faultsOf(error.right)]
    : [{ name: error.path.join("_"), accepts: error.message }]

const orAllFaults = <A>(config: Config.Config<A>): Effect.Effect<A, SettingsInvalid> =>
  Effect.catchAll(config, (error) =>
    Effect.flatMap(
      Effect.forEach(faultsOf(error), (fault) => Effect.map(given(fault.name), (more) => ({ ...fault, ...more }))),
      (faults) => Effect.fail(new SettingsInvalid({ faults }))
    )
  )

/** Reads the environment through Effect's `ConfigProvider`; fails with all faults at once. */
export const load: Effect.Effect<Environment, SettingsInvalid> = orAllFaults(configOf(settings))

/** The part of it that a leader needs. */
export const loadLeader: Effect.Effect<LeaderEnvironment, SettingsInvalid> = orAllFaults(configOf(leaderSettings))
