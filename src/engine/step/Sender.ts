import { Clock, Context, DateTime, Duration, Effect, FiberSet, Layer, Schedule } from "effect"
import { Bus, type Prompt, type QueueGone } from "../../bus/Bus.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import { takeApart } from "../../domain/prompt/PromptLayout.ts"
import type { Outcome, Run } from "../../domain/run/Run.ts"
import { isIncoming } from "../../domain/run/RunFile.ts"
import { isUnreleased } from "../../domain/run/RunStatus.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { HttpLeaderStore, type OfferedRun } from "../../repo/run/HttpLeaderStore.ts"
import { LaneStore } from "../../repo/run/LaneStore.ts"
import type { OutRun } from "../../repo/run/RunStore.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import * as Checkpoints from "../Checkpoints.ts"
import { TeamLeaders } from "../leaders/TeamLeaders.ts"
import { Correlation } from "../outcome/Correlation.ts"
import { Outcomes } from "../outcome/Outcomes.ts"
import type { Settings } from "../Settings.ts"
import * as CostBudget from "./CostBudget.ts"
import { Steps } from "./Steps.ts"

/** For so long, nobody else sends an admitted run (`Ticks.ts`). After that, its row says whether it is still to be sent. */
const certainFor = 1_000
/** In milliseconds: for so long after the first attempt, no other one is made while replies wait at the broker. */
const answersWaitFor = 10_000
/** Between two attempts while the broker is out of reach. Short, because an attempt is cheap and callers may wait. */
const pause = Duration.millis(250)
/** The queue of a team that is gone is looked for once a second; it may come back. */
const queuePause = Duration.seconds(1)
/** A deleted run has no row that says when its leader is done: its leader is asked to stop once a second for this long. */
const stopDeleted = Schedule.upTo(Schedule.spaced("1 second"), { times: 30 })

/** Runs that are offered to leaders over HTTP in one statement. */
const mostTogether = 1_000

/**
 * Sends the prompts of the runs that are out, and tells leaders to stop. The bus has a run's prompt, or its team's leader over
 * HTTP may take it from the rows (`HttpLeaderStore`): never both.
 */
export class Sender extends Context.Service<
  Sender,
  {
    /**
     * In the background, until the broker has its prompt, it is offered to a leader over HTTP, or it is over. Nothing if that is
     * under way. `again`: a leader may have it.
     */
    readonly send: (run: OutRun, options?: { readonly again: boolean }) => void
    /** Again, to a leader that has no prompt (`Bus.offer`). */
    readonly offer: (run: OutRun) => Effect.Effect<void, Unavailable>
    /** As leaders get it. */
    readonly promptOf: (run: OutRun) => Prompt
    /** It is repeated, so a failure does no harm. */
    readonly stop: (run: { readonly team: TeamName; readonly run_id: RunId }) => Effect.Effect<void>
    /** The rows of these runs were deleted. */
    readonly deleted: (runs: ReadonlyArray<{ readonly team: TeamName; readonly run_id: RunId }>) => void
  }
>()("webhook-trigger/Sender") {
  static readonly layer: Layer.Layer<
    Sender,
    never,
    Bus | Correlation | HistoryStore | HttpLeaderStore | LaneStore | Outcomes | Settings | Steps | TeamLeaders
  > = Layer.effect(
    Sender,
    Effect.gen(function* () {
      const bus = yield* Bus
      const lanes = yield* LaneStore
      const leaders = yield* TeamLeaders
      const httpLeaders = yield* HttpLeaderStore
      const steps = yield* Steps
      const correlation = yield* Correlation
      const outcomes = yield* Outcomes
      const overBudget = yield* CostBudget.make
      const reach = yield* Checkpoints.Checkpoints
      const clock = yield* Clock.Clock
      const fork = yield* FiberSet.makeRuntime<never>()
      const sending = new Set<RunId>()

      const promptOf = (run: OutRun): Prompt => {
        const { agent, deadline_at, layout, mode, prompt, run_id, source, team, thread, traceparent, webhook } = run
        const files = run.files?.filter(isIncoming) ?? []
        return {
          run_id,
          correlation_id: correlation.idOf(run),
          source,
          ...(webhook && { webhook: { id: webhook.id, name: webhook.name } }),
          team,
          prompt,
          ...(layout && takeApart(prompt, layout)),
          ...(agent && { agent }),
          ...(files.length > 0 && { files }),
          ...(thread && { thread }),
          ...(deadline_at && mode === "wait" && { deadline: deadline_at }),
          ...(traceparent !== undefined && { traceparent })
        }
      }

      const offerTogether = yield* GroupCommit.make({
        size: mostTogether,
        commit: (runs: ReadonlyArray<OfferedRun>) =>
          Effect.map(httpLeaders.offerRuns(runs), (ids) => {
            const offered = new Set(ids)
            return runs.map(({ run_id }) => offered.has(run_id))
          })
      })
      /** Whether a leader over HTTP may take it. */
      const offerOverHttp = ({ run_id, team }: OutRun, redelivered: boolean) =>
        Effect.map(offerTogether([{ run_id, team, redelivered }]), ([isOffered]) => isOffered!)

      const give = (run: OutRun, isAgain: boolean): Effect.Effect<unknown, QueueGone | Unavailable> => {
        if (leaders.isOverHttp(run.team)) return offerOverHttp(run, isAgain)
        const publish = bus.publish(promptOf(run), { again: isAgain })
        if (!isAgain) return publish
        const withdrawn = Effect.flatMap(DateTime.now, (now) => httpLeaders.withdrawRun(run, now))
        return Effect.flatMap(withdrawn, (isWithdrawn) => (isWithdrawn ? publish : Effect.void))
      }

      const given = ({ run_id }: OutRun) =>
        Checkpoints.after(
          reach("published"),
          Effect.sync(() => {
            outcomes.progress(run_id, { sent_at: DateTime.makeUnsafe(clock.currentTimeMillisUnsafe()) })
          })
        )

      // A stop between the two would cause a second sending.
      const publish = (run: OutRun, isAgain: boolean) =>
        Effect.uninterruptible(Effect.flatMap(give(run, isAgain), () => given(run)))

      /** Nobody leads the team on the bus. If it has ever had a leader over HTTP, the next one may take the run. */
      const leaveOverHttp = (run: OutRun, isAgain: boolean) =>
        offerOverHttp(run, isAgain).pipe(
          Effect.orElseSucceed(() => false),
          Effect.tap((isOffered) => (isOffered ? given(run) : Effect.void)),
          Effect.uninterruptible
        )

      const end = (run: OutRun, outcome: Outcome) => Effect.asVoid(steps.end(run.run_id, outcome))

      /** Its caller no longer waits, so it is not sent. */
      const isLate = ({ deadline_at, mode }: OutRun) =>
        mode === "wait" &&
        deadline_at !== undefined &&
        DateTime.toEpochMillis(deadline_at) <= clock.currentTimeMillisUnsafe()

      /** Whether it is still to be sent. `mayHave`: the broker may have its prompt. */
      const isDue = Effect.fnUntraced(function* ({ run_id, sent_at }: OutRun, mayHave: boolean) {
        const [run] = yield* lanes.outRuns([run_id])
        if (run === undefined) return false
        // It has ended. Its leader is told to stop, and confirms it; but there is none if it was not sent.
        if (run.stop_at !== undefined && !mayHave) yield* steps.release([run_id])
        const isSentByOther = run.sent_at !== undefined && run.sent_at.epochMilliseconds !== sent_at?.epochMilliseconds
        return run.stop_at === undefined && !isSentByOther
      })

      /** Its answer may wait to be recorded. Others may, too, so this is not believed for long. */
      const mayBeAnswered = (begunAt: number) =>
        Effect.suspend(() =>
          stopwatch(clock) - begunAt >= answersWaitFor
            ? Effect.succeed(false)
            : Effect.map(bus.repliesWaiting, (waiting) => waiting > 0)
        )

      const sendUntilDone = (run: OutRun, isAgain: boolean): Effect.Effect<void> => {
        const begunAt = stopwatch(clock)
        let mayHave = isAgain
        let isFirst = !isAgain
        const attempt: Effect.Effect<"done" | "later", QueueGone | Unavailable> = Effect.suspend(() => {
          const isOwnRetry = mayHave && !isAgain
          const isCertain = isFirst && stopwatch(clock) - begunAt < certainFor
          isFirst = false
          const due = isCertain ? Effect.succeed(true) : isDue(run, mayHave)
          return Effect.flatMap(due, (isDue) => {
            if (!isDue) return Effect.succeed("done")
            // Its caller's wait ends it, or the next tick.
            if (isLate(run)) return Effect.succeed(mayHave ? "done" : "later")
            const sent = Effect.flatMap(overBudget(run), (outcome) => {
              if (outcome !== undefined) return end(run, outcome)
              return Effect.suspend(() => {
                const isAgain = mayHave
                mayHave = true
                return publish(run, isAgain)
              })
            })
            if (!isOwnRetry) return Effect.as(sent, "done")
            return Effect.flatMap(mayBeAnswered(begunAt), (mayBe) =>
              mayBe ? Effect.succeed("later") : Effect.as(sent, "done")
            )
          })
        })
        let isWarned = false
        const warnOnce = Effect.suspend(() => {
          if (isWarned) return Effect.void
          isWarned = true
          return Effect.logWarning("The team's queue is gone").pipe(Effect.annotateLogs({ team: run.team }))
        })
        const isMissingTooLong = () => stopwatch(clock) - begunAt >= run.timeout_ms
        const soon: Effect.Effect<void> = Effect.delay(
          Effect.suspend(() => again),
          pause
        )
        const untilDone = Effect.flatMap(attempt, (result) => (result === "done" ? Effect.void : soon))
        const again: Effect.Effect<void> = Effect.catchTags(untilDone, {
          Unavailable: () => soon,
          QueueGone: () => {
            mayHave = isAgain
            return Effect.flatMap(leaveOverHttp(run, isAgain), (isOffered) => {
              if (isOffered) return Effect.void
              return isMissingTooLong()
                ? Effect.catchTag(end(run, { status: "error", error: teamGone }), "Unavailable", () => Effect.void)
                : Effect.andThen(warnOnce, Effect.delay(again, queuePause))
            })
          }
        })
        return Checkpoints.after(reach("admitted"), again)
      }

      const send = (run: OutRun, { again } = { again: false }): void => {
        if (sending.has(run.run_id)) return
        sending.add(run.run_id)
        fork(
          Effect.ensuring(
            sendUntilDone(run, again),
            Effect.sync(() => sending.delete(run.run_id))
          )
        )
      }

      const stop = ({ run_id, team }: { readonly team: TeamName; readonly run_id: RunId }) =>
        Effect.ignore(bus.cancel(team, run_id))

      const isToStop = (run: Run): boolean =>
        isUnreleased(run) && DateTime.toEpochMillis(run.stop_at!) <= clock.currentTimeMillisUnsafe()

      steps.listen({
        admitted: (admitted) => admitted.forEach((run) => send(run)),
        ended: (ended) => {
          for (const run of ended) if (isToStop(run)) fork(stop(run))
        }
      })

      return Sender.of({
        send,
        offer: (run) => bus.offer(promptOf(run)),
        promptOf,
        stop,
        deleted: (deleted) => {
          for (const run of deleted) fork(Effect.asVoid(Effect.repeat(stop(run), stopDeleted)))
        }
      })
    })
  )
}

const teamGone = { code: "team_gone", message: "The team's queue is gone, and did not come back in time." } as const
