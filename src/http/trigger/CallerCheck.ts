/** Whoever sends a request to a webhook: what they must show beside its token, and what is particular in answering them. */
import { createHash } from "node:crypto"
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Duration, Effect } from "effect"
import type { Ignored } from "../../api/run/Trigger.ts"
import { triggerPath } from "../../api/run/TriggerUrl.ts"
import { NotVerified, Unavailable, type VerificationCause } from "../../domain/Errors.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import type { TriggerRequest } from "../../engine/accept/Trigger.ts"
import * as Verification from "../../engine/verify/Verification.ts"
import { makeOriginFor } from "../request/PublicUrl.ts"
import { TrustedProxies } from "../request/TrustedProxies.ts"
import { isAllowed } from "./AllowFrom.ts"

type Request = HttpServerRequest.HttpServerRequest

/** What a request has shown. */
export type Shown = Exclude<Verification.Verdict, { readonly _tag: "Refused" }>

/** Said to whoever manages the webhook, not to the sender. */
export const causeTexts: { readonly [Cause in VerificationCause]: string } = {
  address: "`allow_from` does not name the address that it came from.",
  missing: "It has no signature, secret, time or id where `verification` expects one.",
  malformed: "Its signature, secret or time is not written as `verification` expects it.",
  expired: "It was sent longer ago than `verification` allows, or in the future.",
  mismatch: "Its signature or secret is not that of this webhook, or its body was changed on the way."
}

const unreadable = new Unavailable({ what: "server", detail: "The server cannot check the request now." })

/**
 * The default time for which a repeated delivery counts as the same: longer than services retry, and than people can
 * redeliver.
 */
const deliveryLife = Duration.days(7)

const isPlain = /^[\x21-\x7e]{1,200}$/
const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()

/** One delivery is one run, whatever else comes with it: some services sign the time of each attempt. */
const sameRequest = sha256("delivery")

/** A delivery's id as its idempotency key; with a line break, which no key that a caller chooses can have. */
export const idempotencyOf = (shown: Shown): Pick<TriggerRequest, "idempotency"> | undefined => {
  if (shown._tag !== "Verified" || shown.delivery_id === undefined) return undefined
  const id = isPlain.test(shown.delivery_id) ? shown.delivery_id : sha256(shown.delivery_id).toString("hex")
  const { unique_for_seconds } = shown
  const life = unique_for_seconds === undefined ? deliveryLife : Duration.seconds(unique_for_seconds)
  return { idempotency: { key: `delivery\n${id}`, request_hash: sameRequest, life } }
}

/** A handshake gets back what it sent, or hears that it starts no run. */
export const handshakeAnswer = ({ echo }: { readonly echo?: string }): HttpServerResponse.HttpServerResponse =>
  echo === undefined
    ? HttpServerResponse.unsafeJson({ status: "ignored" } satisfies typeof Ignored.Type)
    : HttpServerResponse.text(echo)

/** To a command: the webhook's text for people, nothing without one. */
export const replyTo = ({ verification }: WebhookRow): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(verification?.reply_text ?? "")

export const make = Effect.gen(function* () {
  const proxies = yield* TrustedProxies
  const verification = yield* Verification.make
  const originFor = yield* makeOriginFor

  /** What it shows at that time, or why it is refused. Without the body, as far as can be said without that. */
  const check = (
    request: Request,
    webhook: WebhookRow,
    now: number,
    body?: Uint8Array
  ): Shown | NotVerified | Unavailable => {
    if (!isAllowed(proxies, webhook, request)) return new NotVerified({ why: "address" })
    const { headers, method, url } = request
    const signed = { headers, body, method, url: () => `${originFor(request)}${url.slice(url.indexOf(triggerPath))}` }
    const verdict = verification.verify(webhook, signed, now)
    if (verdict._tag !== "Refused") return verdict
    return verdict.cause === "unreadable" ? unreadable : new NotVerified({ why: verdict.cause })
  }

  return { check }
})

export const isRefusal = (checked: Shown | NotVerified | Unavailable): checked is NotVerified | Unavailable =>
  checked._tag === "NotVerified" || checked._tag === "Unavailable"
