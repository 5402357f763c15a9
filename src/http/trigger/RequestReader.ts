/** Reads a trigger's request for its webhook: first the caller, then the body, then the webhook's input. */

import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { type DateTime, Effect, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { depthHeader } from "../../domain/delivery/DestinationKind.ts"
import {
  type BodyTooLarge,
  type InvalidBody,
  InvalidParameter,
  type InvalidVariables,
  type NotAcceptable,
  type NotVerified,
  type Unavailable,
  type UnsupportedMediaType
} from "../../domain/Errors.ts"
import {
  filesOf,
  filesTooLarge,
  type IncomingRequest,
  isGzipped,
  longestBody
} from "../../domain/request/IncomingRequest.ts"
import { storedBodyBytes } from "../../domain/request/StoredBody.ts"
import { withoutToken } from "../../domain/request/WithoutToken.ts"
import type { Reply } from "../../domain/verification/Description.ts"
import { secretMembersOf } from "../../domain/verification/Presets.ts"
import type { OpenedWebhook, WebhookRow } from "../../domain/webhook/Webhook.ts"
import { storesRefused } from "../../engine/manage/RequestToStore.ts"
import * as Input from "../../engine/prompt/Input.ts"
import { Settings } from "../../engine/Settings.ts"
import { askerIn } from "../../engine/slack/SlackMembers.ts"
import type { RunRequest } from "../../engine/trigger/Candidates.ts"
import { Trigger } from "../../engine/trigger/Trigger.ts"
import type { Evidence } from "../../engine/verify/RequestLookup.ts"
import { SnsRequests } from "../../engine/verify/SnsRequests.ts"
import { TokenKeys } from "../../engine/verify/TokenKeys.ts"
import type { Needs } from "../../engine/verify/Verify.ts"
import { threadTime } from "../../runtime/ThreadTime.ts"
import * as TraceContext from "../../telemetry/TraceContext.ts"
import * as EventRequest from "../events/EventRequest.ts"

import * as Body from "../request/Body.ts"
import { BodyBudget } from "../request/BodyBudget.ts"
import * as Parameters from "../request/Parameters.ts"
import * as CallerCheck from "./CallerCheck.ts"
import * as Idempotency from "./Idempotency.ts"

type Request = HttpServerRequest.HttpServerRequest

/** A request with its webhook's input. */
export interface ReadRequest extends RunRequest {
  readonly webhook: OpenedWebhook
  readonly incoming: IncomingRequest
  /** The response when the run is accepted; absent: 202. */
  readonly reply?: Reply
  /** The delivery's own ID counts, and not the request's `Idempotency-Key`. */
  readonly ignoresKey: boolean
  /** The caller gets the run's events, in this format. */
  readonly events?: EventRequest.Format
}

/** In bytes. To parse a larger body takes time by itself, and what is evaluated of it is seldom quick. */
const largeBody = 16 * 1024

type BodyRefused = BodyTooLarge | InvalidBody | Unavailable

type ReadRefused =
  | BodyRefused
  | UnsupportedMediaType
  | NotAcceptable
  | InvalidParameter
  | InvalidVariables
  | NotVerified

export interface RequestReader {
  /** May be called for several versions of the webhook. The body is received once. */
  readonly read: (webhook: OpenedWebhook) => Effect.Effect<ReadRequest, ReadRefused | CallerCheck.Handshake>
  /** The request, if it was read for the last version. */
  readonly last: () => ReadRequest | undefined
  /** The request with the received part of its body; `undefined` for a caller that was not verified. */
  readonly known: () => IncomingRequest | undefined
  /** The body's declared size, or the size received so far. */
  readonly size: () => number
}

/** The caller's trace, if the request has one. */
const traceOf = ({ headers: { traceparent } }: Request): Pick<RunRequest, "traceparent"> =>
  traceparent !== undefined && TraceContext.parse(traceparent) !== undefined ? { traceparent } : {}

/** The depth in a chain, for an event that another run of this or another server sent. */
const depthOf = ({ headers }: Request): Pick<RunRequest, "chain_depth"> =>
  /^[1-9]\d?$/.test(headers[depthHeader] ?? "") ? { chain_depth: Number(headers[depthHeader]) } : {}

type Answered = Pick<ReadRequest, "wait" | "follows" | "events">

/** A caller that gets events follows the run as one that waits, unless it says otherwise. */
const howAnswered = (
  request: Request,
  { reply }: CallerCheck.Verified
): Result.Result<Answered, InvalidParameter | NotAcceptable> =>
  reply !== undefined || !EventRequest.isAsked(request)
    ? Result.map(Parameters.wait(request), (wait) => ({ wait }))
    : Result.flatMap(EventRequest.formatOf(request), (events) =>
        Result.map(Parameters.wait(request, true), (wait) => ({ wait, events, follows: true }))
      )

/** The received part of a body. */
interface PartialBody extends Body.BodyListener {
  bytes: number
  /** The body's beginning, if the webhook stores it. */
  head: Buffer | undefined
}

/** Follows the body of a trigger. It counts against the budget until the request has ended. */
const followBody = (
  request: HttpServerRequest.HttpServerRequest,
  webhook: WebhookRow,
  budget: typeof BodyBudget.Service
): PartialBody => {
  /** The bytes taken from the budget. */
  let taken = 0
  const isGzip = isGzipped(request.headers)
  const keep = (chunk: Buffer) => {
    if (storesRefused(webhook) && (partial.head?.length ?? 0) < storedBodyBytes) {
      partial.head = Buffer.concat([partial.head ?? Buffer.alloc(0), chunk.subarray(0, storedBodyBytes)])
    }
  }
  const count = ({ length }: Buffer) => {
    if (!budget.take(webhook.id, length)) return false
    if (taken === 0) {
      NodeHttpServerRequest.toServerResponse(request).once("close", () => budget.giveBack(webhook.id, taken))
    }
    taken += length
    return true
  }
  const partial: PartialBody = {
    bytes: 0,
    head: undefined,
    take: (chunk) => {
      partial.bytes += chunk.length
      if (!isGzip) keep(chunk)
      return count(chunk)
    },
    takeInflated: (chunk) => {
      keep(chunk)
      return count(chunk)
    }
  }
  return partial
}

export const make = Effect.gen(function* () {
  const budget = yield* BodyBudget
  const callers = yield* CallerCheck.CallerCheck
  const sns = yield* SnsRequests
  const tokens = yield* TokenKeys
  const trigger = yield* Trigger
  const { maxBody } = yield* Settings

  const evidenceFor = (webhook: WebhookRow, needs: Needs): Effect.Effect<Evidence, Unavailable> =>
    needs._tag === "NeedsToken" ? tokens.check(needs) : sns.certificate(webhook.id, needs.url)

  return (
    request: Request,
    token: string | undefined,
    received_at: DateTime.Utc,
    webhook: WebhookRow,
    onVerified: (webhook: WebhookRow) => void
  ): RequestReader => {
    const partial = followBody(request, webhook, budget)
    /** The version that was last read for. */
    let current = webhook
    let isVerified = false
    let last: ReadRequest | undefined
    let received: Result.Result<Uint8Array, BodyRefused> | undefined

    const limit_bytes = longestBody(request.headers, maxBody)

    const receive = (): Effect.Effect<Uint8Array, BodyRefused> =>
      received !== undefined
        ? Effect.fromResult(received)
        : Effect.flatMap(
            Effect.result(
              Body.readBytes(request, { limit_bytes, listener: partial, isGzipped: isGzipped(request.headers) })
            ),
            (result) => {
              received = Result.mapError(result, (refusal) =>
                refusal._tag === "BodyTooLarge" && limit_bytes > maxBody ? filesTooLarge(maxBody) : refusal
              )
              return Effect.fromResult(received)
            }
          )

    const check = (webhook: WebhookRow, body?: Uint8Array, evidence?: Evidence) =>
      callers.check(request, webhook, received_at.epochMilliseconds, body, evidence)

    const incomingOf = (body: Uint8Array): IncomingRequest => ({
      token,
      body,
      headers: request.headers,
      search: Parameters.search(request),
      ...(current.verification && { secretMembers: secretMembersOf(current.verification) })
    })

    const inputOf = (
      webhook: OpenedWebhook,
      incoming: IncomingRequest,
      caller: CallerCheck.Verified
    ): Result.Result<ReadRequest, ReadRefused> =>
      Result.flatMap(Result.all([filesOf(incoming, maxBody), Input.read(webhook, incoming)]), ([files, variables]) =>
        Result.flatMap(howAnswered(request, caller), (how) => {
          const callback = Parameters.callbackUrl(request)
          if (Result.isFailure(callback)) return Result.fail(callback.failure)
          const callback_url = callback.success
          const notBefore = Parameters.notBefore(request, received_at)
          if (Result.isFailure(notBefore)) return Result.fail(notBefore.failure)
          const not_before = notBefore.success
          const asked_by = webhook.verification?.preset === "slack" ? askerIn(variables.payload) : undefined
          const delivery = CallerCheck.idempotencyOf(caller)
          const keyed =
            delivery === undefined
              ? Idempotency.read(request, webhook, variables, { callback_url, files, not_before: not_before?.text })
              : Result.succeed(delivery)
          const sentKey = request.headers["idempotency-key"]
          const ignoresKey = delivery !== undefined && sentKey !== undefined && sentKey !== caller.delivery_id
          return Result.map(keyed, ({ idempotency }) => ({
            ...{ webhook, incoming, variables, received_at, ignoresKey, ...how },
            ...(idempotency && { idempotency: { ...idempotency, key: withoutToken(idempotency.key, token) } }),
            ...(files.length > 0 && { files }),
            ...(caller.reply && { reply: caller.reply }),
            ...(callback_url !== undefined && { callback_url }),
            ...(not_before && { not_before: not_before.at }),
            ...(asked_by !== undefined && { asked_by }),
            ...depthOf(request),
            ...traceOf(request)
          }))
        })
      )

    const readBody = (
      webhook: OpenedWebhook,
      body: Uint8Array,
      evidence?: Evidence
    ): Effect.Effect<ReadRequest, ReadRefused | CallerCheck.Handshake> => {
      const caller = check(webhook, body, evidence)
      if (CallerCheck.isNeeds(caller)) {
        return Effect.flatMap(evidenceFor(webhook, caller), (evidence) => readBody(webhook, body, evidence))
      }
      if (CallerCheck.isRefusal(caller)) return Effect.fail(caller)
      isVerified = true
      // A test of the URL shows that the secret is right, but not that events arrive.
      if (caller._tag === "Handshake") return Effect.fail(caller)
      onVerified(webhook)
      const isLarge = body.length > largeBody
      const begun = isLarge ? threadTime() : 0
      const read = Effect.fromResult(Result.map(inputOf(webhook, incomingOf(body), caller), (read) => (last = read)))
      return isLarge ? Effect.andThen(trigger.wasLarge(webhook, threadTime() - begun), read) : read
    }

    /** A request with several faults is refused for the first: the order is part of the contract. */
    const read: RequestReader["read"] = (webhook) => {
      current = webhook
      isVerified = false
      last = undefined
      const test = callers.urlCheck(request, webhook)
      if (test?._tag === "NotVerified" && test.why === "address") return Effect.fail(test)
      if (test !== undefined) {
        // Whether it is a test may depend on the body, and the value to send back may be there.
        return Effect.flatMap(receive(), (body) => {
          const answer = callers.urlCheck(request, webhook, body)
          return answer === undefined ? readChecked(webhook) : Effect.fail(answer)
        })
      }
      return readChecked(webhook)
    }

    const readChecked: RequestReader["read"] = (webhook) => {
      const early = check(webhook)
      if (early._tag === "NotVerified" || early._tag === "Unavailable") return Effect.fail(early)
      if (webhook.verification === undefined) {
        isVerified = true
        // Otherwise the signature over the body comes first.
        const fault = Input.mediaTypeFault(webhook, request.headers)
        if (fault !== undefined) return Effect.fail(fault)
      }
      return Effect.flatMap(receive(), (body) =>
        body.length > largeBody
          ? Effect.flatMap(trigger.mayBeLarge(webhook), () => readBody(webhook, body))
          : readBody(webhook, body)
      )
    }

    return {
      read,
      last: () => last,
      known: () => {
        if (!isVerified) return undefined
        const body = received && Result.isSuccess(received) ? received.success : partial.head
        return body && incomingOf(body)
      },
      size: () => Math.max(Number(request.headers["content-length"]) || 0, partial.bytes)
    }
  }
})
