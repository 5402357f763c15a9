/** The rules of acknowledgement for every driver: the exit of a handler decides what happens to its message. */
import { Cause, Duration, Effect, Exit, Fiber } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import { untilAvailable } from "../runtime/Availability.ts"
import type { Delivery, Reply, ReplyHandler } from "./Bus.ts"

/** A prompt is done (`ack`), goes back to be delivered again first (`requeue`), or is refused for good (`reject`). */
export type Settlement = "ack" | "requeue" | "reject"

export type PromptHandler = (delivery: Delivery) => Effect.Effect<void, Unavailable>

/** An unacknowledged reply. */
export interface PendingReply {
  readonly reply: Reply
  readonly acknowledge: () => void
  /** How often the handler died when it got only this reply. */
  readonly deaths: number
}

/** The pause before a reply is handled again. */
const firstPause = Duration.millis(100)

/**
 * Runs the leader's handler on the prompt. A handler that dies would die again, so its prompt is rejected. To be run
 * uninterruptibly; only effects in `restore` may be interrupted.
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
    if (Cause.hasInterrupts(exit.cause)) return Effect.succeed<Settlement>("requeue")
    return Effect.as(Effect.logError(`${subject}: the leader's handler died`, exit.cause), "reject" as Settlement)
  })
}

/** How often a handler may die on one reply. After that it is our own fault, which no retry fixes. */
const maxDeaths = 8
const longestPauseAfterDeath = Duration.seconds(5)

/**
 * Passes the group to the server's handler and acknowledges each reply once that has succeeded; `fork` runs what it finishes
 * later. When the handler dies, each reply is tried alone: `postpone` takes those that fail, to be handled again after a pause.
 * A reply on which the handler has died 8 times is logged, dropped and acknowledged. After an interruption, unhandled replies
 * stay unacknowledged.
 */
export const handleReplies = (
  handle: ReplyHandler,
  group: ReadonlyArray<PendingReply>,
  postpone: (group: ReadonlyArray<PendingReply>, pause: Duration.Duration) => Effect.Effect<void>,
  fork: (work: Effect.Effect<void>) => Effect.Effect<unknown>
): Effect.Effect<void> =>
  Effect.uninterruptibleMask((restore) => {
    const replies = group.map(({ reply }) => reply)
    const finishes = new Map<Reply, Effect.Effect<void, Unavailable>>()
    const attempt = Effect.suspend(() => {
      finishes.clear()
      return handle(replies, (reply, finish) => finishes.set(reply, finish))
    })
    return Effect.flatMap(
      Effect.exit(restore(untilAvailable(attempt, { subject: `replies about ${runs(replies)}` }))),
      (exit) => {
        if (Exit.isSuccess(exit)) {
          return Effect.forEach(
            group,
            (one) => {
              const finish = finishes.get(one.reply)
              return finish === undefined
                ? acknowledge([one])
                : fork(handleReplies(() => finish, [one], postpone, fork))
            },
            { discard: true }
          )
        }
        // The consumer stops, and postponed replies with it; or the handler interrupted itself, and is run again.
        if (Cause.hasInterrupts(exit.cause)) return postpone(group, firstPause)
        const [pending, ...others] = group
        if (pending === undefined || others.length > 0) {
          return Effect.forEach(group, (one) => restore(handleReplies(handle, [one], postpone, fork)), {
            discard: true
          })
        }
        const deaths = pending.deaths + 1
        if (deaths < maxDeaths) return postpone([{ ...pending, deaths }], pauseAfter(deaths))
        return Effect.andThen(
          Effect.logError(`the reply about ${runs(replies)} is dropped because its handler keeps failing`, exit.cause),
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

/** Waits for the fiber's end, and interrupts the fiber once `limit` has succeeded. */
export const finishBefore = <A, E>(limit: Effect.Effect<unknown>, fiber: Fiber.Fiber<A, E>): Effect.Effect<void> =>
  Effect.raceFirst(Effect.asVoid(Fiber.await(fiber)), Effect.andThen(limit, Fiber.interrupt(fiber)))
