/** The input for a webhook's template: variables or a whole request. */
import { Effect, type FileSystem, Option, Result } from "effect"
import { Flag } from "effect/cli"
import { type IncomingRequest, valuesOf } from "../../domain/request/IncomingRequest.ts"
import type { Variables } from "../../domain/run/Run.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { type Failure, usage } from "../Failure.ts"
import { fileOf, readBytes } from "../Files.ts"
import { type GivenVariables, split, variableOptions, variablesOf } from "./Variables.ts"

const encoder = new TextEncoder()

/** The exact bytes, because they may be signed. */
const bytesOf = (given: string) => {
  const path = given === "-" ? given : given.startsWith("@") ? given.slice(1) : undefined
  return path === undefined ? Effect.succeed(encoder.encode(given)) : readBytes(path)
}

export const inputOptions = {
  ...variableOptions,
  payload: Flag.String("payload").pipe(
    Flag.withMetavar("json|@file|-"),
    Flag.withDescription("The request's body, for a webhook with input payload: JSON, a file, or standard input"),
    Flag.mapEffect(fileOf("payload", bytesOf)),
    Flag.optional
  ),
  headers: Flag.String("header").pipe(
    Flag.withMetavar("name:value"),
    Flag.withDescription("With --payload: a header of the request"),
    Flag.repeated
  ),
  query: Flag.String("query").pipe(
    Flag.withMetavar("name=value"),
    Flag.withDescription("With --payload: a query parameter of the URL"),
    Flag.repeated
  )
}

interface Given extends GivenVariables {
  readonly payload: Option.Option<Uint8Array>
  readonly headers: ReadonlyArray<string>
  readonly query: ReadonlyArray<string>
}

/** A request whose headers are all text. */
export interface GivenRequest extends IncomingRequest {
  readonly headers: { readonly [name: string]: string }
}

export type TriggerInput =
  | { readonly _tag: "Variables"; readonly variables: Variables }
  | { readonly _tag: "Request"; readonly request: GivenRequest }

/** RFC 9110, 5.1 and 5.5. */
const header = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\t\x20-\x7e\x80-\uffff]*)$/

const headersOf = Effect.fn("Cli.headersOf")(function* (
  given: ReadonlyArray<string>
): Effect.fn.Return<GivenRequest["headers"], Failure> {
  const headers = new Map<string, string>()
  for (const line of given) {
    const [, name, value] = header.exec(line) ?? []
    if (name === undefined || value === undefined) {
      return yield* usage(`--header takes name:value, not ${JSON.stringify(line)}`)
    }
    if (headers.has(name.toLowerCase())) return yield* usage(`the header ${name} is given twice`)
    headers.set(name.toLowerCase(), value.trimEnd())
  }
  return Object.fromEntries(headers)
})

const searchOf = Effect.fn("Cli.searchOf")(function* (given: ReadonlyArray<string>): Effect.fn.Return<string, Failure> {
  const parameters = new URLSearchParams()
  for (const pair of given) {
    const [name, value] = yield* split("--query", pair)
    if (name === "wait") return yield* usage("`wait` is reserved; use --wait instead")
    parameters.append(name, value)
  }
  return parameters.size === 0 ? "" : `?${parameters}`
})

/** Parses the request like the server. */
const readOf = (request: GivenRequest) =>
  Result.mapError(valuesOf(request), ({ detail }) =>
    usage(`--payload: ${detail} Without JSON, add a header such as --header 'content-type: text/plain'`)
  )

export const inputOf = Effect.fn("Cli.inputOf")(function* (
  given: Given
): Effect.fn.Return<TriggerInput, Failure, FileSystem.FileSystem> {
  const variables = yield* variablesOf(given)
  if (Option.isNone(given.payload)) {
    if (given.headers.length + given.query.length > 0) return yield* usage("--header and --query require --payload")
    return { _tag: "Variables", variables }
  }
  if (Object.keys(variables).length > 0) return yield* usage("use either --payload or --var and --json-var, not both")
  const body = given.payload.value
  const named = yield* headersOf(given.headers)
  const headers =
    body.length === 0 || "content-type" in named ? named : { "content-type": "application/json", ...named }
  const request = { body, headers, search: yield* searchOf(given.query) }
  yield* readOf(request)
  return { _tag: "Request", request }
})

export const needsPayload = "it accepts whole requests (input payload); use --payload instead of variables"
export const needsVariables = "it accepts variables (input variables); use --var or --json-var instead of --payload"

/** The input as the management API takes it. */
export const sampleOf = (given: TriggerInput) =>
  given._tag === "Request" ? readOf(given.request) : Result.succeed({ variables: given.variables })

/** The same, if this webhook takes that kind of input. */
export const sampleFor = ({ input, name }: Pick<Webhook, "input" | "name">, given: TriggerInput) => {
  const mismatch = (why: string) => usage(`the webhook ${JSON.stringify(name)} cannot use this input: ${why}`)
  if ((given._tag === "Request") === (input === "payload")) return sampleOf(given)
  return Result.fail(mismatch(given._tag === "Request" ? needsVariables : needsPayload))
}
