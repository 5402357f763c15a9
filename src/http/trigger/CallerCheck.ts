/** Checks the caller of a webhook beyond its token: address, signature or secret. Answers handshakes and commands. */
import { createHash } from "node:crypto"
import { Context, Duration, Effect, Layer, Option } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Ignored } from "../../api/run/RunAnswers.ts"
import { triggerPath } from "../../api/run/TriggerUrl.ts"
import { NotVerified, Unavailable, type VerificationCause } from "../../domain/Errors.ts"
import type { Reply } from "../../domain/verification/Description.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import type { RunRequest } from "../../engine/trigger/Candidates.ts"
import type { Evidence } from "../../engine/verify/RequestLookup.ts"
import * as Verification from "../../engine/verify/Verification.ts"
import type { Handshake, Needs } from "../../engine/verify/Verify.ts"
import { type Networks, noNetworks, parseNetworks } from "../../runtime/Networks.ts"
import { clientAddress } from "../request/ClientAddress.ts"
import { makeOriginFor } from "../request/PublicUrl.ts"
import { securityHeaders } from "../request/SecurityHeaders.ts"
import { TrustedProxies } from "../request/TrustedProxies.ts"

type Request = HttpServerRequest.HttpServerRequest

export type Verified = Extract<Verification.Verdict, { readonly _tag: "Verified" }>

/** The sender only tests the webhook's URL. It starts no run. */
export type { Handshake }

type Refusal = NotVerified | Unavailable | Needs

/** Shown to the people who manage the webhook, not to the sender. */
export const causeTexts: { readonly [Cause in VerificationCause]: string } = {
  address: "`allow_from` does not name the address that it came from.",
  missing: "It has no signature, secret, time or id where `verification` expects one.",
  malformed: "Its signature, secret or time is not written as `verification` expects it.",
  expired: "It was sent longer ago than `verification` allows, or in the future.",
  mismatch: "Its signature or secret is not that of this webhook, or its body was changed on the way."
}

const unreadable = new Unavailable({ what: "server", detail: "The server cannot check the request now." })

/** The networks of webhooks in memory, since each is called more than once. */
const parsed = new WeakMap<WebhookRow, Networks>()

const networksOf = (webhook: WebhookRow, allow_from: ReadonlyArray<string>): Networks => {
  const known = parsed.get(webhook)
  if (known !== undefined) return known
  // An invalid entry lets nobody in.
  const networks = Option.getOrElse(parseNetworks(allow_from), () => noNetworks)
  parsed.set(webhook, networks)
  return networks
}

/** Whether the request's address may call the webhook. */
const isAllowed = (proxies: Networks, webhook: WebhookRow, request: Request): boolean =>
  webhook.allow_from === undefined || networksOf(webhook, webhook.allow_from).contains(clientAddress(proxies, request))

/**
 * The default time for which a repeated delivery counts as the same: longer than services retry, and than people can
 * redeliver.
 */
const deliveryLife = Duration.days(7)

const isPlain = /^[\x21-\x7e]{1,200}$/
const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()

/** One delivery is one run, even if other parts differ: some services sign the time of each attempt. */
const sameRequest = sha256("delivery")

/** A delivery's ID as an idempotency key. Its line break keeps it apart from callers' keys. */
export const idempotencyOf = ({
  delivery_id,
  unique_for_seconds
}: Verified): Pick<RunRequest, "idempotency"> | undefined => {
  if (delivery_id === undefined) return undefined
  const id = isPlain.test(delivery_id) ? delivery_id : sha256(delivery_id).toString("hex")
  const life = unique_for_seconds === undefined ? deliveryLife : Duration.seconds(unique_for_seconds)
  return { idempotency: { key: `delivery\n${id}`, request_hash: sameRequest, life, renewsCancelled: true } }
}

/** A handshake gets its challenge back, if it has one. */
export const handshakeAnswer = ({ echo, headers = {}, json }: Handshake): HttpServerResponse.HttpServerResponse =>
  json !== undefined
    ? HttpServerResponse.jsonUnsafe(json)
    : echo === undefined
      ? HttpServerResponse.jsonUnsafe({ status: "ignored" } satisfies typeof Ignored.Type)
      : // Its text comes from the request.
        HttpServerResponse.text(echo, { headers: { ...securityHeaders, ...headers } })

/** The answer to a command, with the webhook's text for people, empty without one. */
export const replyTo = ({ verification }: WebhookRow, { body }: Reply): HttpServerResponse.HttpServerResponse => {
  const text = verification?.reply_text ?? ""
  if (body === undefined) return HttpServerResponse.text(text)
  if (body === "") return HttpServerResponse.text("")
  const members = Object.entries(body).map(([name, value]) => [name, value === "{reply_text}" ? text : value])
  return HttpServerResponse.jsonUnsafe(Object.fromEntries(members))
}

const make = Effect.gen(function* () {
  const proxies = yield* TrustedProxies
  const verification = yield* Verification.make
  const originFor = yield* makeOriginFor

  const signedRequest = (request: Request, body: Uint8Array | undefined, evidence?: Evidence) => {
    const { headers, method, url } = request
    const calledAs = () => `${originFor(request)}${url.slice(url.indexOf(triggerPath))}`
    return { headers, body, method, url: calledAs, evidence }
  }

  const check: CallerCheck["Service"]["check"] = (request, webhook, now, body, evidence) => {
    if (!isAllowed(proxies, webhook, request)) return new NotVerified({ why: "address" })
    const verdict = verification.verify(webhook, signedRequest(request, body, evidence), now)
    if (verdict._tag !== "Refused") return verdict
    return verdict.cause === "unreadable" ? unreadable : new NotVerified({ why: verdict.cause })
  }

  const urlCheck: CallerCheck["Service"]["urlCheck"] = (request, webhook, body) => {
    const answer = verification.urlCheck(webhook, signedRequest(request, body))
    if (answer === undefined) return undefined
    if (!isAllowed(proxies, webhook, request)) return new NotVerified({ why: "address" })
    return typeof answer === "string" ? new NotVerified({ why: answer }) : answer
  }

  return { check, urlCheck }
})

export class CallerCheck extends Context.Service<
  CallerCheck,
  {
    /** Checks the caller at this time. Without the body, only what does not depend on it. */
    readonly check: (
      request: Request,
      webhook: WebhookRow,
      now: number,
      body?: Uint8Array,
      evidence?: Evidence
    ) => Verified | Handshake | Refusal
    /** The answer to a test of the URL, which is not signed; `undefined`: it is none. */
    readonly urlCheck: (request: Request, webhook: WebhookRow, body?: Uint8Array) => Handshake | NotVerified | undefined
  }
>()("webhook-trigger/CallerCheck") {
  static readonly layer: Layer.Layer<CallerCheck> = Layer.effect(CallerCheck, make)
}

export const isRefusal = (checked: Verified | Handshake | Refusal): checked is Refusal =>
  checked._tag === "NotVerified" || checked._tag === "Unavailable" || isNeeds(checked)

export const isNeeds = (checked: { readonly _tag: string }): checked is Needs =>
  checked._tag === "NeedsCertificate" || checked._tag === "NeedsToken"

/** Counts a refused caller, and logs a secret that this server cannot decrypt. */
export const report = ({ id }: WebhookRow, refusal: { readonly _tag: string }): Effect.Effect<void> => {
  if (refusal instanceof NotVerified) Verification.countRefused(refusal.why)
  return refusal === unreadable
    ? Effect.annotateLogs(Effect.logError("No key in SECRETS_KEY decrypts the webhook's secret"), { webhook_id: id })
    : Effect.void
}
