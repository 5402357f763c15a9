import { Options } from "@effect/cli"
import { Config, Effect, Option, Redacted, Schema } from "effect"
import * as Client from "../api/Client.ts"
import { fromClient, usage } from "./Failure.ts"
import { print, printJson } from "./Output.ts"

const url = Options.text("url").pipe(
  Options.withDescription("Where the server is; else WEBHOOK_TRIGGER_URL, else http://localhost:8080"),
  Options.withFallbackConfig(Config.nonEmptyString("WEBHOOK_TRIGGER_URL")),
  Options.withDefault("http://localhost:8080")
)

const adminKey = Options.redacted("admin-key").pipe(
  Options.withDescription("The server's admin key; better given as ADMIN_API_KEY, which no process list shows"),
  Options.withFallbackConfig(Config.redacted(Config.nonEmptyString("ADMIN_API_KEY"))),
  Options.optional
)

export const json = Options.boolean("json").pipe(Options.withDescription("Print JSON, for scripts"))

/** The options of every command that manages a server. */
export const managed = { url, adminKey, json }
/** The options of a command that needs no admin key. */
export const open = { url, json }

export interface Connection {
  readonly url: string
  readonly adminKey?: Option.Option<Redacted.Redacted>
  readonly json: boolean
}

const parseUrl = (text: string) =>
  Option.liftThrowable(() => new URL(text))().pipe(
    Option.filter(({ protocol }) => protocol === "http:" || protocol === "https:"),
    Option.match({
      onNone: () =>
        Effect.fail(usage(`--url takes an address such as http://localhost:8080, not ${JSON.stringify(text)}`)),
      onSome: () => Effect.succeed(text.replace(/\/+$/, ""))
    })
  )

/** Asks the server; whatever it refuses, and a server that is not there, ends the command with a `Failure`. */
export const ask = <A, E, R>(connection: Connection, question: (client: Client.Client) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const url = yield* parseUrl(connection.url)
    const key = connection.adminKey ?? Option.none()
    const client = yield* Client.make({ url, ...(Option.isSome(key) && { adminKey: key.value }) })
    return yield* Effect.catchAll(question(client), (error) => Effect.flatMap(fromClient(url)(error), Effect.fail))
  })

/** Prints an answer: as the API writes it with `--json`, else in words. */
export const show = <A, I>(
  connection: Connection,
  schema: Schema.Schema<A, I>,
  value: A,
  words: (value: A) => string
) => (connection.json ? printJson(Schema.encodeSync(schema)(value)) : print(words(value)))

/** For commands whose answer is empty. */
export const done = (connection: Connection, words: string) => (connection.json ? Effect.void : print(words))
