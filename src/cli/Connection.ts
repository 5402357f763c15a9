import { Options } from "@effect/cli"
import { Config, Effect, Option, Redacted, Schema } from "effect"
import * as Client from "../api/Client.ts"
import { fromClient } from "./Failure.ts"
import { print, printJson } from "./Output.ts"

/** An HTTP address, without trailing slashes. */
export const parseUrl = (text: string): Option.Option<string> =>
  Option.liftThrowable(() => new URL(text))().pipe(
    Option.filter(({ protocol }) => protocol === "http:" || protocol === "https:"),
    Option.map(() => text.replace(/\/+$/, ""))
  )

const url = Options.text("url").pipe(
  Options.withPseudoName("address"),
  Options.withDescription("The server's address; default: WEBHOOK_TRIGGER_URL or http://localhost:8080"),
  Options.withFallbackConfig(Config.nonEmptyString("WEBHOOK_TRIGGER_URL")),
  Options.filterMap(parseUrl, "--url or WEBHOOK_TRIGGER_URL must be an address such as http://localhost:8080"),
  Options.withDefault("http://localhost:8080")
)

/** A key that is valid in an HTTP header, without surrounding white space from a file or a secret store. */
const parseKey = (key: Redacted.Redacted): Option.Option<Redacted.Redacted> =>
  Option.map(
    Option.liftPredicate(Redacted.value(key).trim(), (text) => /^[\x21-\x7e]+$/.test(text)),
    Redacted.make
  )

const adminKey = Options.redacted("admin-key").pipe(
  Options.withPseudoName("key"),
  Options.withDescription("The server's admin key; prefer ADMIN_API_KEY, which is not visible in process lists"),
  Options.withFallbackConfig(Config.redacted(Config.nonEmptyString("ADMIN_API_KEY"))),
  Options.filterMap(
    parseKey,
    "--admin-key or ADMIN_API_KEY must contain only ASCII letters, digits and punctuation, no spaces"
  ),
  Options.optional
)

export const json = Options.boolean("json").pipe(Options.withDescription("Print JSON, for scripts"))

/** The options of all management commands. */
export const adminOptions = { url, adminKey, json }
/** The options of commands without an admin key. */
export const publicOptions = { url, json }

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
    return yield* Effect.catchAll(request(client), (error) =>
      Effect.flatMap(fromClient(url, notFound)(error), Effect.fail)
    )
  })

/** Prints a result as text or, with `--json`, as JSON. */
export const show = <A, I>(
  connection: Connection,
  schema: Schema.Schema<A, I>,
  value: A,
  text: (value: A) => string
) => (connection.json ? printJson(Schema.encodeSync(schema)(value)) : print(text(value)))

/** For commands without a result. */
export const done = (connection: Connection, text: string) => (connection.json ? Effect.void : print(text))
