/** The server's settings, one line each. `docs/reference/settings.md` explains every variable. */
import { Duration, Effect, Option, Schema, SchemaTransformation } from "effect"
import { type Allowed, parseAllowed } from "../../engine/egress/AddressPolicy.ts"
import * as SettingsConfig from "../../engine/SettingsConfig.ts"
import { keyText, parseKey, type SecretKey } from "../../engine/verify/SecretKeys.ts"
import { parseNetworks } from "../../runtime/Networks.ts"
import {
  baseUrl,
  duration,
  durationOrOff,
  type Format,
  optional,
  secret,
  text,
  type Values,
  wholeNumber,
  withDefault,
  wordFor
} from "../../settings/EnvironmentVariable.ts"
import { fromText } from "../../settings/Quantity.ts"
import * as Repos from "../drivers/Repos.ts"
import * as ListenAddress from "../ListenAddress.ts"
import * as LeaderList from "../leaders/LeaderList.ts"
import * as FilesEnvironment from "./FilesEnvironment.ts"
import * as LeaderEnvironment from "./LeaderEnvironment.ts"
import * as LoadSettings from "./LoadSettings.ts"
import * as MailEnvironment from "./MailEnvironment.ts"
import * as OidcEnvironment from "./OidcEnvironment.ts"

const adminKeyFormat = {
  accepts: "takes at least 16 characters: ASCII letters, digits and punctuation, no spaces",
  schema: Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{16,}$/))
}

/** Hosts, addresses and networks that destinations may have besides public addresses. */
const allowedDestinations: Format<Allowed> = {
  accepts: "takes host names, addresses and networks such as `hooks.internal, *.corp.example.com, 10.0.0.0/8`",
  schema: fromText(Schema.Any as Schema.Codec<Allowed>, parseAllowed, ({ hosts, networks }) =>
    [...hosts, ...networks].join()
  )
}

/** Parts separated by commas. */
const list = Schema.String.pipe(
  Schema.decodeTo(
    Schema.Array(Schema.String),
    SchemaTransformation.transform({
      decode: (text: string): ReadonlyArray<string> => text.split(",").map((part) => part.trim()),
      encode: (parts: ReadonlyArray<string>) => parts.join()
    })
  )
)

const networks: Format<ReadonlyArray<string>> = {
  accepts: "takes addresses and networks such as `10.0.0.0/8, fd00::/8, 127.0.0.1`",
  schema: list.check(Schema.makeFilter((texts) => Option.isSome(parseNetworks(texts))))
}

const isOrigin = (text: string): boolean =>
  URL.canParse(text) && /^https?:\/\/[^*]+$/.test(text) && new URL(text).origin === text

const origins: Format<ReadonlyArray<string>> = {
  accepts: "takes origins such as `https://inspector.example.com, http://localhost:6274`, without a path or `*`",
  schema: list.check(Schema.makeFilter((texts) => texts.every(isOrigin)))
}

/** The first key encrypts webhooks' secrets. Any key can decrypt them. */
const secretKeys: Format<ReadonlyArray<SecretKey>> = {
  accepts: "takes one or more keys of 32 random bytes, each as base64 or 64 hexadecimal digits, separated by commas",
  schema: fromText(
    Schema.Any as Schema.Codec<ReadonlyArray<SecretKey>>,
    (text) => Option.all(text.split(",").map((part) => Option.fromNullishOr(parseKey(part.trim())))),
    (keys) => keys.map(keyText).join()
  )
}

export const settings = {
  host: withDefault("HOST", text("an address to listen on"), ListenAddress.defaultHost),
  /** 0: any free port. */
  port: withDefault("PORT", wholeNumber(0, 65_535, " (0: any free port)"), 8080),
  /** The server's address for callers, without a trailing slash. Default: the address of each request. */
  publicUrl: optional("PUBLIC_URL", baseUrl("https://hooks.example.com")),
  /** The proxies whose `X-Forwarded-*` headers are trusted. */
  trustedProxies: withDefault("TRUSTED_PROXIES", networks, []),
  /** Per process. Default: the limit on open files. */
  maxConnections: optional("MAX_CONNECTIONS", wholeNumber(1, 1_000_000)),
  /** Per client address, except for trusted proxies. Default: half of `maxConnections`. */
  maxConnectionsPerAddress: optional("MAX_CONNECTIONS_PER_ADDRESS", wholeNumber(1, 1_000_000)),
  ...Repos.settings,
  /** Default: generated at the first start. */
  adminKey: optional("ADMIN_API_KEY", secret(adminKeyFormat)),
  /** A second address, for management. The first one then serves only triggers and health checks. */
  adminListen: optional("ADMIN_LISTEN", ListenAddress.format),
  /** The addresses that may call anything other than triggers and health checks. Default: all. */
  adminAllowFrom: optional("ADMIN_ALLOW_FROM", networks),
  /** Pages of these origins may call `/mcp` in a browser. */
  mcpAllowedOrigins: withDefault("MCP_ALLOWED_ORIGINS", origins, []),
  /** Default: anyone may read the metrics. */
  metricsToken: optional("METRICS_TOKEN", secret(adminKeyFormat)),
  /** Whether `/docs` and `/openapi.json` are served. */
  apiDocs: withDefault("API_DOCS", wordFor({ true: true, false: false }), true),
  /** Default: a file in `dataDir`. */
  secretKeys: optional("SECRETS_KEY", secret(secretKeys)),
  /** Where events may be sent, besides public addresses by https. */
  callbackAllow: optional("CALLBACK_ALLOW", allowedDestinations),
  ...MailEnvironment.settings,
  ...FilesEnvironment.settings,
  engine: { config: SettingsConfig.config },
  /** Teams that this process leads, each with a program. */
  leaders: withDefault("LEADERS", LeaderList.commands, []),
  /** Teams that this process leads, each with an agent. */
  agents: withDefault("AGENTS", LeaderList.agentLines, []),
  /** Each of these teams has a working folder in it. */
  agentsDir: withDefault("AGENTS_DIR", text("a folder"), "agents"),
  /** Their programs run as this user; if absent, as the server's. */
  leaderUser: optional("LEADER_USER", text("a user, or user:group")),
  /** How long ended runs are stored. */
  runRetention: withDefault(
    "RUN_RETENTION",
    durationOrOff("1 minute", "36500 days", "30 days"),
    Option.some(Duration.days(90))
  ),
  /** How long the steps of agents are stored, at most as long as their runs. */
  stepsRetention: withDefault(
    "STEPS_RETENTION",
    durationOrOff("1 minute", "36500 days", "7 days"),
    Option.some(Duration.days(30))
  ),
  /** How long audit events are stored. */
  auditRetention: withDefault(
    "AUDIT_RETENTION",
    durationOrOff("1 day", "36500 days", "365 days"),
    Option.some(Duration.days(365))
  ),
  /** Whether audit events are also written to standard output. */
  auditToStdout: withDefault("AUDIT_LOG", wordFor({ off: false, stdout: true }), false),
  /** How long the server waits for requests in progress when it stops. */
  shutdownGrace: withDefault("SHUTDOWN_GRACE", duration("0 seconds", "1 hour", "30 s"), Duration.seconds(30)),
  ...OidcEnvironment.settings,
  ...LeaderEnvironment.settings
}

export type Environment = Values<typeof settings>

const listensTwice = ({ adminListen, host, port }: Environment): boolean =>
  port !== 0 && Option.exists(adminListen, (admin) => admin.host === host && admin.port === port)

const leadsTwice = ({ agents, leaders }: Environment): ReadonlyArray<string> =>
  agents.map(({ team }) => team).filter((team) => leaders.some((leader) => leader.team === team))

/** The faults of settings that are each valid by themselves. */
const conflicts = (environment: Environment): ReadonlyArray<LoadSettings.SettingFault> => [
  ...(listensTwice(environment)
    ? [
        {
          name: "ADMIN_LISTEN",
          accepts: "takes an address other than HOST and PORT",
          given: ListenAddress.toText(environment)
        }
      ]
    : []),
  ...Repos.conflicts(environment),
  ...MailEnvironment.conflicts(environment),
  ...FilesEnvironment.conflicts(environment),
  ...leadsTwice(environment).map((given) => ({
    name: "AGENTS",
    accepts: "takes teams that LEADERS does not have",
    given
  })),
  ...OidcEnvironment.conflicts(environment)
]

export const warnOfMisspelled = LoadSettings.warnOfMisspelled(settings, SettingsConfig.settings)

/** Fails with all faults at once. */
export const load = Effect.filterOrFail(
  LoadSettings.load(settings),
  (environment) => conflicts(environment).length === 0,
  (environment) => new LoadSettings.SettingsInvalid({ faults: conflicts(environment) })
)
