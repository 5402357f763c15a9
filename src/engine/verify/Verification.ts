/** Checks a request against its webhook's `verification`. */
import { Effect, Metric, Redacted } from "effect"
import { VerificationCause } from "../../domain/Errors.ts"
import type { Condition, Preset, UrlCheck } from "../../domain/verification/Description.ts"
import { describe, type Options, presets } from "../../domain/verification/Presets.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import * as Metrics from "../../telemetry/Metrics.ts"
import * as Lookup from "./RequestLookup.ts"
import * as SecretKeys from "./SecretKeys.ts"
import { isSecret } from "./Signing.ts"
import * as Verify from "./Verify.ts"

/** `unreadable`: this server can decrypt none of the webhook's secrets; the request is not at fault. */
export type Verdict = Verify.Verdict | { readonly _tag: "Refused"; readonly cause: "unreadable" }

const refusals = Metric.counter("webhook_not_verified_total", {
  description: "Requests that did not show what their webhook asks for, by cause.",
  incremental: true
})

export const countRefused = (cause: VerificationCause): void => Metrics.record(refusals, 1, { cause })

/** The webhook requires no verification. */
const passed: Verdict = { _tag: "Verified" }
const unreadable: Verdict = { _tag: "Refused", cause: "unreadable" }

/**
 * Senders of CloudEvents, such as Azure Event Grid, ask whether their events are wanted. Every webhook says yes.
 * https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md#4-abuse-protection
 */
const cloudEvents: UrlCheck = {
  method: "OPTIONS",
  when: [{ at: { header: "webhook-request-origin" } }],
  echo: { header: "webhook-request-origin" },
  headers: { allow: "POST", "webhook-allowed-origin": "{echo}", "webhook-allowed-rate": "*" }
}

/** In characters. Services send some hundreds. */
const maxEcho = 2_000

const ofEveryWebhook: ReadonlyArray<UrlCheck> = [cloudEvents]

const none: ReadonlyArray<UrlCheck> = []

const urlChecksOf = (verification: Options | undefined): ReadonlyArray<UrlCheck> => {
  const preset: Preset | undefined = verification && presets[verification.preset]
  return preset?.urlChecks ?? none
}

/**
 * The test of the webhook's URL that this request is, if any, or without its body may be. It comes before any secret is known, so it is not signed. Fast,
 * because most requests are none.
 */
const urlCheckIn = (verification: Options | undefined, request: Lookup.SignedRequest): UrlCheck | undefined => {
  const own = urlChecksOf(verification)
  const isPost = request.method === "POST"
  if (isPost && own === none) return undefined
  const lookup = Lookup.make(request)
  const mayHold = (condition: Condition) =>
    (request.body === undefined && "json" in condition.at) || lookup.holds(condition)
  return (isPost ? own : [...own, ...ofEveryWebhook]).find(
    ({ method, when = [] }) => method === request.method && when.every(mayHold)
  )
}

const filled = (texts: { readonly [name: string]: string }, echo: string): { readonly [name: string]: string } =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.replace("{echo}", () => echo)]))

/** The answer that the sender expects, or why it gets none. */
const answerTo = (
  { echo: source, expects, headers, json }: UrlCheck,
  verification: Options | undefined,
  request: Lookup.SignedRequest
): Verify.Handshake | Verify.Cause => {
  const lookup = Lookup.make(request)
  if (expects !== undefined) {
    const sent = lookup.at(expects.at)
    if (sent === undefined) return "missing"
    if (!isSecret(Buffer.from(sent), Buffer.from(verification?.[expects.option] ?? ""))) return "mismatch"
  }
  const echo = source === undefined ? "" : lookup.at(source)
  if (echo === undefined) return "missing"
  if (echo.length > maxEcho) return "malformed"
  return {
    _tag: "Handshake",
    ...(headers === undefined && json === undefined && { echo }),
    ...(json && { json: filled(json, echo) }),
    ...(headers && { echo: "", headers: filled(headers, echo) })
  }
}

export const make = Effect.map(SecretKeys.SecretKeys, (keys) => {
  Metrics.begin(refusals, "cause", VerificationCause.literals)
  /** Verifiers of the webhooks in memory, so that a secret is decrypted once. */
  const known = new WeakMap<WebhookRow, ReadonlyArray<Verify.Check>>()

  const checksOf = (webhook: WebhookRow, options: NonNullable<WebhookRow["verification"]>) => {
    const before = known.get(webhook)
    if (before !== undefined) return before
    const checks = [webhook.sealed_secret, webhook.old_sealed_secret].flatMap((sealed) => {
      const secret = sealed === undefined ? undefined : SecretKeys.open(keys.all(), sealed, webhook.id)
      if (secret === undefined) return []
      const text = Redacted.value(secret)
      return [Verify.makeCheck(describe(options, text), text, options.username)]
    })
    if (checks.length > 0) known.set(webhook, checks)
    return checks
  }

  /** The verdict at that time, in milliseconds since 1970. Without a body, as far as possible. */
  const verify = (webhook: WebhookRow, request: Verify.SignedRequest, now: number): Verdict => {
    if (webhook.verification === undefined) return passed
    const checks = checksOf(webhook, webhook.verification)
    return checks.length === 0 ? unreadable : Verify.verify(checks, request, now)
  }

  /** The answer to a test of the URL; `undefined`: it is none. Without the body, as far as possible. */
  const urlCheck = (
    webhook: WebhookRow,
    request: Verify.SignedRequest
  ): Verify.Handshake | Verify.Cause | undefined => {
    const check = urlCheckIn(webhook.verification, request)
    return check && answerTo(check, webhook.verification, request)
  }

  return { verify, urlCheck }
})
