/** Checks a request against its webhook's `verification`. */
import { Effect, Metric, Redacted } from "effect"
import { VerificationCause } from "../../domain/Errors.ts"
import { describe } from "../../domain/verification/Presets.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import * as Metrics from "../../telemetry/Metrics.ts"
import * as SecretKeys from "./SecretKeys.ts"
import * as UrlChecks from "./UrlChecks.ts"
import * as Verify from "./Verify.ts"

export type { SignedRequest } from "./Verify.ts"

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

  /** What a test of the URL is answered with; `undefined`: it is none. Without the body, as far as possible. */
  const urlCheck = (
    webhook: WebhookRow,
    request: Verify.SignedRequest
  ): Verify.Handshake | Verify.Cause | undefined => {
    const check = UrlChecks.find(webhook.verification, request)
    return check && UrlChecks.answer(check, webhook.verification, request)
  }

  return { verify, urlCheck }
})
