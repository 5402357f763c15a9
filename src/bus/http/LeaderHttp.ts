import { randomUUID } from "node:crypto"
import { Clock, Context, Deferred, Effect, FiberSet, flow, identity, Latch, Layer, Option, Schedule } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import { LeaderId, type RunId } from "../../domain/Id.ts"
import { mergeProgress, type NumberedProgress, readProgress } from "../../domain/run/Progress.ts"
import type { TeamName } from "../../domain/Team.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import { whenTraced } from "../../telemetry/Span.ts"
import * as TraceContext from "../../telemetry/TraceContext.ts"
import { finishBefore, handlePrompt, type PromptHandler } from "../Acknowledgement.ts"
import { type Delivery, LeaderBus } from "../Bus.ts"
import { type LeaderHttpOptions, LeaderRefused, make as makeRequests, type TakenPrompt } from "./LeaderRequests.ts"

export { type LeaderHttpOptions, LeaderRefused } from "./LeaderRequests.ts"

/** The access that the leader key gives. */
export class Access extends Context.Service<
  Access,
  {
    /** The key's team. */
    readonly team: TeamName
    /** Fails when the server refuses the leader, for example because its key was revoked. */
    readonly refused: Effect.Effect<never, LeaderRefused>
  }
>()("webhook-trigger/LeaderHttp/Access") {}

export const wrongTeam = (ofKey: TeamName, team: TeamName) =>
  new LeaderRefused({ message: `The leader key belongs to the team ${ofKey}, not to ${team}.` })

/** After a cancellation the server answers at once. */
const heartbeat = "2 seconds"
/** A file that the server no longer has is not asked for without end. */
const fileRetries = Schedule.exponential("500 millis").pipe(Schedule.upTo({ times: 5 }))
/** A stopping leader leaves this long after it last asked, in milliseconds: a request that arrives later undoes the leaving. */
const arrival = 200

const make = (options: LeaderHttpOptions) =>
  Effect.gen(function* () {
    const requests = makeRequests(options)
    const keyTeam = yield* untilAvailable(requests.team, { subject: "the leader cannot reach its server" })
    const refusal = yield* Deferred.make<never, LeaderRefused>()
    let isWatched = false
    const watched = Effect.suspend(() => {
      isWatched = true
      return Deferred.await(refusal)
    })
    /** Logged only if nobody waits for the refusal. */
    const refuse = (error: LeaderRefused) =>
      Effect.andThen(
        Effect.suspend(() => (isWatched ? Effect.void : Effect.logError(`the leader ends: ${error.message}`))),
        Effect.asVoid(Deferred.fail(refusal, error))
      )
    /** After a refusal there is nothing more to do: what this is a part of is interrupted. */
    const unlessRefused = <A, E = never>(request: Effect.Effect<A, E | LeaderRefused | Unavailable>) =>
      Effect.catchIf(
        request,
        (error) => error instanceof LeaderRefused,
        (error) => Effect.andThen(refuse(error), Effect.never)
      )
    const untilAnswered = <A>(request: Effect.Effect<A, LeaderRefused | Unavailable>, subject: string) =>
      untilAvailable(unlessRefused(request), { subject })

    const lead = (team: TeamName, handle: PromptHandler, grace: Effect.Effect<unknown>) =>
      Effect.gen(function* () {
        const leader = LeaderId.make(randomUUID())
        const fork = yield* FiberSet.makeRuntime<never>()
        const stopping = yield* Deferred.make<void>()
        let lastRun: RunId | undefined
        const clock = yield* Clock.Clock
        let askedAt = stopwatch(clock)
        let isLeading = false
        /** The first request does not wait: only its response says that the server counts the leader. */
        const next = Effect.suspend(() => {
          askedAt = stopwatch(clock)
          if (isLeading) return requests.next(leader)
          return Effect.tap(requests.next(leader, 0), () => {
            isLeading = true
            return Effect.logInfo(`leading the team ${team}`)
          })
        })
        const leave = Effect.suspend(() =>
          Effect.delay(Effect.ignore(requests.leave(leader)), Math.max(0, askedAt + arrival - stopwatch(clock)))
        )

        const workOn = ({ cancelled, correlation_id, prompt, redelivered }: TakenPrompt) =>
          Effect.gen(function* () {
            if (Option.isNone(prompt)) {
              yield* Effect.logError("a prompt cannot be read and is rejected")
              return yield* Effect.interruptible(
                untilAnswered(requests.reject(correlation_id), "the rejection of a prompt")
              )
            }
            const { run_id, traceparent } = prompt.value
            const subject = `run ${run_id}`
            const isCancelled = Deferred.makeUnsafe<void>()
            const isLost = Deferred.makeUnsafe<void>()
            if (cancelled) Deferred.doneUnsafe(isCancelled, Effect.void)
            let isOver = false
            /** From now on the server may call the prompt lost because it has the answer. */
            let isAnswering = false
            let isAnswered = false

            /** Not interrupted when the prompt is done, which would cost the connection: the server then answers at once. */
            const showWork = Effect.gen(function* () {
              while (!isOver) {
                const state = yield* untilAnswered(requests.work(leader, run_id), subject)
                if (state === "lost") {
                  if (!isAnswering) Deferred.doneUnsafe(isLost, Effect.void)
                  return
                }
                if (state === "cancelled") {
                  Deferred.doneUnsafe(isCancelled, Effect.void)
                  yield* Effect.sleep(heartbeat)
                }
              }
            })
            /** The progress that waits until what was sent before has arrived: several reports become one. */
            let progress: NumberedProgress | undefined
            const progressed = Latch.makeUnsafe()
            const addProgress = (reported: NumberedProgress) => {
              const next = readProgress(reported)
              if (next === undefined) return
              const isNext = progress !== undefined && next.seq > progress.seq
              progress = isNext ? { ...mergeProgress(progress!, next), seq: next.seq } : next
              progressed.openUnsafe()
            }
            const showProgress = Effect.gen(function* () {
              while (!isOver) {
                yield* progressed.await
                progressed.closeUnsafe()
                if (progress === undefined) continue
                const next = progress
                progress = undefined
                yield* Effect.ignore(requests.progress(correlation_id, next))
              }
            })

            const delivery: Delivery = {
              prompt: { ...prompt.value, team, correlation_id },
              redelivered: redelivered || run_id === lastRun,
              cancelled: isCancelled,
              reply: (reply) => {
                // Taking the prompt has started the run.
                if (reply._tag === "Started") return Effect.void
                isAnswering = true
                return Effect.map(unlessRefused(requests.reply(correlation_id, reply)), () => {
                  isAnswered = true
                })
              },
              file: (id) =>
                Effect.retry(unlessRefused(requests.file(correlation_id, id)), {
                  schedule: fileRetries,
                  while: ({ _tag }) => _tag === "Unavailable"
                }),
              // The answer counts more: an older server refuses all files.
              sendFile: (n, file) =>
                Effect.catchTag(
                  requests.reply(correlation_id, { _tag: "File", n, file }),
                  "LeaderRefused",
                  ({ message }) => Effect.logWarning(`a file of run ${run_id} is not kept: ${message}`)
                ),
              progress: (progress) => Effect.sync(() => addProgress(progress))
            }
            lastRun = run_id

            const parent = TraceContext.parse(traceparent)
            const traced = flow(
              whenTraced("LeaderBus.handle", { kind: "consumer" }),
              parent === undefined ? identity : Effect.withParentSpan(parent)
            )
            const stop = Effect.raceFirst(Deferred.await(isLost), Effect.exit(Deferred.await(refusal)))
            fork(showWork)
            fork(showProgress)
            const settlement = yield* handlePrompt(
              (delivery) => Effect.raceFirst(traced(handle(delivery)), Effect.andThen(stop, Effect.interrupt)),
              delivery,
              Effect.interruptible
            )
            isOver = true
            progress = undefined
            progressed.openUnsafe()
            if (settlement === "requeue" || isAnswered) return
            const ending =
              settlement === "ack"
                ? requests.reply(correlation_id, { _tag: "Discarded" })
                : requests.reject(correlation_id)
            yield* Effect.interruptible(untilAnswered(ending, subject))
          })

        /** A prompt that was taken is worked on even if the leader stops. */
        const step = Effect.uninterruptibleMask((restore) =>
          untilAnswered(next, `prompts of the team ${team}`).pipe(
            Effect.raceFirst(Effect.andThen(Deferred.await(stopping), Effect.succeedNone)),
            restore,
            Effect.flatMap(Option.match({ onNone: () => Effect.void, onSome: workOn }))
          )
        )
        let isStopping = false
        const mayFinish = Effect.raceFirst(grace, Effect.exit(Deferred.await(refusal)))
        yield* Effect.acquireRelease(Effect.forkDetach(Effect.repeat(step, { while: () => !isStopping })), (fiber) =>
          Effect.suspend(() => {
            isStopping = true
            Deferred.doneUnsafe(stopping, Effect.void)
            return Effect.andThen(finishBefore(mayFinish, fiber), leave)
          })
        )
      })

    const bus = LeaderBus.of({
      lead: (team, handle, { grace = Effect.void } = {}) =>
        team === keyTeam ? lead(team, handle, grace) : refuse(wrongTeam(keyTeam, team))
    })
    return Context.make(LeaderBus, bus).pipe(Context.add(Access, { team: keyTeam, refused: watched }))
  })

/**
 * The leader's side of the bus over HTTP, for the team of the key. Waits until the server can be reached. Fails if the server
 * refuses the key.
 */
export const layer = (options: LeaderHttpOptions): Layer.Layer<LeaderBus | Access, LeaderRefused> =>
  Layer.effectContext(make(options))
