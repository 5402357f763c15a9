import { Context, Effect, Layer } from "effect"
import type { WebhookId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { Settings } from "../Settings.ts"

/** The run that needs slots. */
export interface SlotRequest {
  readonly webhook: WebhookId
  readonly team: TeamName
  /** The webhook's current limit; absent: `WEBHOOK_MAX_CONCURRENT`. */
  readonly maxConcurrent?: number | undefined
}

/** How many slots are held. */
export interface Usage {
  readonly total: number
  readonly byWebhook: ReadonlyMap<WebhookId, number>
}

/**
 * The slots. A run holds one slot of its webhook and one global slot, from just before it is published until it has
 * ended.
 *
 * - A webhook's limit is its own `max_concurrent`, else `WEBHOOK_MAX_CONCURRENT`.
 * - The global limit is `WEBHOOK_MAX_CONCURRENT`, or the webhook's own limit if that is higher.
 * - A team that holds a slot gets further ones only from one half of the global limit, which all teams share. So at
 *   least half as many teams as there are slots work at a time, even if many prompts of the others are unanswered.
 *
 * Plain functions, called only by the dispatcher, which decides the order.
 */
export class Limiter extends Context.Tag("webhook-trigger/Limiter")<
  Limiter,
  {
    /** Takes both slots if they are free; otherwise takes nothing and returns false. */
    readonly tryAcquire: (request: SlotRequest) => boolean
    /** All global slots are taken. Only a webhook with its own limit may still get one. */
    readonly isFull: () => boolean
    /** Takes both slots regardless of the limits, for a run that is already in flight. */
    readonly hold: (request: SlotRequest) => void
    /** Releases both slots. */
    readonly release: (request: SlotRequest) => void
    readonly usage: Effect.Effect<Usage>
  }
>() {
  /**
   * Counters, not Effect's semaphore: a semaphore cannot hold two limits that are edited while runs wait, and it wakes all
   * waiters on every release (2,000 of them take 28 s and 3.9 GB where 0.1 s is ideal).
   */
  static readonly layer: Layer.Layer<Limiter, never, Settings> = Layer.effect(
    Limiter,
    Effect.map(Settings, ({ maxConcurrent: globalLimit }) => {
      const byWebhook = new Map<WebhookId, number>()
      const byTeam = new Map<TeamName, number>()
      let total = 0
      /** Slots beyond the first of each team. */
      let further = 0

      const isFree = ({ webhook, team, maxConcurrent = globalLimit }: SlotRequest) => {
        const ceiling = Math.max(globalLimit, maxConcurrent)
        return (
          total < ceiling &&
          (byWebhook.get(webhook) ?? 0) < maxConcurrent &&
          (!byTeam.has(team) || further < Math.ceil(ceiling / 2))
        )
      }
      const hold = ({ webhook, team }: SlotRequest) => {
        const ofTeam = byTeam.get(team) ?? 0
        if (ofTeam > 0) further++
        byTeam.set(team, ofTeam + 1)
        byWebhook.set(webhook, (byWebhook.get(webhook) ?? 0) + 1)
        total++
      }
      const release = ({ webhook, team }: SlotRequest) => {
        const ofTeam = byTeam.get(team) ?? 0
        if (ofTeam > 1) further--
        decrement(byTeam, team)
        decrement(byWebhook, webhook)
        total--
      }

      return Limiter.of({
        tryAcquire: (request) => {
          if (!isFree(request)) return false
          hold(request)
          return true
        },
        isFull: () => total >= globalLimit,
        hold,
        release,
        usage: Effect.sync(() => ({ total, byWebhook: new Map(byWebhook) }))
      })
    })
  )
}

const decrement = <K>(counts: Map<K, number>, key: K): void => {
  const count = counts.get(key) ?? 0
  if (count > 1) counts.set(key, count - 1)
  else counts.delete(key)
}
