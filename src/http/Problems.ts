/**
 * The one place where the domain's refusals become RFC 9457 problems: status, code, words and headers. A problem's
 * `type` is `/docs#<code>`: the page that explains it.
 */
import { HttpServerResponse } from "@effect/platform"
import { mediaType } from "../api/Problem.ts"
import type * as Errors from "../domain/Errors.ts"
import type { RunId } from "../domain/Id.ts"

/** Everything that the domain can refuse a request with. */
export type Refusal =
  | Errors.NotFound
  | Errors.MethodNotAllowed
  | Errors.UnsupportedMediaType
  | Errors.BodyTooLarge
  | Errors.InvalidBody
  | Errors.InvalidParameter
  | Errors.InvalidVariables
  | Errors.Invalid
  | Errors.MissingVariables
  | Errors.PromptTooLarge
  | Errors.TeamNotRunning
  | Errors.TeamExists
  | Errors.TeamInUse
  | Errors.TooManyQueued
  | Errors.IdempotencyKeyReused
  | Errors.Unauthorized
  | Errors.Unavailable

const statuses = {
  InvalidBody: 400,
  InvalidParameter: 400,
  InvalidVariables: 400,
  Unauthorized: 401,
  NotFound: 404,
  MethodNotAllowed: 405,
  TeamNotRunning: 409,
  TeamExists: 409,
  TeamInUse: 409,
  BodyTooLarge: 413,
  UnsupportedMediaType: 415,
  MissingVariables: 422,
  PromptTooLarge: 422,
  Invalid: 422,
  IdempotencyKeyReused: 422,
  TooManyQueued: 429,
  Unavailable: 503
} as const satisfies Record<Refusal["_tag"], number>

export interface Problem<Status extends number = number> {
  readonly type: string
  readonly title: string
  readonly status: Status
  readonly detail: string
  readonly code: string
  readonly errors?: ReadonlyArray<Errors.Fault>
  readonly run_id?: RunId
}

export type ProblemOf<E extends Refusal> = E extends Refusal ? Problem<(typeof statuses)[E["_tag"]]> : never

/** What each code means, for people: the problem's title, and the line in `/docs`. */
export const titles = {
  method_not_allowed: "The address takes another method",
  not_found: "There is nothing at this address",
  unauthorized: "The admin key is missing or wrong",
  unsupported_media_type: "The body is not plain JSON",
  body_too_large: "The body is over the limit",
  invalid_body: "The body is not the JSON object it should be",
  invalid_wait: "`wait` is neither `true` nor `false`",
  invalid_idempotency_key: "The `Idempotency-Key` cannot be one",
  invalid_parameter: "A query parameter is not what it may be",
  invalid_variables: "The variables cannot be kept as they are",
  missing_variables: "Placeholders of the template have no value",
  prompt_too_large: "The rendered prompt is over the limit",
  invalid: "Fields break a rule",
  idempotency_key_reused: "The `Idempotency-Key` came with another request before",
  team_not_running: "No leader is consuming the team's queue",
  team_exists: "The team exists",
  team_in_use: "The team is in use",
  too_many_queued: "Too many runs are waiting",
  too_many_attempts: "Too many wrong keys",
  agent_failed: "The team did not answer",
  unavailable: "Database or broker out of reach, or the server is stopping",
  internal_error: "The server made a mistake"
} as const

export type Code = keyof typeof titles

interface Words {
  readonly code: Code
  readonly detail: string
  readonly errors?: ReadonlyArray<Errors.Fault>
  readonly run_id?: RunId
}

const parameterCodes: { readonly [name: string]: Code } = {
  wait: "invalid_wait",
  "Idempotency-Key": "invalid_idempotency_key"
}

const words: { readonly [Tag in Refusal["_tag"]]: (refusal: Extract<Refusal, { _tag: Tag }>) => Words } = {
  NotFound: () => ({ code: "not_found", detail: "It does not exist, or no longer, or is switched off." }),
  MethodNotAllowed: ({ allow }) => ({ code: "method_not_allowed", detail: `Allowed here: ${allow}.` }),
  Unauthorized: ({ detail }) => ({ code: "unauthorized", detail }),
  UnsupportedMediaType: ({ detail }) => ({ code: "unsupported_media_type", detail }),
  BodyTooLarge: ({ limit_bytes }) => ({ code: "body_too_large", detail: `At most ${limit_bytes} bytes are taken.` }),
  InvalidBody: ({ detail }) => ({ code: "invalid_body", detail }),
  InvalidParameter: ({ name, detail }) => ({
    code: parameterCodes[name] ?? "invalid_parameter",
    detail: `\`${name}\` ${detail}.`,
    errors: [{ pointer: name, detail }]
  }),
  InvalidVariables: ({ faults }) => ({ code: "invalid_variables", detail: "See `errors`.", errors: faults }),
  Invalid: ({ faults }) => ({ code: "invalid", detail: "See `errors`.", errors: faults }),
  MissingVariables: ({ names }) => ({
    code: "missing_variables",
    detail: `Without a value: ${names.join(", ")}.`,
    errors: names.map((name) => ({ pointer: `/variables/${name}`, detail: "has no value" }))
  }),
  PromptTooLarge: ({ limit_bytes }) => ({ code: "prompt_too_large", detail: `At most ${limit_bytes} bytes of UTF-8.` }),
  IdempotencyKeyReused: () => ({ code: "idempotency_key_reused", detail: "Take a new key for a new request." }),
  TeamNotRunning: ({ team }) => ({ code: "team_not_running", detail: `Start a leader for the team \`${team}\`.` }),
  TeamExists: ({ team }) => ({ code: "team_exists", detail: `There is a team \`${team}\` already.` }),
  TeamInUse: ({ webhooks, live_runs }) => ({
    code: "team_in_use",
    detail: `Webhooks that point at it: ${webhooks}; runs and messages that are not finished: ${live_runs}.`
  }),
  TooManyQueued: ({ limit }) => ({ code: "too_many_queued", detail: `${limit} runs are waiting to be sent.` }),
  // Where the broker is, and what it said, is for the log.
  Unavailable: ({ what, detail, run_id }) => ({
    code: "unavailable",
    detail: what === "broker" ? "The message broker is out of reach." : detail,
    ...(run_id !== undefined && { run_id })
  })
}

export const problem = <const Status extends number>(status: Status, { code, ...rest }: Words): Problem<Status> => ({
  type: `/docs#${code}`,
  title: titles[code],
  status,
  code,
  ...rest
})

/** The refusal as a problem; its type says the status, so that an undocumented one does not compile. */
export const of = <E extends Refusal>(refusal: E): ProblemOf<E> =>
  problem(statuses[refusal._tag], words[refusal._tag](refusal as never)) as ProblemOf<E>

const retryAfterSeconds: { readonly [status: number]: string } = { 429: "10", 503: "5" }

/** What a status brings with it, whoever made the response; every route's answer is given these. */
export const headersOf = (status: number): Readonly<Record<string, string>> => ({
  "cache-control": "no-store",
  ...(retryAfterSeconds[status] !== undefined && { "retry-after": retryAfterSeconds[status] }),
  ...(status === 401 && { "www-authenticate": 'Bearer realm="webhook-trigger"' }),
  // RFC 9110, 15.5.9: whoever was too slow, or sends too much, is to make a new connection.
  ...((status === 408 || status === 413) && { connection: "close" })
})

export const toResponse = (problem: Problem): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeJson(problem, {
    status: problem.status,
    contentType: mediaType
  })

/** Made once: what is the same bytes every time. */
export const notFound = toResponse(problem(404, words.NotFound({} as Errors.NotFound)))

export const respond = (refusal: Refusal): HttpServerResponse.HttpServerResponse => {
  if (refusal._tag === "NotFound") return notFound
  const response = toResponse(of(refusal))
  return refusal._tag === "MethodNotAllowed" ? HttpServerResponse.setHeader(response, "allow", refusal.allow) : response
}

/** A defect: what went wrong is for the log, not for the caller. */
export const internalError = toResponse(
  problem(500, { code: "internal_error", detail: "It is in the server's log. Nothing is known of what was done." })
)

export const isRefusal = (error: unknown): error is Refusal =>
  typeof error === "object" &&
  error !== null &&
  "_tag" in error &&
  typeof error._tag === "string" &&
  Object.hasOwn(statuses, error._tag)
