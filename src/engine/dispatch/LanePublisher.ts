import { DateTime, Duration, Effect, Option, Schedule } from "effect"
import { Bus, type Prompt, type QueueGone } from "../../bus/Bus.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import { takeApart } from "../../domain/prompt/PromptLayout.ts"
import type { Outcome } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { type LaneRun, LaneStore, type LaneThread } from "../../repo/run/LaneStore.ts"
import type { LeaseLost } from "../../repo/run/LeaseStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import * as Checkpoints from "../Checkpoints.ts"
import { Correlation } from "../outcome/Correlation.ts"
import { Outcomes } from "../outcome/Outcomes.ts"
import { Settings } from "../Settings.ts"
import * as CostBudget from "./CostBudget.ts"
import type { Lease } from "./Lease.ts"

/** How often a late run is checked for an answer. */
const answerCheckInterval = Duration.millis(100)
/**
 * Maximum pause between attempts while the broker is unreachable. Short, because an attempt is cheap and callers may
 * wait.
 */
const longestPause = Duration.millis(250)
/** How often a missing queue is checked. */
const queueCheckInterval = Duration.seconds(1)

/**
 * Sends runs of one lane in order, with retries.
 *
 * - `done`: the broker certainly has them, or they have ended: expired, or over the budget of their webhook.
 * - `queueReplaced`: the team's queue was missing and is back, without its prompts.
 *
 * `isBehind`: the broker has older runs of the lane, which these must not overtake.
 */
export type Publish = (
  runs: ReadonlyArray<LaneRun>,
  isBehind: boolean,
  isInFlight: (run: LaneRun) => boolean
) => Effect.Effect<"done" | "queueReplaced", LeaseLost>

/** Sends a run again, to a leader that has none (`Bus.offer`). */
export type Offer = (run: LaneRun) => Effect.Effect<void, LeaseLost | Unavailable>

/** `mayExpire`: false while answers that arrived in time may not be recorded yet. */
export const make = Effect.fnUntraced(function* (
  lease: Lease,
  mayExpire: () => boolean
): Effect.fn.Return<
  { readonly publish: Publish; readonly offer: Offer },
  never,
  Bus | Correlation | HistoryStore | LaneStore | Outcomes | Settings
> {
  const bus = yield* Bus
  const store = yield* LaneStore
  const correlation = yield* Correlation
  const outcomes = yield* Outcomes
  const overBudget = yield* CostBudget.make
  const reach = yield* Checkpoints.Checkpoints
  const clock = yield* Effect.clock
  /** The stopwatch time since which a team's queue has been missing. */
  const missingSince = new Map<TeamName, number>()

  const now = () => clock.unsafeCurrentTimeMillis()
  const end = (run: LaneRun, outcome: Outcome) => Effect.asVoid(untilAvailable(outcomes.end(run.run_id, outcome)))

  /** Only for runs with a waiting caller: the deadline of an asynchronous run changes in its row. */
  const isLate = ({ mode, deadline_at }: LaneRun): boolean =>
    mode === "wait" && deadline_at !== undefined && DateTime.toEpochMillis(deadline_at) <= now()

  /** Calls `use` with the prompts. A thread's session is read now, when the runs before have ended. */
  const withPrompts = <E>(
    runs: ReadonlyArray<LaneRun>,
    use: (prompts: ReadonlyArray<Prompt>) => Effect.Effect<void, E>
  ): Effect.Effect<void, E | Unavailable> => {
    const prompts = (threads?: ReadonlyMap<RunId, LaneThread>) =>
      runs.map((run) => promptOf(run, correlation.idOf(run), threads?.get(run.run_id)))
    const inThreads = runs.filter(({ thread_key }) => thread_key !== undefined)
    if (inThreads.length === 0) return use(prompts())
    return Effect.flatMap(store.threadsOf(inThreads.map(({ run_id }) => run_id)), (threads) => use(prompts(threads)))
  }

  const send = (runs: ReadonlyArray<LaneRun>, isBehind: boolean) =>
    Checkpoints.after(
      reach("admitted"),
      withPrompts(runs, (prompts) => Effect.zipRight(lease.check, published(prompts, runs, isBehind)))
    )

  const published = (prompts: ReadonlyArray<Prompt>, runs: ReadonlyArray<LaneRun>, isBehind: boolean) =>
    // A stop between the two would cause a second sending.
    Effect.uninterruptible(
      Effect.flatMap(bus.publish(prompts, { sameQueue: isBehind }), () =>
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

  /** Waits for a missing queue. The run ends once the queue was missing for the first run's timeout. */
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
      // It may have been sent in an earlier term, and answered.
      if (late.length > 0 && !mayExpire()) return Effect.delay(attempt, answerCheckInterval)
      const sendOthers = (ends: ReadonlyMap<LaneRun, Outcome>) => {
        due = inFlight.filter((run) => !ends.has(run))
        const sent = due.length === 0 ? Effect.void : send(due, isBehind)
        const ended = Effect.forEach(ends, ([run, outcome]) => end(run, outcome), { discard: true })
        return ends.size === 0 ? sent : Effect.zipRight(ended, sent)
      }
      const expired = new Map(late.map((run): [LaneRun, Outcome] => [run, { status: "timeout", undelivered: true }]))
      const limited = inFlight.filter((run) => run.webhook?.max_cost_per_day !== undefined && !expired.has(run))
      return limited.length === 0
        ? sendOthers(expired)
        : Effect.flatMap(overBudget(limited), (refused) => sendOthers(new Map([...expired, ...refused])))
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
  const offer: Offer = (run) => withPrompts([run], ([prompt]) => Effect.zipRight(lease.check, bus.offer(prompt!)))
  return { publish, offer }
})

const teamGone = { code: "team_gone", message: "The team's queue is gone, and did not come back in time." } as const

const promptOf = (
  { run_id, source, webhook, team, prompt, layout, mode, deadline_at, traceparent }: LaneRun,
  correlation_id: string,
  thread: LaneThread | undefined
): Prompt => ({
  run_id,
  correlation_id,
  source,
  ...(webhook && { webhook: { id: webhook.id, name: webhook.name } }),
  team,
  prompt,
  ...(layout && takeApart(prompt, layout)),
  ...(thread && { thread }),
  ...(deadline_at && mode === "wait" && { deadline: deadline_at }),
  ...(traceparent !== undefined && { traceparent })
})
