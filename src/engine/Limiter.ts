import { Context, Deferred, Effect, FiberId, Layer, type Scope } from "effect"
import type { WebhookId } from "../domain/Id.ts"
import { acquireReleaseSync } from "./Acquire.ts"
import { Settings } from "./Settings.ts"

/** How many runs are in flight now. */
export interface Usage {
  readonly total: number
  readonly byWebhook: ReadonlyMap<WebhookId, number>
}

/**
 * The slots. A run holds one slot of its webhook and one global slot, both taken at once, for as long as the scope it
 * was given them in is open. A webhook's limit is its own `max_concurrent`, else `WEBHOOK_MAX_CONCURRENT`; the global
 * ceiling is `WEBHOOK_MAX_CONCURRENT`, or the webhook's own limit where that is higher.
 */
export class Limiter extends Context.Tag("webhook-trigger/Limiter")<
  Limiter,
  {
    /**
     * Waits for both slots; who has waited longest and fits comes first. Interruption gives up the place. The limit
     * counts for a webhook that neither holds nor waits; after that, `setLimit` does.
     */
    readonly acquire: (webhook: WebhookId, maxConcurrent: number | undefined) => Effect.Effect<void, never, Scope.Scope>
    /** Takes both slots if they are free; false, and nothing taken, when they are not. */
    readonly acquireNow: (
      webhook: WebhookId,
      maxConcurrent: number | undefined
    ) => Effect.Effect<boolean, never, Scope.Scope>
    /** Takes both slots without asking, for a run that is in flight already. */
    readonly hold: (webhook: WebhookId, maxConcurrent: number | undefined) => Effect.Effect<void, never, Scope.Scope>
    /** The webhook's own limit has been edited: holds at once, for the waiting too. */
    readonly setLimit: (webhook: WebhookId, maxConcurrent: number | undefined) => Effect.Effect<void>
    /** The webhooks that hold or wait for a slot. */
    readonly webhooks: Effect.Effect<ReadonlyArray<WebhookId>>
    readonly usage: Effect.Effect<Usage>
  }
>() {
  /**
   * Two ceilings that move while runs wait are not a semaphore's to keep, and Effect's wakes all its waiters on every
   * release; here a release walks the waiting in order and wakes those that fit. They are few: one a team.
   */
  static readonly layer: Layer.Layer<Limiter, never, Settings> = Layer.effect(
    Limiter,
    Effect.map(Settings, ({ maxConcurrent: globalLimit }) => {
      const webhooks = new Map<WebhookId, { limit: number; inFlight: number; waiting: number }>()
      const waiting = new Set<{ readonly webhook: WebhookId; readonly turn: Deferred.Deferred<void> }>()
      let total = 0

      const slots = (webhook: WebhookId, maxConcurrent?: number) => {
        const known = webhooks.get(webhook)
        if (known !== undefined) return known
        const fresh = { limit: maxConcurrent ?? globalLimit, inFlight: 0, waiting: 0 }
        webhooks.set(webhook, fresh)
        return fresh
      }
      const forgetIdle = (webhook: WebhookId) => {
        const { inFlight, waiting } = slots(webhook)
        if (inFlight === 0 && waiting === 0) webhooks.delete(webhook)
      }
      const fits = (webhook: WebhookId) => {
        const { limit, inFlight } = slots(webhook)
        return inFlight < limit && total < Math.max(globalLimit, limit)
      }
      const take = (webhook: WebhookId) => {
        slots(webhook).inFlight++
        total++
      }
      const wakeThoseThatFit = () => {
        for (const waiter of waiting) {
          if (!fits(waiter.webhook)) continue
          waiting.delete(waiter)
          slots(waiter.webhook).waiting--
          take(waiter.webhook)
          Deferred.unsafeDone(waiter.turn, Effect.void)
        }
      }
      const give = (webhook: WebhookId) => {
        slots(webhook).inFlight--
        total--
        wakeThoseThatFit()
        forgetIdle(webhook)
      }

      const waitForTurn = (webhook: WebhookId) =>
        Effect.suspend(() => {
          const waiter = { webhook, turn: Deferred.unsafeMake<void>(FiberId.none) }
          waiting.add(waiter)
          slots(webhook).waiting++
          return Effect.onInterrupt(Effect.interruptible(Deferred.await(waiter.turn)), () =>
            Effect.sync(() => {
              if (!waiting.delete(waiter)) return give(webhook)
              slots(webhook).waiting--
              forgetIdle(webhook)
            })
          )
        })

      return Limiter.of({
        acquire: (webhook, maxConcurrent) =>
          Effect.uninterruptible(
            Effect.suspend(() => {
              slots(webhook, maxConcurrent)
              if (!fits(webhook)) return waitForTurn(webhook)
              take(webhook)
              return Effect.void
            }).pipe(Effect.zipRight(Effect.addFinalizer(() => Effect.sync(() => give(webhook)))))
          ),
        acquireNow: (webhook, maxConcurrent) =>
          acquireReleaseSync(
            () => {
              slots(webhook, maxConcurrent)
              if (fits(webhook)) {
                take(webhook)
                return true
              }
              forgetIdle(webhook)
              return false
            },
            (taken) => taken && give(webhook)
          ),
        hold: (webhook, maxConcurrent) =>
          Effect.asVoid(
            acquireReleaseSync(
              () => {
                slots(webhook, maxConcurrent)
                take(webhook)
              },
              () => give(webhook)
            )
          ),
        setLimit: (webhook, maxConcurrent) =>
          Effect.sync(() => {
            const known = webhooks.get(webhook)
            if (known === undefined) return
            known.limit = maxConcurrent ?? globalLimit
            wakeThoseThatFit()
          }),
        webhooks: Effect.sync(() => [...webhooks.keys()]),
        usage: Effect.sync(() => ({
          total,
          byWebhook: new Map(Array.from(webhooks, ([webhook, { inFlight }]) => [webhook, inFlight]))
        }))
      })
    })
  )
}
