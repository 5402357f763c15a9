/** One attempt of a delivery: body, signature, request, and what comes next. */
import { Context, DateTime, Effect, Either, Layer, Metric, Random } from "effect"
import { Webhook as StandardWebhook } from "standardwebhooks"
import * as Attempts from "../../domain/delivery/Attempts.ts"
import type { DeliveryAttempt } from "../../domain/delivery/Delivery.ts"
import type { DestinationRow } from "../../domain/delivery/Destination.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import type { SecretKeyStore } from "../../repo/access/SecretKeyStore.ts"
import type { AttemptResult, DueDelivery } from "../../repo/delivery/DeliveryStore.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import * as Metrics from "../../telemetry/Metrics.ts"
import * as Sealing from "../verify/Sealing.ts"
import * as EventBody from "./EventBody.ts"
import { type Answer, Poster } from "./Poster.ts"

/** What is sent, before it is signed. */
export interface Message {
  readonly id: string
  readonly body: string
}

export class Outbox extends Context.Tag("webhook-trigger/Outbox")<
  Outbox,
  {
    /** `undefined`: its run was deleted, and the delivery with it. */
    readonly attempt: (due: DueDelivery) => Effect.Effect<AttemptResult | undefined, Unavailable>
    /** Signs and sends a message outside of any schedule. */
    readonly send: (destination: DestinationRow, message: Message) => Effect.Effect<DeliveryAttempt>
    /** What is wrong with a template; `undefined`: nothing. */
    readonly faultOfTemplate: (template: string) => string | undefined
  }
>() {
  static readonly layer: Layer.Layer<Outbox, never, HistoryStore | Poster | SecretKeyStore | WebhookStore> =
    Layer.effect(
      Outbox,
      Effect.gen(function* () {
        const { post } = yield* Poster
        const history = yield* HistoryStore
        const webhooks = yield* WebhookStore
        const sealing = yield* Sealing.make
        const clock = yield* Effect.clock
        const bodies = EventBody.make()

        const open = (sealed: string, { id }: DestinationRow) => sealing.open(id, sealed)

        /** The headers of one attempt; `undefined`: no key of this server opens the secrets. */
        const headersOf = (destination: DestinationRow, { body, id }: Message, now: Date) => {
          const { old_sealed_secret, old_secret_valid_until: until, sealed_headers, sealed_secret } = destination
          const isOldValid = until !== undefined && DateTime.toEpochMillis(until) > now.getTime()
          const sealed = [sealed_secret, ...(isOldValid && old_sealed_secret !== undefined ? [old_sealed_secret] : [])]
          const secrets = sealed.map((one) => open(one, destination))
          const headers = sealed_headers === undefined ? "{}" : open(sealed_headers, destination)
          if (headers === undefined || secrets.includes(undefined)) return undefined
          return {
            "content-type": "application/json",
            ...(JSON.parse(headers) as Record<string, string>),
            "webhook-id": id,
            "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
            "webhook-signature": secrets.map((secret) => new StandardWebhook(secret!).sign(id, now, body)).join(" ")
          }
        }

        const sendOnce = (destination: DestinationRow, message: Message) =>
          Effect.gen(function* () {
            const at = yield* DateTime.now
            const startedAt = stopwatch(clock)
            const headers = headersOf(destination, message, DateTime.toDateUtc(at))
            const result = yield* Effect.either(
              headers === undefined
                ? Effect.fail({ reason: "the server has no key that opens the destination's secrets (SECRETS_KEY)" })
                : post({ url: destination.url, headers, body: message.body })
            )
            const took = { at, duration_ms: Math.round(stopwatch(clock) - startedAt) }
            if (Either.isLeft(result)) return { attempt: { ...took, error: result.left.reason }, answer: undefined }
            const { answer, http_status } = result.right
            const error = faultOfStatus(http_status)
            const attempt = { ...took, http_status, ...(error !== undefined && { error }), answer }
            return { attempt: attempt as DeliveryAttempt, answer: result.right as Answer | undefined }
          })

        const attempt = Effect.fn("Outbox.attempt")(function* (due: DueDelivery) {
          const { destination, event, id, made, run_id } = due
          const found = yield* Effect.either(
            Effect.all({ run: history.run(run_id), webhook: webhooks.webhook(destination.webhook_id) })
          )
          if (Either.isLeft(found)) {
            if (found.left._tag === "NotFound") return undefined
            return yield* found.left
          }
          const common = { id, destination_id: destination.id, isGone: false }
          const body = bodies.of(destination, { event, ...found.right })
          if (Either.isLeft(body)) {
            const at = yield* DateTime.now
            const pause = body.left.isPassing
              ? Attempts.pauseAfter(made + 1, { random: yield* Random.next })
              : undefined
            const result: AttemptResult = {
              ...common,
              attempt: { at, duration_ms: 0, error: body.left.reason },
              next: pause === undefined ? "failed" : { next_attempt_at: DateTime.addDuration(at, pause) }
            }
            return counted(result)
          }
          const { answer, attempt } = yield* sendOnce(destination, { id, body: body.right })
          if (attempt.error === undefined) return counted({ ...common, attempt, next: "delivered" })
          const random = yield* Random.next
          const pause = Attempts.pauseAfter(made + 1, { random, retryAfter: answer?.retryAfter })
          const isGone = answer?.http_status === 410
          const next =
            pause === undefined || isGone
              ? ("failed" as const)
              : { next_attempt_at: DateTime.addDuration(yield* DateTime.now, pause) }
          return counted({ ...common, attempt, isGone, next })
        })

        return Outbox.of({
          attempt,
          send: (destination, message) => Effect.map(sendOnce(destination, message), ({ attempt }) => attempt),
          faultOfTemplate: bodies.faultOfTemplate
        })
      })
    )
}

/** Why an answer with this status is no success. */
const faultOfStatus = (status: number): string | undefined => {
  if (status >= 200 && status < 300) return undefined
  if (status >= 300 && status < 400) return `answered ${status}; redirects are not followed`
  return `answered ${status}`
}

const counted = (result: AttemptResult): AttemptResult => {
  const outcome = typeof result.next === "object" ? "retry" : result.next
  Metrics.record(attempts, 1, { outcome })
  return result
}

const attempts = Metric.counter("webhook_delivery_attempts_total", {
  description: "Attempts to send an event to a destination, by what came of them.",
  incremental: true
})
