/**
 * The only place where errors become RFC 9457 problems: status, code, text and headers. A problem's `type` is
 * `/docs#<code>`, the page that explains it.
 */

import { DateTime, Predicate } from "effect"
import { HttpServerResponse } from "effect/http"
import { mediaType, type ProblemStatus, tags } from "../../api/Problem.ts"
import { type ProblemCode as Code, titles } from "../../api/ProblemTitles.ts"
import { eventStream } from "../../api/run/EventStream.ts"
import type * as Errors from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import { pathOf } from "../../domain/prompt/Path.ts"
import { step } from "../../domain/prompt/Variables.ts"
import { describeUse } from "../../domain/webhook/Budget.ts"
import { securityHeaders } from "./SecurityHeaders.ts"

interface Description {
  readonly code: Code
  readonly detail: string
  readonly errors?: ReadonlyArray<Errors.Fault>
  readonly run_id?: RunId
}

const parameterCodes: { readonly [name: string]: Code } = {
  wait: "invalid_wait",
  Host: "invalid_host",
  "Idempotency-Key": "invalid_idempotency_key"
}

/** The classes of `Errors` by name, which is the tag of their errors. */
type Classes = {
  readonly [Name in keyof typeof Errors as (typeof Errors)[Name] extends abstract new (
    ...args: any
  ) => { readonly _tag: Name }
    ? Name
    : never]: InstanceType<Extract<(typeof Errors)[Name], abstract new (...args: any) => any>>
}

type Table = {
  readonly [Tag in keyof Classes]?: readonly [status: ProblemStatus, describe: (refusal: Classes[Tag]) => Description]
}

const tooManyStreams: { readonly [of in Errors.TooManyStreams["of"]]: (limit: number) => string } = {
  session: (limit) => `A session may have ${limit} streams open.`,
  webhook: (limit) => `A webhook may have ${limit} streams open.`,
  server: (limit) => `The server has ${limit} streams open.`,
  key: (limit) => `${limit} requests with this key are open.`
}

const outOfReach: { readonly [what in Errors.Unavailable["what"]]?: string } = {
  broker: "The message broker is out of reach.",
  files: "The file store is out of reach."
}

const secondsUntil = ({ retry_after_ms }: { readonly retry_after_ms: number }): number =>
  Math.max(1, Math.ceil(retry_after_ms / 1000))

const table = {
  InvalidBody: [400, ({ detail }) => ({ code: "invalid_body", detail })],
  InvalidParameter: [
    400,
    ({ name, detail }) => ({
      code: parameterCodes[name] ?? "invalid_parameter",
      detail: `\`${name}\` ${detail}.`,
      errors: [{ pointer: name, detail }]
    })
  ],
  InvalidVariables: [400, ({ faults }) => ({ code: "invalid_variables", detail: "See `errors`.", errors: faults })],
  Unauthorized: [401, ({ detail }) => ({ code: "unauthorized", detail })],
  NotVerified: [
    401,
    () => ({
      code: "not_verified",
      detail: "The webhook requires an allowed address, a signature or a secret."
    })
  ],
  Forbidden: [403, ({ detail }) => ({ code: "forbidden", detail })],
  FreshSignInRequired: [
    403,
    () => ({
      code: "fresh_sign_in_required",
      detail:
        "This action requires a sign-in within the last 10 minutes. Enter the key again, or sign in again at the provider. Requests with an API key do not need this."
    })
  ],
  FileMissing: [404, ({ reason }) => ({ code: "not_found", detail: reason })],
  NotFound: [404, () => ({ code: "not_found", detail: "It does not exist, was deleted, or is disabled." })],
  MethodNotAllowed: [405, ({ allow }) => ({ code: "method_not_allowed", detail: `Allowed here: ${allow}.` })],
  NotAcceptable: [
    406,
    ({ available }) => ({
      code: "not_acceptable",
      detail: `The response is \`${available}\`, which \`Accept\` excludes.`
    })
  ],
  TeamNotRunning: [
    409,
    ({ team }) => ({ code: "team_not_running", detail: `Start a leader for the team \`${team}\`.` })
  ],
  TeamExists: [409, ({ team }) => ({ code: "team_exists", detail: `There is already a team \`${team}\`.` })],
  TeamInUse: [
    409,
    ({ webhooks, live_runs }) => ({
      code: "team_in_use",
      detail: `Webhooks that point at it: ${webhooks}; unfinished runs and messages: ${live_runs}.`
    })
  ],
  UrlShared: [409, ({ detail }) => ({ code: "url_shared", detail })],
  RunEnded: [
    409,
    ({ run_id, status }) => ({
      code: "run_ended",
      detail: `The run ended as \`${status}\` before it could be cancelled.`,
      run_id
    })
  ],
  ApprovalOver: [
    409,
    ({ decided_by, isDenied, run_id, status }) => ({
      code: "approval_over",
      detail:
        decided_by === undefined
          ? `The run does not wait for approval: its status is \`${status}\`.`
          : `It was ${isDenied ? "denied" : "approved"} before, by ${decided_by}.`,
      run_id
    })
  ],
  RunUnfinished: [
    409,
    ({ run_id }) => ({
      code: "run_unfinished",
      detail:
        "The run has no place in its team's lane yet. Reply when it has been approved, and its window has closed.",
      run_id
    })
  ],
  ThreadEnded: [
    409,
    ({ run_id }) => ({
      code: "thread_ended",
      detail: "Its agent would begin another session. Send a message to the team instead.",
      run_id
    })
  ],
  PromptLost: [
    409,
    () => ({
      code: "prompt_lost",
      detail: "Another leader has the prompt, or nobody needs to work on it any longer. Stop, and ask for the next one."
    })
  ],
  WebhookDisabled: [
    409,
    () => ({ code: "webhook_disabled", detail: "The webhook is disabled and starts no runs. Enable it first." })
  ],
  WebhookPaused: [
    409,
    () => ({
      code: "webhook_paused",
      detail: "Its last runs failed. It accepts requests again when it is resumed, or when a run succeeds."
    })
  ],
  EditConflict: [
    412,
    ({ version }) => ({
      code: "edit_conflict",
      detail: `Its version is ${version} now, which \`If-Match\` does not name. Read it again.`
    })
  ],
  BodyTooLarge: [
    413,
    ({
      is_fixed,
      limit_bytes,
      detail = `At most ${limit_bytes} bytes are accepted${is_fixed ? "" : ", the server's `WEBHOOK_MAX_BODY`"}.`
    }) => ({ code: "body_too_large", detail })
  ],
  UnsupportedMediaType: [415, ({ detail }) => ({ code: "unsupported_media_type", detail })],
  MissingVariables: [
    422,
    ({ names, of }) => ({
      code: "missing_variables",
      detail: `Without a value: ${names.join(", ")}.`,
      errors: names.map((name) => ({
        pointer: of === "payload" ? pathOf(name).map(step).join("") : `/variables/${name}`,
        detail: "has no value"
      }))
    })
  ],
  FilterFailed: [422, ({ detail }) => ({ code: "filter_failed", detail })],
  SchemaMismatch: [422, ({ faults }) => ({ code: "schema_mismatch", detail: "See `errors`.", errors: faults })],
  PromptTooLarge: [
    422,
    ({ limit_bytes }) => ({ code: "prompt_too_large", detail: `At most ${limit_bytes} bytes of UTF-8.` })
  ],
  ThreadKeyTooLong: [
    422,
    ({ limit }) => ({
      code: "thread_key_too_long",
      detail: `The webhook's \`thread_key\` gives more than ${limit} characters for this input.`
    })
  ],
  TemplateFailed: [
    422,
    ({ line, column, reason }) => ({
      code: "template_failed",
      detail: `Line ${line}, column ${column} of the template: ${reason}.`
    })
  ],
  Invalid: [422, ({ faults }) => ({ code: "invalid", detail: "See `errors`.", errors: faults })],
  IdempotencyKeyReused: [
    422,
    () => ({ code: "idempotency_key_reused", detail: "Use a new key for a different request." })
  ],
  TooManyQueued: [
    429,
    ({ of, limit }) =>
      of === "server"
        ? {
            code: "too_many_queued",
            detail: `${limit} runs are waiting to be sent, as many as the server's WEBHOOK_MAX_QUEUED allows. Try again later.`
          }
        : {
            code: "too_many_queued_of_webhook",
            detail: `${limit} runs of this webhook are waiting to be sent, as many as its \`max_queued\` allows. Try again later, or raise it.`
          }
  ],
  RateLimited: [
    429,
    (limited) => ({
      code: "rate_limited",
      detail: `This webhook accepts ${limited.rate}, its \`rate\`. Try again in ${secondsUntil(limited)} s, or raise it.`
    })
  ],
  BudgetExceeded: [
    429,
    (exceeded) => ({
      code: "budget_exceeded",
      detail: `${describeUse(exceeded)} Try again after ${DateTime.formatIso(exceeded.resets_at)}, or raise it.`
    })
  ],
  TooManyAttempts: [429, () => ({ code: "too_many_attempts", detail: "Too many wrong keys came from this address." })],
  TooManyStreams: [
    429,
    ({ limit, of }) => ({
      code: "too_many_streams",
      detail: tooManyStreams[of](limit)
    })
  ],
  TooManyExports: [
    429,
    ({ limit }) => ({
      code: "too_many_exports",
      detail: `The server writes ${limit} exports at a time. Try again when one of them is complete.`
    })
  ],
  Unavailable: [
    503,
    ({ what, detail, run_id }) => ({
      code: "unavailable",
      // Their addresses and messages are for the log only.
      detail: outOfReach[what] ?? detail,
      ...(run_id !== undefined && { run_id })
    })
  ]
} as const satisfies Table

/** Every error that can refuse a request. */
export type Refusal = Classes[keyof typeof table]

export interface Problem<Status extends number = number> extends OfOthers {
  readonly type: string
  readonly title: string
  readonly status: Status
  readonly detail: string
  readonly code: Code
  readonly errors?: ReadonlyArray<Errors.Fault>
  readonly run_id?: RunId
}

/** The results of a request at the webhooks that share a URL. */
export interface OfOthers {
  readonly runs?: ReadonlyArray<{ readonly webhook_id: WebhookId; readonly run_id: RunId }>
  readonly cancelled?: ReadonlyArray<RunId>
  readonly refused?: ReadonlyArray<{ readonly webhook_id: WebhookId; readonly code: Code; readonly retried?: true }>
  readonly pending?: ReadonlyArray<WebhookId>
}

type StatusOf<E extends Refusal> = (typeof table)[E["_tag"]][0]

type ProblemOf<E extends Refusal> = E extends Refusal
  ? Problem<StatusOf<E>> & { readonly _tag: (typeof tags)[StatusOf<E>] }
  : never

/** The errors that become a problem with one of these statuses. */
export type RefusalWith<Status> = {
  readonly [Tag in Refusal["_tag"]]: (typeof table)[Tag][0] extends Status ? Extract<Refusal, { _tag: Tag }> : never
}[Refusal["_tag"]]

export const problem = <const Status extends number>(
  status: Status,
  { code, ...rest }: Description
): Problem<Status> => ({
  type: `/docs#${code}`,
  title: titles[code],
  status,
  code,
  ...rest
})

/** The error as a problem, for a response that is written by hand. */
export const bodyOf = (refusal: Refusal): Problem<ProblemStatus> => {
  const [status, describe] = table[refusal._tag]
  return problem(status, describe(refusal as never))
}

/**
 * The error as a handler fails with it. Its type contains the status, so an endpoint that does not declare that status
 * does not compile.
 */
export const of = <E extends Refusal>(refusal: E): ProblemOf<E> => {
  const body = bodyOf(refusal)
  return { ...body, _tag: tags[body.status] } as ProblemOf<E>
}

const retryAfterSeconds: { readonly [status: number]: string } = { 429: "10", 503: "5" }

const challenge = 'Bearer realm="webhook-trigger"'

/** For text between quotes (RFC 9110, 5.6.4). Without `PUBLIC_URL`, the request's `Host` is part of it. */
const quotable = (text: string): string => text.replace(/["\\]/g, "\\$&")

/** RFC 6750, 3, and RFC 9728, 5.1. */
const challengeOf = ({ invalid_token, resource_metadata }: Errors.Unauthorized): string =>
  [
    challenge,
    ...(invalid_token ? ['error="invalid_token"'] : []),
    ...(resource_metadata === undefined ? [] : [`resource_metadata="${quotable(resource_metadata)}"`])
  ].join(", ")

/** The headers of a refusal. */
export const ownHeadersOf = (refusal: Refusal): Readonly<Record<string, string>> => {
  if (refusal._tag === "MethodNotAllowed") return { allow: refusal.allow }
  if (refusal._tag === "Unauthorized") return { "www-authenticate": challengeOf(refusal) }
  if (refusal._tag === "RateLimited" || refusal._tag === "BudgetExceeded") {
    return { "retry-after": String(secondsUntil(refusal)) }
  }
  return {}
}

/** The headers of every response with the status, unless a refusal has its own. */
export const headersOf = ({
  headers,
  status
}: Pick<HttpServerResponse.HttpServerResponse, "headers" | "status">): Readonly<Record<string, string>> => ({
  // Else proxies and middleware that compress would hold server-sent events back (RFC 9110, 7.7).
  "cache-control": headers["content-type"]?.startsWith(eventStream) ? "no-store, no-transform" : "no-store",
  ...securityHeaders,
  ...(retryAfterSeconds[status] !== undefined && {
    "retry-after": headers["retry-after"] ?? retryAfterSeconds[status]
  }),
  ...(status === 401 && { "www-authenticate": headers["www-authenticate"] ?? challenge }),
  // RFC 9110, 15.5.9: a client that was too slow, or sends too much, should open a new connection.
  ...((status === 408 || status === 413) && { connection: "close" })
})

/** Without the tag, which only a handler's problem has. */
export const toResponse = ({
  _tag,
  ...problem
}: Problem & { readonly _tag?: string }): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(problem, { status: problem.status, contentType: mediaType })

export const isRefusal = (error: unknown): error is Refusal =>
  Predicate.hasProperty(error, "_tag") && typeof error._tag === "string" && Object.hasOwn(table, error._tag)
