import { createHash } from "node:crypto"
import { Data, DateTime, Duration, Effect, Result } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import { nextTime } from "../../domain/webhook/Schedule.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import * as Input from "../prompt/Input.ts"
import { longestPause, passesAfter } from "./Refusals.ts"
import { Trigger } from "./Trigger.ts"

/** Webhooks that are triggered at once. */
const portion = 20

const request_hash = createHash("sha256").update("schedule").digest()

/** It was edited or disabled after it was read. */
class Obsolete extends Data.TaggedError("Obsolete") {}

/**
 * Triggers webhooks by their `schedule`. Driven by the rows: each says when it is due until it was triggered, and the time is
 * the request's idempotency key. So two servers at once, or one that ends in between, start one run.
 */
export const make: Effect.Effect<Effect.Effect<void, Unavailable>, never, Trigger | WebhookStore> = Effect.gen(
  function* () {
    const trigger = yield* Trigger
    const webhooks = yield* WebhookStore
    /** Until when webhooks are not tried again. */
    const resting = new Map<WebhookId, DateTime.Utc>()

    const start = (webhook: WebhookRow, at: DateTime.Utc, received_at: DateTime.Utc) =>
      trigger.triggerRead(webhook, (current) => {
        if (!current.enabled || current.schedule !== webhook.schedule) return new Obsolete()
        const values = { scheduled_at: DateTime.formatIso(at) }
        const sample = Input.takesPayload(current) ? { payload: values } : { variables: values }
        return Effect.succeed({
          variables: Result.getOrThrow(Input.ofSample(current, sample)),
          received_at,
          wait: false,
          // Contains a line break, so that it cannot equal a caller's key.
          idempotency: { key: `schedule\n${values.scheduled_at}`, request_hash, life: Duration.days(7) }
        })
      })

    const triggerOne = (webhook: WebhookRow) =>
      Effect.gen(function* () {
        const { id, next_scheduled_at: at, schedule, team } = webhook
        const now = yield* DateTime.now
        const started = yield* Effect.result(start(webhook, at!, now))
        if (Result.isFailure(started)) {
          const refusal = started.failure
          const pause = refusal._tag === "Obsolete" ? undefined : passesAfter(refusal, 1)
          // A limit may be raised before its time.
          if (pause !== undefined) return void resting.set(id, DateTime.addDuration(now, longestPause))
          if (refusal._tag !== "Obsolete" && refusal._tag !== "NotFound") {
            yield* Effect.logWarning("The webhook refused the request of its schedule", refusal).pipe(
              Effect.annotateLogs({ team, webhook_id: id })
            )
          }
        }
        yield* webhooks.schedule(webhook, Result.getOrUndefined(nextTime(schedule!, DateTime.max(now, at!))))
      })

    const triggerSome = Effect.gen(function* () {
      const now = yield* DateTime.now
      for (const [id, until] of resting) if (DateTime.isLessThanOrEqualTo(until, now)) resting.delete(id)
      const due = yield* webhooks.scheduled(now, { except: [...resting.keys()], limit: portion })
      yield* Effect.forEach(due, triggerOne, { concurrency: portion, discard: true })
      return due.length === portion
    })

    return Effect.asVoid(Effect.repeat(triggerSome, { while: (more) => more }))
  }
)
