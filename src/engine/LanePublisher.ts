import { DateTime, Duration, Effect, Option, Schedule } from "effect"
import { Bus, type Prompt } from "../bus/Bus.ts"
import type { Outcome } from "../domain/Run.ts"
import type { TeamName } from "../domain/Team.ts"
import type { LaneRun } from "../repo/LaneStore.ts"
import type { LeaseLost } from "../repo/LeaseStore.ts"
import { untilAvailable } from "./Availability.ts"
import * as Checkpoints from "./Checkpoints.ts"
import type { Lease } from "./Lease.ts"
import { Outcomes } from "./Outcomes.ts"

/** How often a team's missing queue is looked for. */
const queueCheckInterval = Duration.seconds(1)

/**
 * Sends one run of a lane, for as long as it takes.
 *
 * - `done`: the broker has it for good; or it need not be sent any more, because it has ended.
 * - `queueReplaced`: the team's queue was missing and is back. What was in it went with it.
 *
 * `isBehind`: older runs of the lane are with the broker, and must not be passed.
 */
export type Publish = (
  run: LaneRun,
  isBehind: boolean,
  isInFlight: () => boolean
) => Effect.Effect<"done" | "queueReplaced", LeaseLost>

export const make = Effect.fnUntraced(function* (lease: Lease): Effect.fn.Return<Publish, never, Bus | Outcomes> {
  const bus = yield* Bus
  const outcomes = yield* Outcomes
  const reach = yield* Checkpoints.Checkpoints
  const clock = yield* Effect.clock
  /** Since when a team's queue is missing, in milliseconds since the epoch. */
  const missingSince = new Map<TeamName, number>()

  const now = () => clock.unsafeCurrentTimeMillis()
  const end = (run: LaneRun, outcome: Outcome) => Effect.asVoid(untilAvailable(outcomes.end(run.run_id, outcome)))

  /** A fire-and-forget run's deadline moves in its row; only the rows know whether it has passed. */
  const isLate = ({ mode, deadline_at }: LaneRun): boolean =>
    mode === "wait" && deadline_at !== undefined && DateTime.toEpochMillis(deadline_at) <= now()

  const send = (run: LaneRun, isBehind: boolean) => {
    // A stop between the two would leave the run sent and not known to be: it would be sent twice.
    const publish = Effect.uninterruptible(
      Effect.flatMap(bus.publish(promptOf(run), { sameQueue: isBehind }), () =>
        Checkpoints.after(
          reach("published"),
          Effect.sync(() => {
            outcomes.progress(run.run_id, { sent_at: DateTime.unsafeMake(now()) })
            missingSince.delete(run.team)
          })
        )
      )
    )
    return Checkpoints.after(reach("admitted"), Effect.zipRight(lease.check, publish))
  }

  /** Waits for a missing queue, for as long as the run's timeout after it was first missed. */
  const awaitQueue = Effect.fnUntraced(function* (run: LaneRun) {
    const { team } = run
    const since = missingSince.get(team) ?? now()
    if (!missingSince.has(team)) {
      missingSince.set(team, since)
      yield* Effect.logWarning("The team's queue is gone").pipe(Effect.annotateLogs({ team }))
    }
    const back = yield* untilAvailable(bus.queue(team)).pipe(
      Effect.repeat({ schedule: Schedule.spaced(queueCheckInterval), until: ({ exists }) => exists }),
      Effect.timeoutOption(Math.max(0, since + run.timeout_ms - now()))
    )
    if (Option.isSome(back)) return "queueReplaced"
    yield* end(run, { status: "error", error: teamGone })
    return "done"
  })

  return (run, isBehind, isInFlight) =>
    Effect.suspend(() => {
      if (!isInFlight()) return Effect.void
      return isLate(run) ? end(run, { status: "timeout" }) : send(run, isBehind)
    }).pipe(
      untilAvailable,
      Effect.as("done" as const),
      Effect.catchTag("QueueGone", () => awaitQueue(run))
    )
})

const teamGone = { code: "team_gone", message: "The team's queue is gone, and did not come back in time." } as const

const promptOf = ({ run_id, source, webhook, team, prompt, mode, deadline_at }: LaneRun): Prompt => ({
  run_id,
  source,
  ...(webhook && { webhook: { id: webhook.id, name: webhook.name } }),
  team,
  prompt,
  ...(deadline_at && mode === "wait" && { deadline: deadline_at })
})
