/**
 * Interprets descriptions (`domain/verification/`): whether a request is authentic, and which delivery it is. Pure: the
 * time is an argument.
 */
import { hash } from "node:crypto"
import type { VerificationCause } from "../../domain/Errors.ts"
import {
  type Description,
  type Ed25519,
  type Hmac,
  isIdSigned,
  type Jwt,
  type PublicKey,
  type Reply,
  type Timestamp
} from "../../domain/verification/Description.ts"
import * as AmazonSns from "./AmazonSns.ts"
import * as Lookup from "./RequestLookup.ts"
import { bytesOf, decode, hmacOf, isSecret, makeSigner } from "./Signing.ts"
import { isConfirmation } from "./SnsTopic.ts"
import * as Tokens from "./Tokens.ts"

export type { SignedRequest } from "./RequestLookup.ts"

export type Cause = Exclude<VerificationCause, "address">

/** The sender only tests the URL. `json`, or else `echo`, is the answer it expects, after a call of `confirm`. */
export interface Handshake {
  readonly _tag: "Handshake"
  readonly echo?: string
  readonly json?: JsonAnswer
  readonly headers?: { readonly [name: string]: string }
  readonly confirm?: string
}

/** Identifies a request's delivery. A repeat is the same delivery for this many seconds, or for the default time. */
interface Delivery {
  readonly delivery_id?: string
  readonly unique_for_seconds?: number
}

export type Verdict =
  | { readonly _tag: "Refused"; readonly cause: Cause }
  | ({ readonly _tag: "Verified"; readonly reply?: Reply } & Delivery)
  | Handshake
  | Needs

/** The check needs something that is not in the request. With it, the request is checked again. */
export type Needs = AmazonSns.NeedsCertificate | Tokens.NeedsToken

type JsonAnswer = { readonly [name: string]: string | number }

/** A secret, prepared to check requests. */
export interface Check {
  readonly description: Description
  /** The HMAC of a text in hex, to answer a handshake; absent: the secret is no key of an HMAC. */
  readonly hmacOf?: (text: string) => string
  /** `undefined`: nothing is wrong with the request. Without its body, as far as possible. */
  readonly causeOf: (request: Lookup.SignedRequest, now: number) => Cause | Needs | undefined
  /** Whether a URL may be called to confirm what the service asks. */
  readonly isConfirmation?: (url: string) => boolean
}

/**
 * How many signatures of a list are tried: a caller could send hundreds, and each Ed25519 check reads the whole body.
 */
const maxSignatures = 10

const placeholders = ["{body}", "{form}", "{timestamp}", "{id}", "{url}", "{method}"] as const

type Placeholder = (typeof placeholders)[number]

/** The signed text, cut at its placeholders. */
const partsOf = (signed: string): ReadonlyArray<Placeholder | Buffer> =>
  signed
    .split(/(\{(?:body|form|timestamp|id|url|method)\})/)
    .map((part) => ((placeholders as ReadonlyArray<string>).includes(part) ? (part as Placeholder) : Buffer.from(part)))

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

/** When the request was sent, in milliseconds since 1970; `undefined`: not written as expected. */
const sentAt = (time: string, { unit }: Timestamp): number | undefined => {
  if (unit !== "iso") return /^\d{1,15}$/.test(time) ? Number(time) * (unit === "seconds" ? 1000 : 1) : undefined
  const sent = isoTime.test(time) ? Date.parse(time) : Number.NaN
  return Number.isNaN(sent) ? undefined : sent
}

const causeOfTime = (time: string | undefined, timestamp: Timestamp, now: number): Cause | undefined => {
  if (time === undefined) return "missing"
  const sent = sentAt(time, timestamp)
  if (sent === undefined) return "malformed"
  return Math.abs(now - sent) > timestamp.tolerance_seconds * 1000 ? "expired" : undefined
}

const signatureCheck = (description: Hmac | Ed25519 | PublicKey, secret: string): Check["causeOf"] => {
  const { encoding, headers, id: ids = [], prefix = "", separator, timestamp } = description
  const parts = partsOf(description.signed)
  const isSigned = makeSigner(description, secret)
  const isTimeInBody = timestamp?.at.some((source) => "json" in source) === true

  return (request, now) => {
    const sent = Lookup.make(request).first(headers.map((header) => ({ header })))
    if (sent === undefined) return "missing"
    const items = separator === undefined ? [sent] : sent.split(separator).map((item) => item.trim())
    const signatures = items
      .filter((item) => item.startsWith(prefix))
      .slice(0, maxSignatures)
      .flatMap((item) => decode(item.slice(prefix.length), encoding) ?? [])
    if (signatures.length === 0) return "malformed"

    const lookup = Lookup.make(request, items)
    const values = {
      "{timestamp}": timestamp && !isTimeInBody ? lookup.first(timestamp.at) : undefined,
      "{id}": parts.includes("{id}") ? lookup.first(ids) : undefined,
      "{url}": parts.includes("{url}") ? request.url?.() : undefined,
      "{method}": request.method
    }
    if (parts.includes("{id}") && values["{id}"] === undefined) return "missing"
    const early = timestamp && !isTimeInBody ? causeOfTime(values["{timestamp}"], timestamp, now) : undefined
    const { body } = request
    if (early !== undefined || body === undefined) return early

    const form = parts.includes("{form}") ? lookup.sortedForm() : ""
    if (form === undefined) return "malformed"
    const content = parts.map((part) =>
      typeof part === "object"
        ? part
        : part === "{body}"
          ? body
          : part === "{form}"
            ? Buffer.from(form)
            : bytesOf(values[part] ?? "")
    )
    if (!isSigned(content, signatures)) return "mismatch"
    return timestamp && isTimeInBody ? causeOfTime(lookup.first(timestamp.at), timestamp, now) : undefined
  }
}

const headerCheck =
  (headers: ReadonlyArray<string>, prefix: string, secret: Uint8Array): Check["causeOf"] =>
  (request) => {
    const sent = Lookup.make(request).first(headers.map((header) => ({ header })))
    if (sent === undefined) return "missing"
    if (sent.slice(0, prefix.length).toLowerCase() !== prefix.toLowerCase()) return "malformed"
    return isSecret(bytesOf(sent.slice(prefix.length)), secret) ? undefined : "mismatch"
  }

const basicCheck = (username: string, secret: string): Check["causeOf"] => {
  const expected = Buffer.from(`${username}:${secret}`)
  return (request) => {
    const sent = Lookup.make(request).header("authorization")
    if (sent === undefined) return "missing"
    const [, credentials = ""] = /^basic +(\S+)$/i.exec(sent) ?? []
    const bytes = decode(credentials, "base64")
    if (bytes === undefined) return "malformed"
    return isSecret(bytes, expected) ? undefined : "mismatch"
  }
}

const bodyCheck =
  (path: ReadonlyArray<string>, secret: Uint8Array): Check["causeOf"] =>
  (request) => {
    if (request.body === undefined) return undefined
    const sent = Lookup.make(request).each(path)
    if (sent.length === 0 || sent.includes(undefined)) return "missing"
    // All of them, so that the time does not depend on the first that is wrong.
    return sent.filter((text = "") => !isSecret(Buffer.from(text), secret)).length > 0 ? "mismatch" : undefined
  }

const snsCheck =
  (topic: string): Check["causeOf"] =>
  (request, now) =>
    request.body && AmazonSns.causeOf(topic, Lookup.make(request), now, request.evidence)

const tokenCheck =
  (description: Jwt, secret: string): Check["causeOf"] =>
  (request) =>
    Tokens.causeOf(description, secret, Lookup.make(request), request)

/** Prepares a secret; `username` is the webhook's, for Basic authentication. */
export const makeCheck = (description: Description, secret: string, username = ""): Check => {
  switch (description.scheme) {
    case "hmac":
      return {
        ...{ description, causeOf: signatureCheck(description, secret) },
        hmacOf: (text) => hmacOf(description, secret, text)
      }
    case "ed25519":
    case "public key":
      return { description, causeOf: signatureCheck(description, secret) }
    case "header":
      return { description, causeOf: headerCheck(description.headers, description.prefix ?? "", Buffer.from(secret)) }
    case "basic":
      return { description, causeOf: basicCheck(username, secret) }
    case "body":
      return { description, causeOf: bodyCheck(description.at, Buffer.from(secret)) }
    case "jwt":
      return { description, causeOf: tokenCheck(description, secret) }
    case "sns":
      return {
        ...{ description, causeOf: snsCheck(secret) },
        isConfirmation: (url) => isConfirmation(secret, url)
      }
  }
}

/**
 * Someone with a signed request can resend it with different unsigned parts. So a different unsigned id does not make it
 * another delivery, and the same unsigned id does not make another body the same delivery. A body that contains its time
 * differs with each attempt.
 */
const deliveryOf = (description: Description, lookup: Lookup.Lookup, body: Uint8Array): Delivery => {
  const delivery_id = lookup.first(description.id ?? [])
  const known = delivery_id === undefined ? {} : { delivery_id }
  if (!("signed" in description) || (delivery_id !== undefined && isIdSigned(description))) return known
  const { timestamp, unique_for_seconds } = description
  const digest = hash("sha256", body)
  if (timestamp === undefined && unique_for_seconds !== 0) {
    return { delivery_id: `body ${digest}`, ...(unique_for_seconds !== undefined && { unique_for_seconds }) }
  }
  if (timestamp?.at.some((source) => "json" in source)) return known
  const other = delivery_id ?? (timestamp && lookup.first(timestamp.at))
  return other === undefined ? {} : { delivery_id: `${other} ${digest}` }
}

/** The verdict on a request that one of the secrets has verified. */
const verdictOf = ({ description, hmacOf, isConfirmation: mayCall }: Check, request: Lookup.SignedRequest): Verdict => {
  const { handshakes = [], replies = [] } = description
  const lookup = Lookup.make(request)
  const handshake = handshakes.find(({ when }) => lookup.holds(when))
  if (handshake !== undefined) {
    const echo = handshake.echo === undefined ? undefined : lookup.at(handshake.echo)
    const answer = (value: string | number): string | number =>
      value === "{echo}" ? (echo ?? "") : value === "{hmac}" ? (hmacOf?.(echo ?? "") ?? "") : value
    const json =
      handshake.json && Object.fromEntries(Object.entries(handshake.json).map(([name, value]) => [name, answer(value)]))
    const confirm = handshake.confirm && lookup.at(handshake.confirm)
    if (confirm !== undefined && !mayCall?.(confirm)) return { _tag: "Refused", cause: "malformed" }
    return {
      _tag: "Handshake",
      ...(echo !== undefined && { echo }),
      ...(json && { json }),
      ...(confirm && { confirm })
    }
  }
  const delivery = request.body === undefined ? {} : deliveryOf(description, lookup, request.body)
  const reply = replies.find(lookup.holds)
  return { _tag: "Verified", ...(reply && { reply }), ...delivery }
}

/** The check that the request passes, or the first one's reason for refusal. One check is enough. */
const pass = (checks: ReadonlyArray<Check>, request: Lookup.SignedRequest, now: number): Check | Cause | Needs => {
  const causes = checks.map((check) => check.causeOf(request, now))
  const needed = causes.find((cause) => typeof cause === "object")
  return checks[causes.indexOf(undefined)] ?? needed ?? causes[0] ?? "mismatch"
}

/** The verdict at that time, in milliseconds since 1970. Without a body, as far as possible. */
export const verify = (checks: ReadonlyArray<Check>, request: Lookup.SignedRequest, now: number): Verdict => {
  const passed = pass(checks, request, now)
  if (typeof passed === "string") return { _tag: "Refused", cause: passed }
  return "_tag" in passed ? passed : verdictOf(passed, request)
}
