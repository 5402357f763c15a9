import { Config, ConfigError, Data, Duration, Effect, Either, LogLevel, Option, Redacted } from "effect"
import { Settings, type SettingsValues } from "../engine/Settings.ts"
import { parseDuration, parseSize } from "./Quantity.ts"

/** What server and leader both can be told from outside. */
export interface Shared {
  /** Absent: the server's bus is in memory and a demo team answers; a leader cannot do without. */
  readonly amqpUrl: Option.Option<Redacted.Redacted>
  readonly amqpQueueType: "classic" | "quorum"
  readonly logLevel: LogLevel.LogLevel
  readonly logFormat: "pretty" | "logfmt" | "json"
  /** Traces, metrics and log lines are sent there; absent: nowhere. */
  readonly otlpEndpoint: Option.Option<string>
}

/** Everything the server can be told from outside. `docs/settings.md` explains each variable. */
export interface Environment extends Shared {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Where callers reach the server, without a slash at the end; absent: as each request was addressed. */
  readonly publicUrl: Option.Option<string>
  /** Absent: PGlite in `dataDir`. */
  readonly databaseUrl: Option.Option<Redacted.Redacted>
  readonly dataDir: string
  /** Absent: one is made at the first start. */
  readonly adminKey: Option.Option<Redacted.Redacted>
  readonly engine: SettingsValues
  /** How long ended runs are kept; absent: for ever. */
  readonly runRetention: Option.Option<Duration.Duration>
  /** How long a stop waits for what is in flight. */
  readonly shutdownGrace: Duration.Duration
}

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

/** A variable, trimmed; an empty one counts as absent. */
const variable = <A>(name: string, accepts: string, parse: (text: string) => Option.Option<A>) =>
  Config.string(name).pipe(
    Config.map((text) => text.trim()),
    Config.withDefault(""),
    Config.mapOrFail((text) =>
      text === ""
        ? Either.right(Option.none<A>())
        : Option.match(parse(text), {
            onNone: () => Either.left(ConfigError.InvalidData([name], accepts)),
            onSome: (value) => Either.right(Option.some(value))
          })
    )
  )

const orElse = <A>(config: Config.Config<Option.Option<A>>, fallback: A): Config.Config<A> =>
  Config.map(config, (value) => Option.getOrElse(value, () => fallback))

const whole = (name: string, min: number, max: number, note = "") =>
  variable(name, `takes a whole number from ${min} to ${max}${note}`, (text) =>
    Option.some(Number(text)).pipe(Option.filter((n) => /^\d+$/.test(text) && n >= min && n <= max))
  )

const duration = (name: string, min: Duration.DurationInput, max: Duration.DurationInput, example: string) =>
  variable(
    name,
    `takes seconds, or a number with a unit such as \`${example}\`, from ${Duration.format(min)} to ${Duration.format(max)}`,
    (text) => Option.filter(parseDuration(text), Duration.between({ minimum: min, maximum: max }))
  )

const size = (name: string, min: number, max: number) =>
  variable(name, `takes bytes, or a size such as \`1 MiB\`, from ${min} to ${max} bytes`, (text) =>
    Option.filter(parseSize(text), (n) => n >= min && n <= max)
  )

const oneOf = <const A extends string>(name: string, values: ReadonlyArray<A>) =>
  variable(name, `takes one of ${values.join(", ")}`, (text) =>
    Option.fromNullable(values.find((value) => value === text.toLowerCase()))
  )

const url = (name: string, schemes: ReadonlyArray<string>, example: string) =>
  variable(name, `takes an address such as \`${example}\``, (text) =>
    Option.liftThrowable(() => new URL(text))().pipe(
      Option.filter(({ protocol, hostname }) => schemes.includes(protocol) && hostname !== ""),
      Option.map(() => text)
    )
  )

const http = ["http:", "https:"]
const baseUrl = (name: string, example: string) =>
  Config.map(
    url(name, http, example),
    Option.map((text) => text.replace(/\/+$/, ""))
  )

const secret = (config: Config.Config<Option.Option<string>>) => Config.map(config, Option.map(Redacted.make<string>))
const secrets = ["DATABASE_URL", "AMQP_URL", "ADMIN_API_KEY"]

const logLevels = {
  ...{ trace: LogLevel.Trace, debug: LogLevel.Debug, info: LogLevel.Info, warn: LogLevel.Warning },
  ...{ warning: LogLevel.Warning, error: LogLevel.Error, fatal: LogLevel.Fatal, none: LogLevel.None }
}

const shared = {
  amqpUrl: secret(url("AMQP_URL", ["amqp:", "amqps:"], "amqp://user:password@mq.example.com:5672")),
  amqpQueueType: orElse(oneOf("AMQP_QUEUE_TYPE", ["classic", "quorum"]), "classic"),
  logLevel: orElse(
    oneOf("LOG_LEVEL", ["trace", "debug", "info", "warn", "warning", "error", "fatal", "none"]),
    "info"
  ).pipe(Config.map((level) => logLevels[level])),
  logFormat: orElse(oneOf("LOG_FORMAT", ["pretty", "logfmt", "json"]), process.stderr.isTTY ? "pretty" : "logfmt"),
  otlpEndpoint: baseUrl("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.example.com:4318")
}

const environment: Config.Config<Environment> = Config.all({
  host: orElse(variable("HOST", "takes an address to listen on", Option.some), "0.0.0.0"),
  port: orElse(whole("PORT", 0, 65_535, " (0: any free port)"), 8080),
  publicUrl: baseUrl("PUBLIC_URL", "https://hooks.example.com"),
  databaseUrl: secret(
    url("DATABASE_URL", ["postgres:", "postgresql:"], "postgres://user:password@db.example.com:5432/webhooks")
  ),
  dataDir: orElse(variable("DATA_DIR", "takes a folder", Option.some), "data"),
  adminKey: secret(
    variable(
      "ADMIN_API_KEY",
      "takes at least 16 characters, no blanks, as an HTTP header can carry them",
      Option.liftPredicate((text) => /^[\x21-\x7e]{16,}$/.test(text))
    )
  ),
  engine: Config.all({
    maxConcurrent: orElse(whole("WEBHOOK_MAX_CONCURRENT", 1, 10_000), Settings.defaults.maxConcurrent),
    timeout: orElse(duration("WEBHOOK_TIMEOUT", "1 second", "1 day", "5 minutes"), Settings.defaults.timeout),
    maxQueued: orElse(whole("WEBHOOK_MAX_QUEUED", 1, 10_000_000), Settings.defaults.maxQueued),
    maxBody: orElse(size("WEBHOOK_MAX_BODY", 1024, 64 * 1024 ** 2), Settings.defaults.maxBody)
  }).pipe(Config.map((given): SettingsValues => ({ ...Settings.defaults, ...given }))),
  runRetention: variable(
    "RUN_RETENTION",
    "takes `off`, seconds, or a number with a unit such as `30 days`, from 1m to 36500d",
    (text) =>
      text.toLowerCase() === "off"
        ? Option.some(Option.none<Duration.Duration>())
        : Option.map(
            Option.filter(parseDuration(text), Duration.between({ minimum: "1 minute", maximum: "36500 days" })),
            Option.some
          )
  ).pipe(Config.map(Option.flatten)),
  shutdownGrace: orElse(duration("SHUTDOWN_GRACE", "0 seconds", "1 hour", "30 s"), Duration.seconds(30)),
  ...shared
})

const given = (name: string) =>
  secrets.includes(name)
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
export const load: Effect.Effect<Environment, SettingsInvalid> = orAllFaults(environment)

/** The part of it that a leader needs. */
export const loadShared: Effect.Effect<Shared, SettingsInvalid> = orAllFaults(Config.all(shared))
