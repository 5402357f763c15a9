import { Context, type DateTime, Effect, type Fiber, Layer, Metric, Result } from "effect"
import {
  IdempotencyKeyReused,
  type NotFound,
  TeamNotRunning,
  Unavailable,
  type WebhookPaused
} from "../../domain/Errors.ts"
import { type Run, waitsForLeader } from "../../domain/run/Run.ts"
import type { AcceptedOrEnded } from "../../domain/run/Submitted.ts"
import type { TeamName } from "../../domain/Team.ts"
import { TeamStore } from "../../repo/manage/TeamStore.ts"
import type { AcceptanceRefused, Acceptance as Accepted, NewRun } from "../../repo/run/RunStore.ts"
import * as Metrics from "../../telemetry/Metrics.ts"
import { whenTraced } from "../../telemetry/Span.ts"
import * as TraceContext from "../../telemetry/TraceContext.ts"
import * as Checkpoints from "../Checkpoints.ts"
import { TeamLeaders } from "../leaders/TeamLeaders.ts"
import { Shutdown } from "../Shutdown.ts"
import { Steps } from "../step/Steps.ts"
import type { Candidate, RunRequest } from "./Candidates.ts"
import { Waiting } from "./Waiting.ts"

/** An earlier run that a trigger repeats or joins. */
interface ExistingRun {
  readonly run: Pick<Run, "run_id">
  /** Until when its caller waits. */
  readonly deadline_at?: DateTime.Utc
}

/** Why a run was not accepted. */
export type HandOverRefused = AcceptanceRefused | TeamNotRunning | WebhookPaused

/** The row is the hand-over: any server sends an accepted run, even if this process ends. */
export class HandOver extends Context.Service<
  HandOver,
  {
    /**
     * Accepts a run if its team has a leader, or if it waits for one. If its caller waits, and does not follow it, waits for
     * its end as well. Interruption leaves the run alone.
     */
    readonly submit: (
      candidate: Candidate,
      options?: Pick<RunRequest, "follows" | "onAccepted">
    ) => Effect.Effect<AcceptedOrEnded, HandOverRefused | NotFound | Unavailable>
    /** Accepts several runs, in this order. The answers have the same order. */
    readonly acceptAll: (
      candidates: ReadonlyArray<Candidate>
    ) => Effect.Effect<ReadonlyArray<Result.Result<Accepted, HandOverRefused>>, Unavailable>
  }
>()("webhook-trigger/HandOver") {
  static readonly layer: Layer.Layer<HandOver, never, Shutdown | Steps | TeamLeaders | TeamStore | Waiting> =
    Layer.effect(
      HandOver,
      Effect.gen(function* () {
        const leaders = yield* TeamLeaders
        const teams = yield* TeamStore
        const shutdown = yield* Shutdown
        const reach = yield* Checkpoints.Checkpoints
        const steps = yield* Steps
        const waiting = yield* Waiting
        const commitOne = ({ isShared = false, run }: Candidate, isLed: boolean) =>
          Effect.flatMap(steps.accept([{ run, isLed }], { apart: isShared }), ([answer]) => Effect.fromResult(answer!))

        const unlessStopping = <A, E>(begin: () => Effect.Effect<A, E>): Effect.Effect<A, E | Unavailable> =>
          shutdown.hasBegun() ? Effect.fail(stopping) : begin()

        /** A repeat gets its first answer even after its team has stopped, its webhook was paused, or another reply was sent. A new run is refused. */
        const repeatOnly = (
          { coalesce: _, singleton: __, ...run }: NewRun,
          error: HandOverRefused = new TeamNotRunning({ team: run.team })
        ): Effect.Effect<Accepted, HandOverRefused | Unavailable> => {
          return run.idempotency === undefined
            ? Effect.fail(error)
            : Effect.flatMap(steps.repeatOnly(run), Effect.fromResult).pipe(
                Effect.catchTag(["BudgetExceeded", "RateLimited", "TooManyQueued"], () => Effect.fail(error))
              )
        }

        const commitOf = (candidate: Candidate, isLed: boolean) => {
          const { run } = candidate
          const take = () => Checkpoints.after(reach("accept"), commitOne(candidate, isLed))
          if (isLed || waitsForLeader(run)) return unlessStopping(take)
          return Effect.flatMap(isPaused(run.team), (paused) => unlessStopping(paused ? take : () => repeatOnly(run)))
        }

        /** Runs of a paused or resting team wait, even without a leader. */
        const isPaused = (team: TeamName) =>
          Effect.map(teams.team(team), ({ paused_at, resting_until }) => (paused_at ?? resting_until) !== undefined)

        /** A run that waits for a leader is accepted even if the broker is out of reach. */
        const isLedFor = (run: NewRun): Effect.Effect<boolean, Unavailable> => {
          const isLed = leaders.isLed(run.team)
          return waitsForLeader(run) ? Effect.catchTag(isLed, "Unavailable", () => Effect.succeed(false)) : isLed
        }

        /** Returns the earlier run that it repeats or joins. */
        const accept = (candidate: Candidate) => {
          if (candidate.refusedIfNew !== undefined) {
            return Effect.flatMap(repeatOnly(candidate.run, candidate.refusedIfNew), (answer) =>
              earlierOf(candidate.run, answer)
            )
          }
          return Effect.flatMap(isLedFor(candidate.run), (isLed) =>
            Effect.withFiber<ExistingRun | undefined, HandOverRefused | Unavailable>((fiber) =>
              Effect.flatMap(commitOf(inTraceOf(fiber, candidate), isLed), (acceptance) =>
                Checkpoints.after(reach("accepted"), earlierOf(candidate.run, acceptance))
              )
            )
          ).pipe(whenTraced("Trigger.accept"))
        }

        const submit: HandOver["Service"]["submit"] = (
          candidate,
          { follows = false, onAccepted = Effect.void } = {}
        ) => {
          const { deadline_at: deadline, mode, run_id } = candidate.run
          if (follows || mode === "async" || deadline === undefined) {
            return Effect.map(accept(candidate), (earlier) => ({
              _tag: "Accepted",
              run_id: earlier?.run.run_id ?? run_id
            }))
          }
          return waiting
            .watch(run_id, { isNew: true }, (end) =>
              Effect.flatMap(Effect.tap(accept(candidate), onAccepted), (earlier) =>
                earlier === undefined
                  ? end.before(deadline)
                  : waiting.endOf(earlier.run.run_id, earlier.deadline_at ?? deadline)
              )
            )
            .pipe(Effect.map((run): AcceptedOrEnded => ({ _tag: "Ended", run })))
        }

        const acceptAll = Effect.fn("HandOver.acceptAll")(function* (candidates: ReadonlyArray<Candidate>) {
          const isLed = new Map<TeamName, boolean>()
          for (const { run } of candidates) {
            if (!isLed.has(run.team)) isLed.set(run.team, yield* isLedFor(run))
          }
          const paused = new Set<TeamName>()
          for (const [team, isTeamLed] of isLed) {
            if (isTeamLed) continue
            const isTeamPaused = Effect.catchTag(isPaused(team), "NotFound", () => Effect.succeed(false))
            if (yield* isTeamPaused) paused.add(team)
          }
          const isStopped = ({ run }: Candidate) => isLed.get(run.team) === false
          const mayBeSent = candidates.filter(
            (candidate) => !isStopped(candidate) || waitsForLeader(candidate.run) || paused.has(candidate.run.team)
          )
          const committed = yield* unlessStopping(() =>
            steps.accept(mayBeSent.map((candidate) => ({ run: candidate.run, isLed: !isStopped(candidate) })))
          )
          const answerOf = new Map(mayBeSent.map((candidate, index) => [candidate, committed[index]!]))
          return yield* Effect.forEach(candidates, (candidate) => {
            const answer = answerOf.get(candidate)
            const given = answer === undefined ? settled(repeatOnly(candidate.run)) : Effect.succeed(answer)
            return Effect.map(given, (result) => Result.filterOrFail(result, isSameRequest(candidate.run), keyReused))
          })
        })

        return HandOver.of({ submit, acceptAll })
      })
    )
}

/** A refusal is an answer; `Unavailable` is not. */
const settled = <A, E>(answer: Effect.Effect<A, E | Unavailable>): Effect.Effect<Result.Result<A, E>, Unavailable> =>
  Effect.flatMap(Effect.result(answer), (result) =>
    Result.isFailure(result) && result.failure instanceof Unavailable
      ? Effect.fail(result.failure)
      : Effect.succeed(result as Result.Result<A, E>)
  )

const keyReused = () => new IdempotencyKeyReused()

/** A waited request and an asynchronous one are different requests. */
const isSameRequest = (run: NewRun) => (acceptance: Accepted) =>
  acceptance._tag !== "Repeated" || acceptance.run.mode === run.mode

/** `undefined` for a new run. */
const earlierOf = (run: NewRun, acceptance: Accepted): Effect.Effect<ExistingRun | undefined, IdempotencyKeyReused> => {
  switch (acceptance._tag) {
    case "Accepted":
      return Effect.succeed(undefined)
    case "Coalesced":
      return Effect.sync(() => {
        if (!acceptance.repeated) Metrics.record(coalesced, 1, { team: run.team })
        return { run: acceptance }
      })
    case "Repeated":
      return isSameRequest(run)(acceptance) ? Effect.succeed(acceptance) : keyReused()
  }
}

const coalesced = Metric.counter("webhook_triggers_coalesced_total", {
  description: "Triggers that became the run of an earlier one, by their webhook's `coalesce`.",
  incremental: true
})

/** The run's prompt belongs to the span in which it is accepted; without a tracer, to the caller's. */
const inTraceOf = (fiber: Fiber.Fiber<any, any>, candidate: Candidate): Candidate => {
  const traceparent = TraceContext.ofFiber(fiber)
  return traceparent === undefined ? candidate : { ...candidate, run: { ...candidate.run, traceparent } }
}

const stopping = new Unavailable({ what: "server", detail: "The server is stopping; try again in a moment." })
