/** What every bus does with a prompt or a report once it is here: the rules of acknowledgement, in one place. */
import { Cause, type Duration, Effect, Exit, Fiber, Schedule } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import { detached } from "../engine/Detached.ts"
import { retry } from "../engine/Retry.ts"
import type { Delivery, Report } from "./Bus.ts"

const backoff = Schedule.exponential("100 millis").pipe(Schedule.union(Schedule.spaced("5 seconds")), Schedule.jittered)

/** Acknowledge it; give it back, to be delivered again first; or refuse it for good. */
export type Verdict = "done" | "cut short" | "rejected"

/**
 * Lets the leader's handler work on the prompt, again and again while the broker is out of reach. A handler that dies
 * would die again, so its prompt is rejected. To be run uninterruptibly; `restore` marks what may be interrupted.
 */
export const work = (
  handle: (delivery: Delivery) => Effect.Effect<void, Unavailable>,
  delivery: Delivery,
  restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
): Effect.Effect<Verdict> =>
  Effect.suspend(() => handle(delivery)).pipe(
    Effect.tapError((error) => Effect.logWarning(`prompt ${delivery.prompt.run_id}: ${error.detail}; trying again`)),
    retry(backoff),
    restore,
    Effect.exit,
    Effect.flatMap((exit) => {
      if (Exit.isSuccess(exit)) return Effect.succeed<Verdict>("done")
      if (Cause.isInterrupted(exit.cause)) return Effect.succeed<Verdict>("cut short")
      return Effect.as(
        Effect.logError(`prompt ${delivery.prompt.run_id}: the leader's handler died`, exit.cause),
        "rejected" as Verdict
      )
    })
  )

/** How often a handler may die on one report: more than that is a fault of ours that time does not mend. */
const deaths = 8
const untilDropped = Schedule.intersect(backoff, Schedule.recurs(deaths)).pipe(
  Schedule.whileInput((cause: Cause.Cause<unknown>) => !Cause.isInterrupted(cause))
)

/**
 * Hands the report to `handle` until that succeeds. True: acknowledge it. False: it was interrupted, and belongs to
 * whoever comes next.
 */
export const deliver = (
  handle: (report: Report) => Effect.Effect<void, Unavailable>,
  report: Report
): Effect.Effect<boolean> => {
  let tries = 0
  return Effect.suspend(() => handle(report)).pipe(
    Effect.tapError(({ detail }) =>
      Effect.when(Effect.logWarning(`report about run ${report.run_id} waits: ${detail}`), () => ++tries === 1)
    ),
    retry(backoff),
    Effect.sandbox,
    retry(untilDropped),
    Effect.exit,
    Effect.flatMap((exit) => {
      if (Exit.isSuccess(exit)) return Effect.succeed(true)
      const cause = Cause.flatten(exit.cause)
      if (Cause.isInterrupted(cause)) return Effect.succeed(false)
      return Effect.as(
        Effect.logError(`report about run ${report.run_id} is dropped: its handler dies on it`, cause),
        true
      )
    })
  )
}

/** Gives the fiber `grace` to end by itself, then interrupts it; to be used in finalizers. */
export const finishWithin = <A, E>(
  fiber: Fiber.RuntimeFiber<A, E>,
  grace: Duration.DurationInput
): Effect.Effect<void> =>
  Effect.zipRight(detached(Effect.raceFirst(Fiber.await(fiber), Effect.sleep(grace))), Fiber.interrupt(fiber))
