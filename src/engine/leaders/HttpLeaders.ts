import { Context, DateTime, Duration, Effect, Layer, Option } from "effect"
import { storableReply } from "../../bus/Bodies.ts"
import type { LeaderBus, LeaderReply } from "../../bus/Bus.ts"
import { NotFound, PromptLost, type TooManyStreams, type Unauthorized, type Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { NumberedProgress } from "../../domain/run/Progress.ts"
import { isUnreleased } from "../../domain/run/RunStatus.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { type HttpLeader, HttpLeaderStore, type KeyedLeader, type TakenPrompt } from "../../repo/run/HttpLeaderStore.ts"
import { RunStore } from "../../repo/run/RunStore.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import { Correlation } from "../outcome/Correlation.ts"
import { Outcomes } from "../outcome/Outcomes.ts"
import { ReplyRecorder } from "../outcome/ReplyRecorder.ts"
import { ProgressReports } from "../progress/ProgressReports.ts"
import { Shutdown } from "../Shutdown.ts"
import { Steps } from "../step/Steps.ts"
import * as AskingLeaders from "./AskingLeaders.ts"
import * as Bridges from "./Bridges.ts"
import * as Calm from "./Calm.ts"
import * as PromptWatch from "./PromptWatch.ts"

/** How long a leader at work waits for a cancellation until it shows its presence again. */
export const heartbeat = Duration.seconds(2)
const mostTogether = 1_000

/** What a leader over HTTP says about a prompt. */
export type HttpReply =
  | LeaderReply
  | { readonly _tag: "Progress"; readonly progress: NumberedProgress }
  /** It can never work on it. */
  | { readonly _tag: "Rejected" }

/**
 * Leaders that use HTTP, at any server: each request may reach another one. The rules are those of the bus, on which this
 * leads their teams.
 */
export class HttpLeaders extends Context.Tag("webhook-trigger/HttpLeaders")<
  HttpLeaders,
  {
    /** The leader's next prompt, or the one that it has; none after that time. */
    readonly next: (
      asking: KeyedLeader,
      wait: Duration.Duration
    ) => Effect.Effect<Option.Option<TakenPrompt>, TooManyStreams | Unauthorized | Unavailable>
    /** Shows that the leader works on the prompt. Returns after `heartbeat`, or once that is cancelled or lost. */
    readonly work: (
      leader: HttpLeader & { readonly run_id: RunId }
    ) => Effect.Effect<{ readonly cancelled: boolean }, PromptLost | Unavailable>
    /**
     * Takes a reply to the prompt with this correlation ID. On success an answer is committed; it may be repeated. Fails with
     * `NotFound` if the team never got such a prompt.
     */
    readonly reply: (
      team: TeamName,
      correlation_id: string,
      reply: HttpReply
    ) => Effect.Effect<void, NotFound | Unavailable>
    /** The leader stops. Its prompt goes to another one at once. */
    readonly leave: (leader: HttpLeader) => Effect.Effect<void, Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<
    HttpLeaders,
    never,
    | ChangeFeed
    | Correlation
    | HttpLeaderStore
    | LeaderBus
    | Outcomes
    | ProgressReports
    | ReplyRecorder
    | RunStore
    | Shutdown
    | Steps
  > = Layer.scoped(
    HttpLeaders,
    Effect.gen(function* () {
      const store = yield* HttpLeaderStore
      const runs = yield* RunStore
      const correlation = yield* Correlation
      const outcomes = yield* Outcomes
      const steps = yield* Steps
      const recorder = yield* ReplyRecorder
      const reports = yield* ProgressReports
      const shutdown = yield* Shutdown
      const calm = Calm.make(yield* Effect.clock)
      const { watch } = yield* PromptWatch.make
      const { ask } = yield* AskingLeaders.make(calm)
      yield* Bridges.start(watch, calm)

      const closed = yield* GroupCommit.make({
        size: mostTogether,
        commit: (leaders: ReadonlyArray<HttpLeader>) =>
          Effect.flatMap(DateTime.now, (now) => Effect.as(store.connectionsClosed(leaders, now), leaders))
      })
      const keep = yield* GroupCommit.make({
        size: mostTogether,
        commit: (prompts: ReadonlyArray<HttpLeader & { readonly run_id: RunId }>) =>
          Effect.gen(function* () {
            const kept = yield* store.keepPrompts(prompts, yield* DateTime.now)
            const byLeader = new Map(kept.map((it) => [it.leader, it]))
            return prompts.map(({ leader }) => byLeader.get(leader))
          })
      })
      /** The request was interrupted: its connection was closed. */
      const noticeClose =
        (leader: HttpLeader) =>
        <A, E>(request: Effect.Effect<A, E>): Effect.Effect<A, E> =>
          Effect.onInterrupt(request, () => Effect.ignore(closed([leader])))

      /** Nobody works on it, so a cancelled run needs its slots no longer. */
      const finish = ({ run_id, team }: { readonly team: TeamName; readonly run_id: RunId }) =>
        Effect.zipRight(steps.release([run_id]), store.finishPrompt({ team, run_id }))

      const isLive = (run_id: RunId) =>
        Effect.map(runs.ended([run_id]), ({ deleted, runs }) => deleted.length === 0 && runs.length === 0)

      const next = (
        asking: KeyedLeader,
        wait: Duration.Duration
      ): Effect.Effect<Option.Option<TakenPrompt>, TooManyStreams | Unauthorized | Unavailable> =>
        Effect.gen(function* () {
          const begun = yield* DateTime.now
          const taken = yield* ask(asking, wait)
          if (Option.isNone(taken)) return taken
          const { run_id } = taken.value
          const now = yield* DateTime.now
          if (yield* isLive(run_id)) {
            outcomes.progress(run_id, { started_at: now })
            return taken
          }
          yield* finish(taken.value)
          return yield* next(asking, Duration.subtract(wait, DateTime.distanceDuration(begun, now)))
        })

      /** The leader is told to stop. Once its run is released, nobody waits for its reply. */
      const stopped = Effect.fnUntraced(function* (prompt: HttpLeader & { readonly run_id: RunId }) {
        const { runs: ended } = yield* runs.ended([prompt.run_id])
        if (ended.some(isUnreleased)) return { cancelled: true }
        yield* store.finishPrompt(prompt)
        return yield* new PromptLost()
      })

      /** Returns when the prompt is cancelled. */
      const changed = ({ leader, run_id, team }: HttpLeader & { readonly run_id: RunId }) => {
        const stops: Array<() => void> = []
        return Effect.async<{ readonly cancelled: boolean }, PromptLost | Unavailable>((resume) => {
          stops.push(
            watch(team, (state) => {
              const isTheirs = Option.exists(state, (it) => it.run_id === run_id && it.leader === leader && !it.done)
              if (!isTheirs) resume(new PromptLost())
              else if (Option.exists(state, (it) => it.cancelled)) resume(Effect.succeed({ cancelled: true }))
            }),
            shutdown.onStopWaiting(() => resume(AskingLeaders.stopping))
          )
        }).pipe(Effect.ensuring(Effect.sync(() => stops.forEach((stop) => stop()))))
      }

      return HttpLeaders.of({
        next: (asking, wait) => noticeClose(asking)(next(asking, wait)),
        work: (leader) =>
          noticeClose(leader)(
            Effect.gen(function* () {
              const [kept] = yield* keep([leader])
              if (kept === undefined) return yield* new PromptLost()
              if (kept.cancelled) return yield* stopped(leader)
              const waited = yield* Effect.timeoutOption(changed(leader), heartbeat)
              return Option.getOrElse(waited, () => ({ cancelled: false }))
            })
          ),
        reply: Effect.fnUntraced(function* (team: TeamName, correlation_id: string, reply: HttpReply) {
          const subject = correlation.subjectOf(correlation_id)
          if (subject === undefined || (subject.team ?? team) !== team) return yield* new NotFound()
          const { run_id } = subject
          switch (reply._tag) {
            case "Started":
              return yield* recorder.record([{ ...reply, run_id }])
            case "Progress":
              return yield* reports.record({ ...reply.progress, run_id })
            case "Rejected":
              yield* recorder.record([{ _tag: "DeadLettered", reason: "rejected", run_id }])
              return yield* store.finishPrompt({ team, run_id })
            case "Answered":
            case "Failed":
            case "Discarded": {
              if (!recorder.isOver(run_id)) yield* recorder.record([storableReply({ ...reply, run_id })])
              return yield* store.finishPrompt({ team, run_id })
            }
          }
        }),
        leave: (leader) => Effect.flatMap(DateTime.now, (now) => store.leaveTeam(leader, now))
      })
    })
  )
}
