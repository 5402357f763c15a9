/** The rules of acknowledgement, the same for every driver: how a handler ends decides what becomes of its message. */
import { Cause, Duration, Effect, Exit, Fiber } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import { untilAvailable } from "../runtime/Availability.ts"
import type { Delivery, Reply } from "./Bus.ts"

/** What becomes of a prompt: it is done; it goes back, to be delivered again first; or it is refused for good. */
export type Settlement = "ack" | "requeue" | "reject"

export type PromptHandler = (delivery: Delivery) => Effect.Effect<void, Unavailable>

export type ReplyHandler = (replies: ReadonlyArray<Reply>) => Effect.Effect<void, Unavailable>

/** A reply whose handling is not finished. */
export interface PendingReply {
  readonly reply: Reply
  readonly acknowledge: () => void
  /** How often the handler has died on it alone. */
  readonly deaths: number
}

/** The pause before a reply is handled again. */
const firstPause = Duration.millis(100)

/**
 * Runs the leader's handler on the prompt. A handler that dies would die again, so its prompt is rejected. To be run
 * uninterruptibly; `restore` marks what may be interrupted.
 */
export const handlePrompt = (
  handle: PromptHandler,
  delivery: Delivery,
  restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
): Effect.Effect<Settlement> => {
  const subject = `prompt ${delivery.prompt.run_id}`
  const attempt = Effect.suspend(() => handle(delivery))
  return Effect.flatMap(Effect.exit(restore(untilAvailable(attempt, { subject }))), (exit) => {
    if (Exit.isSuccess(exit)) return Effect.succeed<Settlement>("ack")
    if (Cause.isInterrupted(exit.cause)) return Effect.succeed<Settlement>("requeue")
    return Effect.as(Effect.logError(`${subject}: the leader's handler died`, exit.cause), "reject" as Settlement)
  })
}

/** How often a handler may die on one reply: more than that is a fault of ours that time does not fix. */
const maxDeaths = 8
const longestPauseAfterDeath = Duration.seconds(5)

/**
 * Passes the group to the server's handler and acknowledges each reply once that has succeeded. When the handler dies,
 * each reply is tried alone, so that one it cannot handle fails alone: `postpone` is given that one, to be handled again
 * after a pause. A reply on which the handler has died 8 times is logged, dropped and acknowledged. When this is
 * interrupted, what is not handled stays unacknowledged.
 */
export const handleReplies = (
  handle: ReplyHandler,
  group: ReadonlyArray<PendingReply>,
  postpone: (group: ReadonlyArray<PendingReply>, pause: Duration.Duration) => Effect.Effect<void>
): Effect.Effect<void> =>
  Effect.uninterruptibleMask((restore) => {
    const replies = group.map(({ reply }) => reply)
    const attempt = Effect.suspend(() => handle(replies))
    return Effect.flatMap(
      Effect.exit(restore(untilAvailable(attempt, { subject: `replies about ${runs(replies)}` }))),
      (exit) => {
        if (Exit.isSuccess(exit)) return acknowledge(group)
        // The consumer stops, and with it what was postponed; or the handler has interrupted itself, and is run again.
        if (Cause.isInterrupted(exit.cause)) return postpone(group, firstPause)
        const [pending, ...others] = group
        if (pending === undefined || others.length > 0) {
          return Effect.forEach(group, (one) => restore(handleReplies(handle, [one], postpone)), { discard: true })
        }
        const deaths = pending.deaths + 1
        if (deaths < maxDeaths) return postpone([{ ...pending, deaths }], pauseAfter(deaths))
        return Effect.zipRight(
          Effect.logError(`the reply about ${runs(replies)} is dropped: its handler dies on it`, exit.cause),
          acknowledge(group)
        )
      }
    )
  })

const acknowledge = (group: ReadonlyArray<PendingReply>): Effect.Effect<void> =>
  Effect.sync(() => {
    for (const pending of group) pending.acknowledge()
  })

const runs = (replies: ReadonlyArray<Reply>): string =>
  replies.length === 1 ? `run ${replies[0]?.run_id}` : `${replies.length} runs`

const pauseAfter = (deaths: number): Duration.Duration =>
  Duration.min(Duration.times(firstPause, 2 ** (deaths - 1)), longestPauseAfterDeath)

/**
 * Waits until the fiber has ended, and interrupts it once `limit` has succeeded. For a finalizer, where an effect's own
 * timeout does not end the wait.
 */
export const finishBefore = <A, E>(
  limit: Effect.Effect<unknown>,
  fiber: Fiber.RuntimeFiber<A, E>
): Effect.Effect<void> =>
  Effect.flatMap(
    Effect.forkDaemon(Effect.interruptible(Effect.zipRight(limit, Fiber.interrupt(fiber)))),
    (interruption) => Effect.zipRight(Fiber.await(fiber), Fiber.interrupt(interruption))
  )
