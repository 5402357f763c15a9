import {
  Cause,
  Chunk,
  Clock,
  DateTime,
  Deferred,
  type Duration,
  Effect,
  Exit,
  Layer,
  Option,
  Predicate,
  Schedule,
  Schema,
  type Scope
} from "effect"
import { type Delivery, LeaderBus, type Prompt } from "../bus/Bus.ts"
import type { TeamName } from "../domain/Team.ts"
import * as Answers from "./Answers.ts"

/** The work on a prompt failed; the run ends as `error` with this message. */
export class LeaderError extends Schema.TaggedError<LeaderError>()("LeaderError", { message: Schema.String }) {}

export interface LeaderOptions<E, R> {
  readonly team: TeamName
  /**
   * Does the work, one prompt at a time, and returns the answer. A failure or a defect ends the run as `error`. It is
   * interrupted when the run is cancelled; and when the leader stops or loses its connection, then the prompt is delivered
   * again, here or elsewhere.
   */
  readonly handler: (prompt: Prompt) => Effect.Effect<string, E, R>
  /** How long work may go on after the leader was stopped; default: not at all. */
  readonly grace?: Duration.DurationInput
}

/** While the broker is out of reach: the work is done, so its answer is sent until the broker takes it. */
const untilSent = Schedule.exponential("100 millis").pipe(
  Schedule.union(Schedule.spaced("1 second")),
  Schedule.jittered
)

/**
 * Leads the team until the scope closes. Every prompt is answered at least once under its run's id, and worked on once
 * unless the work was interrupted: the last answers are remembered, so that a prompt that is delivered again is answered
 * again. A prompt whose deadline has passed is taken and not worked on: its run has ended as `timeout`.
 */
export const start = <E, R>(options: LeaderOptions<E, R>): Effect.Effect<void, never, LeaderBus | R | Scope.Scope> =>
  Effect.gen(function* () {
    const bus = yield* LeaderBus
    const context = yield* Effect.context<R>()
    const answers = Answers.make()

    const work = (prompt: Prompt): Effect.Effect<Answers.Answer> =>
      Effect.suspend(() => options.handler(prompt)).pipe(
        Effect.provide(context),
        Effect.exit,
        Effect.flatMap((exit) => {
          if (Exit.isSuccess(exit)) {
            return Effect.succeed<Answers.Answer>({
              _tag: "Answered",
              response: exit.value
            })
          }
          const message = messageOf(exit.cause)
          return Effect.as(Effect.logWarning(`run ${prompt.run_id} failed: ${message}`), {
            _tag: "Failed",
            message
          } as const)
        })
      )

    const answer = ({ cancelled, prompt, reply }: Delivery) =>
      Effect.gen(function* () {
        const before = answers.get(prompt.run_id)
        if (before !== undefined) {
          yield* Effect.logInfo(`run ${prompt.run_id} was delivered again, and is answered again`)
          return yield* reply(before)
        }
        if (yield* isTooLate(prompt)) {
          return yield* Effect.logInfo(`run ${prompt.run_id} came after its deadline, and is not worked on`)
        }
        const now = (yield* Deferred.isDone(cancelled))
          ? stopped
          : yield* Effect.zipRight(
              reply({ _tag: "Started" }),
              Effect.raceFirst(work(prompt), Effect.as(Deferred.await(cancelled), stopped))
            )
        // Before it is sent, so that it is found when this fails and the prompt is delivered again.
        answers.put(prompt.run_id, now)
        yield* Effect.retry(reply(now), untilSent)
      })

    yield* bus.lead(options.team, answer, options.grace === undefined ? {} : { grace: options.grace })
  })

/** Nobody waits for the answer any more. A broker that was cut off for a while delivers such a prompt nevertheless. */
const isTooLate = ({ deadline }: Prompt): Effect.Effect<boolean> =>
  deadline === undefined
    ? Effect.succeed(false)
    : Effect.map(Clock.currentTimeMillis, (now) => DateTime.toEpochMillis(deadline) <= now)

/** Leads the team until interrupted. */
export const run = <E, R>(options: LeaderOptions<E, R>): Effect.Effect<never, never, LeaderBus | R> =>
  Effect.scoped(Effect.zipRight(start(options), Effect.never)) as Effect.Effect<never, never, LeaderBus | R>

/** Leads the team while the layer lives, for a leader inside another program. */
export const layer = <E, R>(options: LeaderOptions<E, R>): Layer.Layer<never, never, LeaderBus | R> =>
  Layer.scopedDiscard(start(options)) as Layer.Layer<never, never, LeaderBus | R>

/** What the server is told of a prompt whose run was cancelled: that nobody works on it. */
const stopped: Answers.Answer = { _tag: "Failed", message: "The run was cancelled." }

/** The error message that the caller of the webhook gets. */
const messageOf = (cause: Cause.Cause<unknown>): string => {
  const failure = Option.getOrElse(Cause.failureOption(cause), () =>
    Option.getOrUndefined(Chunk.head(Cause.defects(cause)))
  )
  if (typeof failure === "string") return failure
  if (Predicate.hasProperty(failure, "message") && typeof failure.message === "string" && failure.message !== "") {
    return failure.message
  }
  return Cause.pretty(cause)
}
