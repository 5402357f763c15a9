import { Duration, Effect, Latch, type Scope } from "effect"
import type { WebhookId } from "../../domain/Id.ts"
import { LaneStore } from "../../repo/run/LaneStore.ts"
import type { AcceptOptions, NewRun } from "../../repo/run/RunStore.ts"

/** The limits that the accepting statement must check for these runs. */
interface LimitCheck {
  readonly options: Required<Pick<AcceptOptions, "countQueued" | "countQueuedOf">>
  /** To be called once the statement has ended, with whether the run at an index waits now. */
  readonly ended: (waits: (index: number) => boolean) => void
}

/** Runs that wait, as far as this process knows: those of all, or of one webhook. */
interface WaitingRuns {
  /** As they were counted last; before the first count, at least as many. */
  counted: number
  /** Accepted by this process since then, and not admitted. */
  since: number
  /** In accepting statements that have not ended. */
  underWay: number
  /** There have been new runs since the last count. */
  isCurrent: boolean
}

const waitingRuns = (counted: number): WaitingRuns => ({ counted, since: 0, underWay: 0, isCurrent: false })

/** False turns this off (decision 0022): every accepting statement counts. */
const isEnabled: boolean = true

/** The longest time between two counts, while there are new runs. */
const countInterval = Duration.seconds(1)

/**
 * A count is good for a sixteenth of what was free then, and a group for a quarter; beyond that the accepting statement
 * counts by itself. What other servers accept after this one has counted is not known to it: each more may exceed a limit
 * by as much, within a second. Most runs of a group will not wait, so more of them are let pass.
 */
const shareOfRuns = 1 / 16
const shareOfGroup = 1 / 4

const isUsedUp = ({ counted, since, underWay }: WaitingRuns, limit: number): boolean => {
  const free = limit - counted
  return since > free * shareOfRuns || since + underWay > free * shareOfGroup
}

/**
 * Whether so many more runs may be too many, of all or of their webhooks, so that the accepting statement must count: a
 * count reads every waiting run. Far from the limits it is enough to count once a
 * second, and when many have come.
 */
export const make = Effect.fnUntraced(function* (
  maxQueued: number
): Effect.fn.Return<(runs: ReadonlyArray<NewRun>) => LimitCheck, never, LaneStore | Scope.Scope> {
  const store = yield* LaneStore
  const all = waitingRuns(Number.POSITIVE_INFINITY)
  const webhooks = new Map<WebhookId, WaitingRuns>()
  const isDue = yield* Latch.make()

  const count = Effect.suspend(() => {
    isDue.closeUnsafe()
    if (!all.isCurrent) return Effect.void
    for (const [id, { isCurrent }] of webhooks) if (!isCurrent) webhooks.delete(id)
    const asked = [...webhooks]
    const before = new Map([all, ...webhooks.values()].map((each) => [each, each.since]))
    for (const each of before.keys()) each.isCurrent = each.underWay > 0
    // Runs from before this count are part of it only once the result is known: until then the last count is in use.
    const take = (each: WaitingRuns, counted: number) => {
      each.counted = counted
      each.since -= before.get(each)!
    }
    return Effect.match(store.queued(maxQueued, [...webhooks.keys()]), {
      onFailure: () => {
        for (const each of before.keys()) each.counted = Number.POSITIVE_INFINITY
      },
      onSuccess: (queued) => {
        take(all, queued.all)
        for (const [id, each] of asked) take(each, queued.webhooks.get(id) ?? 0)
      }
    })
  })
  yield* Effect.forkScoped(
    Effect.forever(Effect.andThen(Effect.raceFirst(isDue.await, Effect.sleep(countInterval)), count))
  )

  /** No more of them can wait than of all. */
  const ofWebhook = (id: WebhookId): WaitingRuns => {
    const found = webhooks.get(id)
    if (found !== undefined) return found
    const unknown = waitingRuns(all.counted + all.since + all.underWay)
    webhooks.set(id, unknown)
    return unknown
  }

  const mustCount = (each: WaitingRuns, limit: number): boolean => {
    if (!isEnabled) return true
    if (!isUsedUp(each, limit)) return false
    // Near the limit a new count would soon be used up as well.
    if (each.counted < limit / 2) isDue.openUnsafe()
    return true
  }

  return (runs) => {
    const waitingOf = runs.map(({ webhook }) => (webhook === undefined ? undefined : ofWebhook(webhook.id)))
    const add = (index: number, underWay: number, since: number) => {
      for (const each of [all, waitingOf[index]]) {
        if (each === undefined) continue
        each.underWay += underWay
        each.since += since
        each.isCurrent = true
      }
    }
    runs.forEach((_, index) => add(index, 1, 0))
    const full = runs.flatMap(({ webhook }, index) =>
      webhook?.max_queued !== undefined && mustCount(waitingOf[index]!, webhook.max_queued) ? [webhook.id] : []
    )
    return {
      options: { countQueued: mustCount(all, maxQueued), countQueuedOf: new Set(full) },
      ended: (waits) => runs.forEach((_, index) => add(index, -1, waits(index) ? 1 : 0))
    }
  }
})
