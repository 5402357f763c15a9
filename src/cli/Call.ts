/** The server that a command speaks to, and how it prints what the server answers. */

import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Config, Effect, Layer, Option, Record, Redacted, Result, Schema } from "effect"
import { Command, Flag, GlobalFlag } from "effect/cli"
import { HttpClient, type HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"
import * as Client from "../api/Client.ts"
import { withNumbers } from "../api/ExactNumbers.ts"
import * as Json from "../domain/Json.ts"
import { type Answer, type EndpointName, endpointOf, type Request } from "./Endpoint.ts"
import { type Failure, fromClient, fromResponse, unexpected, usage } from "./Failure.ts"
import * as ProfileFile from "./profile/ProfileFile.ts"
import { outcomeOf } from "./run/Outcome.ts"

/** The flags of every command that speaks to a server. */
export const flags = {
  url: Flag.String("url").pipe(
    Flag.withMetavar("address"),
    Flag.withDescription("The server's address; default: WEBHOOK_TRIGGER_URL, the profile's, or http://localhost:8080"),
    Flag.optional
  ),
  adminKey: Flag.Redacted("admin-key").pipe(
    Flag.withMetavar("key"),
    Flag.withDescription("The admin key or an API key; prefer ADMIN_API_KEY, which is not visible in process lists"),
    Flag.optional
  ),
  profile: Flag.String("profile").pipe(
    Flag.withMetavar("name"),
    Flag.withDescription("The profile of `login` to use; default: WEBHOOK_PROFILE or the current one"),
    Flag.optional
  ),
  json: Flag.Boolean("json").pipe(
    Flag.withoutNegation,
    Flag.withDescription("Print JSON, for scripts"),
    Flag.withDefault(false)
  )
}

/** The same flags before the names of a command. */
const early = {
  url: GlobalFlag.Setting("url")({ flag: Flag.withHidden(flags.url) }),
  adminKey: GlobalFlag.Setting("admin-key")({ flag: Flag.withHidden(flags.adminKey) }),
  profile: GlobalFlag.Setting("profile")({ flag: Flag.withHidden(flags.profile) }),
  json: GlobalFlag.Setting("json")({ flag: Flag.withHidden(flags.json) })
}

type Given = Command.Command.Config.Infer<typeof flags>

/** A command that may have these flags before its name, too. */
export const withEarlyFlags = Command.withGlobalFlags([early.url, early.adminKey, early.profile, early.json])
export const withEarlyPublicFlags = Command.withGlobalFlags([early.url, early.profile, early.json])

export interface Connection {
  readonly url: string
  readonly adminKey: Option.Option<Redacted.Redacted>
  readonly json: boolean
  /** Calls the server. An error response or an unreachable server is a `Failure`. `notFound` is its title for a 404. */
  readonly call: <A, E, R>(
    request: (client: Client.Client) => Effect.Effect<A, E, R>,
    notFound?: string
  ) => Effect.Effect<A, Failure, R | HttpClient.HttpClient>
}

/** An HTTP address, without trailing slashes. */
export const parseUrl = (text: string): Option.Option<string> =>
  Option.liftThrowable(() => new URL(text))().pipe(
    Option.filter(({ protocol }) => protocol === "http:" || protocol === "https:"),
    Option.map(() => withoutSlash(text))
  )

const withoutSlash = (url: string) => url.replace(/\/+$/, "")

/** A key that is valid in an HTTP header, without surrounding white space from a file or a secret store. */
export const parseKey = (text: string): Option.Option<Redacted.Redacted> =>
  Option.map(
    Option.liftPredicate(text.trim(), (key) => /^[\x21-\x7e]+$/.test(key)),
    Redacted.make
  )

const variable = (name: string) =>
  Effect.map(
    Effect.orElseSucceed(Config.option(Config.NonEmptyString(name)), Option.none<string>),
    Option.getOrUndefined
  )

const defaultUrl = "http://localhost:8080"

/** The address without any profile. */
export const urlOf = Effect.fnUntraced(function* (given: Option.Option<string>) {
  const url = Option.getOrUndefined(given) ?? (yield* variable("WEBHOOK_TRIGGER_URL")) ?? defaultUrl
  return yield* validUrl(url)
})

const validUrl = (url: string) =>
  Effect.fromOption(parseUrl(url)).pipe(
    Effect.mapError(() => usage("--url or WEBHOOK_TRIGGER_URL must be an address such as http://localhost:8080"))
  )

/**
 * The address and the key: those of flags first, then those of a profile that a flag names, those of the environment, and those
 * of any other profile. A profile's key is sent only to its own server.
 */
const settingsOf = Effect.fnUntraced(function* (given: Given) {
  const named = Option.getOrUndefined(given.profile)
  const [url, key] = [yield* variable("WEBHOOK_TRIGGER_URL"), yield* variable("ADMIN_API_KEY")]
  const givenUrl = Option.getOrUndefined(given.url) ?? (named === undefined ? url : undefined)
  const givenKey = Option.getOrUndefined(Option.map(given.adminKey, Redacted.value))
  const isKnown = named === undefined && givenUrl !== undefined && (givenKey ?? key) !== undefined
  const stored = isKnown ? undefined : yield* ProfileFile.find(named ?? (yield* variable("WEBHOOK_PROFILE")))
  const used = yield* validUrl(givenUrl ?? stored?.url ?? defaultUrl)
  const storedKey = stored !== undefined && withoutSlash(stored.url) === used ? stored.key : undefined
  const usedKey = givenKey ?? (named === undefined ? (key ?? storedKey) : (storedKey ?? key))
  if (usedKey === undefined) return { url: used, adminKey: Option.none() }
  const adminKey = parseKey(usedKey)
  return Option.isSome(adminKey)
    ? { url: used, adminKey }
    : yield* usage("--admin-key or ADMIN_API_KEY must contain only ASCII letters, digits and punctuation, no spaces")
})

export const connectionTo = (url: string, adminKey: Option.Option<Redacted.Redacted>, json: boolean): Connection => ({
  ...{ url, adminKey, json },
  call: (request, notFound) =>
    Client.make({ url, ...(Option.isSome(adminKey) && { adminKey: adminKey.value }) }).pipe(
      Effect.flatMap(request),
      Effect.catch((error) => Effect.flatMap(fromClient(url, notFound)(error), Effect.fail))
    )
})

/** Flags after the name of a command come before those in front of it. */
const both = <A>(later: Option.Option<A>, earlier: Option.Option<A>) => Option.orElse(later, () => earlier)

export const connect = Effect.fnUntraced(function* (given: Given) {
  const { adminKey, url } = yield* settingsOf({
    url: both(given.url, yield* early.url),
    adminKey: both(given.adminKey, yield* early.adminKey),
    profile: both(given.profile, yield* early.profile),
    json: given.json
  })
  return connectionTo(url, adminKey, given.json || (yield* early.json))
})

/** With the settings of the environment and of the profile alone. */
export const current = Effect.map(
  settingsOf({ url: Option.none(), adminKey: Option.none(), profile: Option.none(), json: false }),
  ({ adminKey, url }) => connectionTo(url, adminKey, false)
)

/** The connection of commands without a key. */
export const connectPublicly = Effect.fnUntraced(function* (given: Omit<Given, "adminKey">) {
  const settings = { ...given, adminKey: Option.none(), url: both(given.url, yield* early.url) }
  const { url } = yield* settingsOf({ ...settings, profile: both(given.profile, yield* early.profile) })
  return connectionTo(url, Option.none(), given.json || (yield* early.json))
})

/** Members of responses that commands print, in which numbers stay as they were written. */
const ofCallers = ["variables", "payload", "answer"]

/** The JSON of a response. What is no JSON is no answer of an API either. */
export const jsonOf = (
  response: HttpClientResponse.HttpClientResponse
): Effect.Effect<unknown, HttpClientError.HttpClientError> =>
  Effect.map(response.text, (text) => {
    const parsed = Result.try((): unknown =>
      text === "" ? undefined : Json.withPlainNumbers(Json.parse(text), ofCallers)
    )
    return Result.getOrElse(parsed, () => notJson)
  })

const notJson = Symbol("not JSON")

type Methods = Readonly<
  Record<string, Readonly<Record<string, (request: object) => Effect.Effect<HttpClientResponse.HttpClientResponse>>>>
>

/** The response of an endpoint, if it is a success. */
export const respond = <N extends EndpointName>(
  { call, url }: Connection,
  name: N,
  request: Partial<Request<N>>,
  notFound?: string
) =>
  Effect.gen(function* () {
    const { group, id } = endpointOf(name)
    const response = yield* call((client) =>
      (client as unknown as Methods)[group]![id]!({ ...request, responseMode: "response-only" })
    )
    if (response.status < 400) return response
    const outcome = outcomeOf(yield* Effect.option(response.json))
    return yield* outcome ?? Effect.flatMap(fromResponse(url, response, notFound), Effect.fail)
  })

/** The answer of an endpoint: its JSON, and what it means. */
export const send = Effect.fn("Cli.send")(function* <N extends EndpointName>(
  connection: Connection,
  name: N,
  request: Partial<Request<N>>,
  notFound?: string
) {
  const response = yield* respond(connection, name, request, notFound)
  if (response.status === 204) return { json: undefined, answer: undefined as Answer<N> }
  const json = yield* connection.call(() => jsonOf(response))
  const answer = Schema.decodeUnknownResult(endpointOf(name).answer)(json)
  return Result.isSuccess(answer) ? { json, answer: answer.success as Answer<N> } : yield* unexpected(connection.url)
})

/** Requests have the numbers of callers as they were written. */
export const layer = Layer.provide(
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(
      HttpClient.HttpClient,
      HttpClient.mapRequest((request) => HttpClientRequest.setBody(request, withNumbers(request.body)))
    )
  ),
  NodeHttpClient.layerNodeHttp
)
