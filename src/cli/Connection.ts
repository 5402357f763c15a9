import { Config, Effect, Option, Redacted, Schema } from "effect"
import { Flag } from "effect/cli"
import * as Client from "../api/Client.ts"
import { fromClient } from "./Failure.ts"
import { print, printJson } from "./Output.ts"

/** An HTTP address, without trailing slashes. */
export const parseUrl = (text: string): Option.Option<string> =>
  Option.liftThrowable(() => new URL(text))().pipe(
    Option.filter(({ protocol }) => protocol === "http:" || protocol === "https:"),
    Option.map(() => text.replace(/\/+$/, ""))
  )

export const url = Flag.String("url").pipe(
  Flag.withMetavar("address"),
  Flag.withDescription(
    "The server's address; default: WEBHOOK_TRIGGER_URL, the profile's, or http://localhost:8080"
  ),
  Flag.withFallbackConfig(Config.NonEmptyString("WEBHOOK_TRIGGER_URL")),
  Flag.filterMap(parseUrl, "--url or WEBHOOK_TRIGGER_URL must be an address such as http://localhost:8080"),
  Flag.withDefault("http://localhost:8080")
)

/** A key that is valid in an HTTP header, without surrounding white space from a file or a secret store. */
export const parseKey = (key: Redacted.Redacted): Option.Option<Redacted.Redacted> =>
  Option.map(
    Option.liftPredicate(Redacted.value(key).trim(), (text) => /^[\x21-\x7e]+$/.test(text)),
    Redacted.make
  )

const adminKey = Flag.Redacted("admin-key").pipe(
  Flag.withMetavar("key"),
  Flag.withDescription("The admin key or an API key; prefer ADMIN_API_KEY, which is not visible in process lists"),
  Flag.withFallbackConfig(Config.Redacted(Config.NonEmptyString("ADMIN_API_KEY"))),
  Flag.filterMap(
    parseKey,
    "--admin-key or ADMIN_API_KEY must contain only ASCII letters, digits and punctuation, no spaces"
  ),
  Flag.optional
)

/** A word that also fits in a file name and on a command line. */
export const profileName = (description: string) =>
  Flag.String("profile").pipe(
    Flag.withMetavar("name"),
    Flag.withDescription(description),
    Flag.filterMap(
      Option.liftPredicate((name) => /^[\w.-]{1,63}$/.test(name)),
      "--profile must be 1 to 63 letters, digits, dots, hyphens or underscores"
    ),
    Flag.optional
  )
/** `withProfile` applies it before the command is parsed. */
const profile = profileName("The profile of `login` to use; default: WEBHOOK_PROFILE or the current one")

export const json = Flag.Boolean("json").pipe(Flag.withDescription("Print JSON, for scripts"))

/** The options of all management commands. */
export const adminOptions = { url, adminKey, profile, json }
/** The options of commands without an admin key. */
export const publicOptions = { url, profile, json }

export interface Connection {
  readonly url: string
  readonly adminKey?: Option.Option<Redacted.Redacted>
  readonly json: boolean
}

/** Calls the server. An error response or an unreachable server is a `Failure`. `notFound` is its title for a 404. */
export const call = <A, E, R>(
  { adminKey = Option.none(), url }: Connection,
  request: (client: Client.Client) => Effect.Effect<A, E, R>,
  notFound?: string
) =>
  Effect.gen(function* () {
    const client = yield* Client.make({ url, ...(Option.isSome(adminKey) && { adminKey: adminKey.value }) })
    return yield* Effect.catch(request(client), (error) =>
      Effect.flatMap(fromClient(url, notFound)(error), Effect.fail)
    )
  })

/** Prints a result as text or, with `--json`, as JSON. */
export const show = <A, I>(
  connection: Connection,
  schema: Schema.Codec<A, I>,
  value: A,
  text: (value: A) => string
) => (connection.json ? printJson(Schema.encodeSync(schema)(value)) : print(text(value)))

/** For commands without a result. */
export const done = (connection: Connection, text: string) => (connection.json ? Effect.void : print(text))
