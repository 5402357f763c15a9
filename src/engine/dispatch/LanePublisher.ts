import { DateTime, Duration, Effect, Option, Schedule } from "effect"
import { Bus, type Prompt, type QueueGone } from "../../bus/Bus.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import { takeApart } from "../../domain/prompt/PromptLayout.ts"
import type { Outcome } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { LaneRun } from "../../repo/LaneStore.ts"
import type { LeaseLost } from "../../repo/LeaseStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import * as Checkpoints from "../Checkpoints.ts"
import { Correlation } from "../outcome/Correlation.ts"
import { Outcomes } from "../outcome/Outcomes.ts"
import type { Lease } from "./Lease.ts"

/** How often it is looked whether the answer to a late run has come meanwhile. */
const answerCheckInterval = Duration.millis(100)
/**
 * The pause between two attempts while the broker is out of reach. It is short, since an attempt costs nothing then and
 * callers may be waiting.
 */
const longestPause = Duration.millis(250)
/** How often a team's missing queue is looked for. */
const queueCheckInterval = Duration.seconds(1)

/**
 * Sends runs of one lane in their order, for as long as it takes.
 *
 * - `done`: the broker has them for good; or they need not be sent any more, because they have ended.
 * - `queueReplaced`: the team's queue was missing and is back. What was in it went with it.
 *
 * `isBehind`: older runs of the lane are with the broker, and must not be passed.
 */
export type Publish = (
  runs: ReadonlyArray<LaneRun>,
  isBehind: boolean,
  isInFlight: (run: LaneRun) => boolean
) => Effect.Effect<"done" | "queueReplaced", LeaseLost>

/** Sends a run again if its team's leader has nothing to do (`Bus.offer`). */
export type Offer = (run: LaneRun) => Effect.Effect<void, LeaseLost | Unavailable>

/** `mayExpire`: false while answers that came in time may still have to be recorded. */
export const make = Effect.fnUntraced(function* (
  lease: Lease,
  mayExpire: () => boolean
): Effect.fn.Return<{ readonly publish: Publish; readonly offer: Offer }, never, Bus | Correlation | Outcomes> {
  const bus = yield* Bus
  const correlation = yield* Correlation
  const outcomes = yield* Outcomes
  const reach = yield* Checkpoints.Checkpoints
  const clock = yield* Effect.clock
  /** The stopwatch time since which a team's queue has been missing. */
  const missingSince = new Map<TeamName, number>()

  const now = () => clock.unsafeCurrentTimeMillis()
  const end = (run: LaneRun, outcome: Outcome) => Effect.asVoid(untilAvailable(outcomes.end(run.run_id, outcome)))

  /** A fire-and-forget run's deadline moves in its row; only the rows know whether it has passed. */
  const isLate = ({ mode, deadline_at }: LaneRun): boolean =>
    mode === "wait" && deadline_at !== undefined && DateTime.toEpochMillis(deadline_at) <= now()

  const send = (runs: ReadonlyArray<LaneRun>, isBehind: boolean) => {
    // A stop between the two would leave the run sent and not known to be: it would be sent twice.
    const publish = Effect.uninterruptible(
      Effect.flatMap(
        bus.publish(
          runs.map((run) => promptOf(run, correlation.idOf(run))),
          { sameQueue: isBehind }
        ),
        () =>
          Checkpoints.after(
            reach("published"),
            Effect.sync(() => {
              const sent_at = DateTime.unsafeMake(now())
              for (const { run_id, team } of runs) {
                outcomes.progress(run_id, { sent_at })
                missingSince.delete(team)
              }
            })
          )
      )
    )
    return Checkpoints.after(reach("admitted"), Effect.zipRight(lease.check, publish))
  }

  /** Waits for a missing queue, for as long as the first run's timeout after it was first missed; then that run has ended. */
  const awaitQueue = Effect.fnUntraced(function* (run: LaneRun) {
    const { team } = run
    const since = missingSince.get(team) ?? stopwatch(clock)
    if (!missingSince.has(team)) {
      missingSince.set(team, since)
      yield* Effect.logWarning("The team's queue is gone").pipe(Effect.annotateLogs({ team }))
    }
    const back = yield* untilAvailable(bus.queue(team)).pipe(
      Effect.repeat({ schedule: Schedule.spaced(queueCheckInterval), until: ({ exists }) => exists }),
      Effect.timeoutOption(Math.max(0, since + run.timeout_ms - stopwatch(clock)))
    )
    if (Option.isNone(back)) yield* end(run, { status: "error", error: teamGone })
    return Option.isSome(back)
  })

  const publish: Publish = (runs, isBehind, isInFlight) => {
    let due: ReadonlyArray<LaneRun> = []
    const attempt: Effect.Effect<void, LeaseLost | QueueGone | Unavailable> = Effect.suspend(() => {
      const inFlight = runs.filter(isInFlight)
      const late = inFlight.filter(isLate)
      // Sent before, perhaps: in the term before this one.
      if (late.length > 0 && !mayExpire()) return Effect.delay(attempt, answerCheckInterval)
      due = inFlight.filter((run) => !late.includes(run))
      const sent = due.length === 0 ? Effect.void : send(due, isBehind)
      const expire = Effect.forEach(late, (run) => end(run, { status: "timeout" }), { discard: true })
      return late.length === 0 ? sent : Effect.zipRight(expire, sent)
    })
    return untilAvailable(attempt, { longest: longestPause }).pipe(
      Effect.as("done" as const),
      Effect.catchTag("QueueGone", () => {
        const [first, ...others] = due
        return Effect.flatMap(awaitQueue(first!), (isBack) =>
          isBack ? Effect.succeed("queueReplaced" as const) : publish(others, isBehind, isInFlight)
        )
      })
    )
  }
  const offer: Offer = (run) => Effect.zipRight(lease.check, bus.offer(promptOf(run, correlation.idOf(run))))
  return { publish, offer }
})

const teamGone = { code: "team_gone", message: "The team's queue is gone, and did not come back in time." } as const

const promptOf = (
  { run_id, source, webhook, team, prompt, layout, mode, deadline_at, traceparent }: LaneRun,
  correlation_id: string
): Prompt => ({
  run_id,
  correlation_id,
  source,
  ...(webhook && { webhook: { id: webhook.id, name: webhook.name } }),
  team,
  prompt,
  ...(layout && takeApart(prompt, layout)),
  ...(deadline_at && mode === "wait" && { deadline: deadline_at }),
  ...(traceparent !== undefined && { traceparent })
})
