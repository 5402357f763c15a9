import { Effect, FiberSet, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { pause } from "../../runtime/Pause.ts"
import type { Change } from "../ChangeFeed.ts"
import { makePublish } from "../Changes.ts"
import type { Notifications } from "./Notifications.ts"

/**
 * In milliseconds: the shortest time between two notifications, the delay of a change that is only displayed, and the
 * time that a stopping process may take for its last one.
 */
const interval = 20
const toBeShown = 100
const grace = 1_000

export type NotifySoon = (changes: ReadonlyArray<Change>) => void

/** A caller may wait for it at another server. The others are for people who watch a page. */
const isUrgent = ({ _tag }: Change): boolean => _tag === "RunEnded"

/**
 * Notifies every process of committed changes, together with those of the next moment. An end is notified at once,
 * unless there was a notification just before. Inside the statement that makes a change (`notify`), it is a sixth of
 * its work. A crash, or an unreachable database, loses notifications, which only shorten the wait for the next poll.
 */
export const makeNotifySoon: Effect.Effect<NotifySoon, never, Notifications | Scope.Scope | SqlClient.SqlClient> =
  Effect.gen(function* () {
    const { deliver, send } = yield* makePublish
    const fork = yield* FiberSet.makeRuntime<never>()
    let waiting: Array<Change> = []
    let timer: NodeJS.Timeout | undefined
    let [notifiedAt, dueAt] = [0, Number.POSITIVE_INFINITY]

    const flush = () => {
      const changes = waiting
      waiting = []
      clearTimeout(timer)
      ;[notifiedAt, dueAt] = [performance.now(), Number.POSITIVE_INFINITY]
      return deliver(changes)
    }
    // Finalizers are not interruptible, so the race would wait for its loser.
    yield* Effect.addFinalizer(() => {
      const sent = Effect.ignore(send(flush()))
      return Effect.raceFirst(Effect.interruptible(sent), Effect.interruptible(pause(grace)))
    })

    return (changes) => {
      if (changes.length === 0) return
      for (const change of changes) waiting.push(change)
      const now = performance.now()
      const at = changes.some(isUrgent) ? Math.max(now, notifiedAt + interval) : now + toBeShown
      if (at >= dueAt) return
      clearTimeout(timer)
      dueAt = at
      timer = setTimeout(() => {
        const left = flush()
        if (left.length > 0) fork(Effect.ignore(send(left)))
      }, at - now)
    }
  })
