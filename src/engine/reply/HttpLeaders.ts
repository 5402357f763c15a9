import { Context, DateTime, Deferred, Duration, Effect, Layer, Option } from "effect"
import { storableReply } from "../../bus/Bodies.ts"
import type { LeaderReply, Prompt, Subject } from "../../bus/Bus.ts"
import {
  type FileMissing,
  NotFound,
  PromptLost,
  type TooManyStreams,
  type Unauthorized,
  type Unavailable
} from "../../domain/Errors.ts"
import type { NumberedProgress } from "../../domain/run/Progress.ts"
import { isFinal } from "../../domain/run/RunStatus.ts"
import type { TeamName } from "../../domain/Team.ts"
import { FileStore } from "../../repo/run/FileStore.ts"
import { type HttpLeader, HttpLeaderStore, type KeyedLeader, type Work } from "../../repo/run/HttpLeaderStore.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import { AttachedFiles } from "../files/AttachedFiles.ts"
import { Correlation } from "../outcome/Correlation.ts"
import { Outcomes } from "../outcome/Outcomes.ts"
import { ProgressReports } from "../progress/ProgressReports.ts"
import { Shutdown } from "../Shutdown.ts"
import { Sender } from "../step/Sender.ts"
import { Steps } from "../step/Steps.ts"
import * as AskingLeaders from "./AskingLeaders.ts"
import { ReplyRecorder } from "./ReplyRecorder.ts"

/** How long a leader at work waits for a cancellation until it shows its presence again. */
const heartbeat = Duration.seconds(2)
const mostTogether = 1_000

/** A reply of a leader over HTTP to a prompt. */
export type HttpReply =
  | LeaderReply
  | { readonly _tag: "Progress"; readonly progress: NumberedProgress }
  /** It can never work on it. */
  | { readonly _tag: "Rejected" }

/** A prompt for a leader. `redelivered`: another one may have begun it. */
export interface GivenPrompt {
  readonly prompt: Prompt
  readonly redelivered: boolean
}

/**
 * Leaders that use HTTP, at any server: each request may reach another one. The run itself is the prompt, so the rows say
 * which one a leader has, in what order, and when it is stopped. The bus has no part in this.
 */
export class HttpLeaders extends Context.Service<
  HttpLeaders,
  {
    /** The leader's next prompt, or the one that it has; none after that time. */
    readonly next: (
      asking: KeyedLeader,
      wait: Duration.Duration
    ) => Effect.Effect<Option.Option<GivenPrompt>, TooManyStreams | Unauthorized | Unavailable>
    /** Shows that the leader works on the prompt. Returns after `heartbeat`, or once that is cancelled or lost. */
    readonly work: (work: Work) => Effect.Effect<{ readonly cancelled: boolean }, PromptLost | Unavailable>
    /**
     * Takes a reply to the prompt with this correlation ID. On success an answer is committed; it may be repeated. Fails with
     * `NotFound` if the team never got such a prompt.
     */
    readonly reply: (
      team: TeamName,
      correlation_id: string,
      reply: HttpReply
    ) => Effect.Effect<void, NotFound | Unavailable>
    /** The content of a file of the prompt, which may be fetched now. Fails with `NotFound` also if it is no longer kept. */
    readonly file: (
      team: TeamName,
      correlation_id: string,
      id: string
    ) => Effect.Effect<Uint8Array, FileMissing | NotFound | Unavailable>
    /** The leader stops. Its prompt goes to another one at once. */
    readonly leave: (leader: HttpLeader) => Effect.Effect<void, Unavailable>
  }
>()("webhook-trigger/HttpLeaders") {
  static readonly layer = Layer.effect(
    HttpLeaders,
    Effect.gen(function* () {
      const store = yield* HttpLeaderStore
      const files = yield* FileStore
      const attached = yield* AttachedFiles
      const correlation = yield* Correlation
      const outcomes = yield* Outcomes
      const steps = yield* Steps
      const { promptOf } = yield* Sender
      const recorder = yield* ReplyRecorder
      const reports = yield* ProgressReports
      const shutdown = yield* Shutdown
      const { ask } = yield* AskingLeaders.make

      const closed = yield* GroupCommit.make({
        size: mostTogether,
        commit: (leaders: ReadonlyArray<HttpLeader>) =>
          Effect.flatMap(DateTime.now, (now) => Effect.as(store.connectionsClosed(leaders, now), leaders))
      })
      const keepTogether = yield* GroupCommit.make({
        size: mostTogether,
        commit: (works: ReadonlyArray<Work>) =>
          Effect.gen(function* () {
            const kept = yield* store.keepRuns(works, yield* DateTime.now)
            const byLeader = new Map(kept.map((it) => [it.leader, it]))
            return works.map(({ leader }) => byLeader.get(leader))
          })
      })
      const keep = (work: Work) =>
        Effect.flatMap(keepTogether([work]), ([kept]) =>
          kept === undefined ? new PromptLost() : Effect.succeed({ cancelled: kept.cancelled })
        )
      /** The request was interrupted: its connection was closed. */
      const noticeClose =
        (leader: HttpLeader) =>
        <A, E>(request: Effect.Effect<A, E>): Effect.Effect<A, E> =>
          Effect.onInterrupt(request, () => Effect.ignore(closed([leader])))

      const next = (
        asking: KeyedLeader,
        wait: Duration.Duration
      ): Effect.Effect<Option.Option<GivenPrompt>, TooManyStreams | Unauthorized | Unavailable> =>
        Effect.gen(function* () {
          const begun = yield* DateTime.now
          const taken = yield* ask(asking, wait)
          if (Option.isNone(taken)) return Option.none()
          const { redelivered, run } = taken.value
          const now = yield* DateTime.now
          if (!isFinal(run.status)) {
            outcomes.progress(run.run_id, { started_at: now })
            return Option.some({ prompt: promptOf(run), redelivered })
          }
          // Nobody works on it, so it needs its team and its slots no longer.
          yield* steps.release([run.run_id])
          return yield* next(asking, Duration.subtract(wait, DateTime.distance(begun, now)))
        })

      const work = Effect.fnUntraced(function* (work: Work) {
        const changed = Deferred.makeUnsafe<void, Unavailable>()
        const stops = [
          outcomes.watch(work.run_id, () => Deferred.doneUnsafe(changed, Effect.void)),
          shutdown.onStopWaiting(() => Deferred.doneUnsafe(changed, AskingLeaders.stopping))
        ]
        return yield* Effect.gen(function* () {
          const state = yield* keep(work)
          if (state.cancelled) return state
          const ended = yield* Effect.timeoutOption(Deferred.await(changed), heartbeat)
          return Option.isNone(ended) ? state : yield* keep(work)
        }).pipe(Effect.ensuring(Effect.sync(() => stops.forEach((stop) => stop()))))
      })

      const subjectOf = (team: TeamName, correlation_id: string): Effect.Effect<Omit<Subject, "team">, NotFound> => {
        const found = correlation.subjectOf(correlation_id)
        if (found === undefined) return new NotFound()
        const { team: its = team, ...subject } = found
        return its === team ? Effect.succeed(subject) : new NotFound()
      }

      return HttpLeaders.of({
        next: (asking, wait) => noticeClose(asking)(next(asking, wait)),
        work: (it) => noticeClose(it)(work(it)),
        reply: Effect.fnUntraced(function* (team: TeamName, correlation_id: string, reply: HttpReply) {
          const subject = yield* subjectOf(team, correlation_id)
          const { run_id } = subject
          switch (reply._tag) {
            case "Started":
            case "File":
            case "FileWanted":
              return yield* recorder.handle([{ ...reply, run_id }])
            case "Progress":
              return yield* reports.record({ ...reply.progress, run_id })
            case "Rejected":
              return yield* recorder.handle([{ _tag: "DeadLettered", reason: "rejected", run_id }])
            case "Answered":
            case "Failed":
            case "Discarded":
              if (!recorder.isOver(run_id)) yield* recorder.handle([storableReply({ ...reply, ...subject })])
          }
        }),
        file: (team, correlation_id, id) =>
          Effect.flatMap(subjectOf(team, correlation_id), ({ run_id }) =>
            Effect.andThen(attached.fetch(run_id, id), files.fileBytes(run_id, id))
          ),
        leave: (leader) => Effect.flatMap(DateTime.now, (now) => store.leaveTeam(leader, now))
      })
    })
  )
}
