/** The input for a webhook's template: variables or a whole request. */
import { Effect, type FileSystem, Result } from "effect"
import type { SampleBody } from "../../api/run/RunAnswers.ts"
import { type IncomingRequest, valuesOf } from "../../domain/request/IncomingRequest.ts"
import type { Variables } from "../../domain/run/Run.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { type Failure, usage, wrongUsage } from "../Failure.ts"
import { readBytes } from "../Files.ts"
import { type Given, paramsOf, type Rule } from "../Input.ts"
import { split, variables } from "../Rules.ts"

const encoder = new TextEncoder()

/** The exact bytes, because they may be signed. */
const bytesOf = (given: string) => {
  const path = given === "-" ? given : given.startsWith("@") ? given.slice(1) : undefined
  return path === undefined
    ? Effect.succeed(encoder.encode(given))
    : Effect.mapError(readBytes(path), (detail) => `--payload: ${detail}`)
}

/** A request whose headers are all text. */
interface GivenRequest extends IncomingRequest {
  readonly headers: { readonly [name: string]: string }
}

export type TriggerInput =
  | { readonly _tag: "Variables"; readonly variables: Variables }
  | { readonly _tag: "Request"; readonly request: GivenRequest }

/** RFC 9110, 5.1 and 5.5. */
const header = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\t\x20-\x7e\x80-\uffff]*)$/

const headersOf = (given: ReadonlyArray<string>): Result.Result<GivenRequest["headers"], string> => {
  const headers = new Map<string, string>()
  for (const line of given) {
    const [, name, value] = header.exec(line) ?? []
    if (name === undefined || value === undefined) {
      return Result.fail(`--header takes name:value, not ${JSON.stringify(line)}`)
    }
    if (headers.has(name.toLowerCase())) return Result.fail(`the header ${name} is given twice`)
    headers.set(name.toLowerCase(), value.trimEnd())
  }
  return Result.succeed(Object.fromEntries(headers))
}

const searchOf = (given: ReadonlyArray<string>): Result.Result<string, string> =>
  Result.map(Result.all(given.map((pair) => split("--query", pair))), (pairs) =>
    pairs.length === 0 ? "" : `?${new URLSearchParams(pairs.map((pair): [string, string] => [...pair]))}`
  )

/** Parses the request like the server. */
const readOf = (request: GivenRequest) =>
  Result.mapError(
    valuesOf(request),
    ({ detail }) => `--payload: ${detail} Without JSON, add a header such as --header 'content-type: text/plain'`
  )

const rule = {
  flags: {
    ...variables.flags,
    payload: {
      value: "json|@file|-",
      about: "The request's body, for a webhook with input payload: JSON, a file, or standard input"
    },
    header: { value: "name:value", about: "With --payload: a header of the request", repeats: true },
    query: { value: "name=value", about: "With --payload: a query parameter of the URL", repeats: true }
  },
  read: Effect.fnUntraced(function* (given: Given) {
    const found = yield* variables.read(given)
    const [headerLines, queries] = [given("header"), given("query")]
    const [payload] = given("payload")
    if (payload === undefined) {
      if (headerLines.length + queries.length > 0) return yield* Effect.fail("--header and --query require --payload")
      return { _tag: "Variables", variables: found ?? {} } satisfies TriggerInput
    }
    if (found !== undefined) return yield* Effect.fail("use either --payload or --var and --json-var, not both")
    const body = yield* bytesOf(payload)
    const named = yield* Effect.fromResult(headersOf(headerLines))
    const headers =
      body.length === 0 || "content-type" in named ? named : { "content-type": "application/json", ...named }
    const search = yield* Effect.fromResult(searchOf(queries))
    if (new URLSearchParams(search).has("wait")) return yield* Effect.fail("`wait` is reserved; use --wait instead")
    const request = { body, headers, search }
    yield* Effect.fromResult(readOf(request))
    return { _tag: "Request", request } satisfies TriggerInput
  })
} satisfies Rule

/** The flags for it. */
export const inputFlags = paramsOf(rule)

export const inputOf = (
  words: Readonly<Record<string, unknown>>
): Effect.Effect<TriggerInput, Failure, FileSystem.FileSystem> =>
  Effect.mapError(
    rule.read((name) => words[name] as ReadonlyArray<string>),
    (fault) => wrongUsage([fault])
  )

/** Nothing was given. */
export const isEmpty = (input: TriggerInput): boolean =>
  input._tag === "Variables" && Object.keys(input.variables).length === 0

export const needsPayload = "it accepts whole requests (input payload); use --payload instead of variables"
export const needsVariables = "it accepts variables (input variables); use --var or --json-var instead of --payload"

export type Sample = typeof SampleBody.Type

/** The input as the management API takes it. */
export const sampleOf = (given: TriggerInput): Result.Result<Sample, Failure> =>
  given._tag === "Request"
    ? Result.mapError(readOf(given.request), usage)
    : Result.succeed({ variables: given.variables })

/** The same, if this webhook takes that kind of input. */
export const sampleFor = (
  { input, name }: Pick<Webhook, "input" | "name">,
  given: TriggerInput
): Result.Result<Sample, Failure> => {
  if ((given._tag === "Request") === (input === "payload")) return sampleOf(given)
  const why = given._tag === "Request" ? needsVariables : needsPayload
  return Result.fail(usage(`the webhook ${JSON.stringify(name)} cannot use this input: ${why}`))
}
