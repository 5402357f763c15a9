import {
  Cause,
  Clock,
  DateTime,
  Deferred,
  Duration,
  Effect,
  Exit,
  Layer,
  Option,
  Predicate,
  Schema,
  type Scope,
  Struct
} from "effect"
import { answerTooLarge, limited } from "../bus/Bodies.ts"
import { type Delivery, LeaderBus, type Prompt } from "../bus/Bus.ts"
import { AgentReport, type AgentUsage } from "../domain/run/AgentReport.ts"
import { leaderCodes } from "../domain/run/RunStatus.ts"
import { UsageLimit } from "../domain/run/UsageLimit.ts"
import type { TeamName } from "../domain/Team.ts"
import { optional } from "../domain/Time.ts"
import * as Answers from "./Answers.ts"
import type { LeaderWork } from "./Work.ts"
import * as Work from "./Work.ts"

/**
 * The handler failed. The run ends as `error` with this message. If the agent has reached a usage limit (`limited`), the run is queued
 * again, and the team rests. With a code, `response` is what there is of an answer.
 */
export class LeaderError extends Schema.TaggedError<LeaderError>()("LeaderError", {
  message: Schema.String,
  limited: optional(Schema.toType(UsageLimit)),
  code: optional(Schema.Literals(leaderCodes)),
  response: optional(Schema.String),
  report: optional(AgentReport)
}) {}

/** The answer, alone or with what else is known of the work. Over 1 MiB, the run ends as `error`, code `answer_too_large`. */
export type LeaderAnswer = string | { readonly response: string; readonly report?: AgentReport }

export interface LeaderOptions<E, R> {
  readonly team: TeamName
  /**
   * Answers one prompt at a time. A failure or a defect ends the run as `error`. It is interrupted if the run is
   * stopped: then what it has reported is kept, and its slot is free when it has ended. It is also interrupted if the
   * leader stops or loses its connection, and then the prompt is redelivered.
   */
  readonly handler: (prompt: Prompt, work: LeaderWork) => Effect.Effect<LeaderAnswer, E, R>
  /** How long a handler may continue after the leader is stopped. Default: it is interrupted at once. */
  readonly grace?: Grace
}

/** A time, or what says at the stop how long it is. */
export type Grace = Duration.Input | (() => Duration.Input)

export const decodeGrace = (grace: Grace): Duration.Duration =>
  Duration.fromInputUnsafe(typeof grace === "function" ? grace() : grace)

/**
 * Leads the team until the scope closes. Every prompt is answered at least once, but handled only once unless the
 * handler was interrupted: a redelivered prompt gets the remembered answer. A prompt past its deadline is not worked on,
 * because its run has ended as `timeout`.
 */
export const start = <E, R>(options: LeaderOptions<E, R>): Effect.Effect<void, never, LeaderBus | R | Scope.Scope> =>
  Effect.gen(function* () {
    const bus = yield* LeaderBus
    const context = yield* Effect.context<R>()
    const answers = Answers.make()

    const work = (delivery: Delivery, keep: (report: AgentReport) => void): Effect.Effect<Answers.Answer> =>
      Effect.flatMap(Work.make(delivery, keep), (work) =>
        Effect.provide(options.handler(delivery.prompt, work), context)
      ).pipe(
        Effect.scoped,
        Effect.exit,
        Effect.flatMap((exit) => {
          const { prompt } = delivery
          if (Exit.isSuccess(exit)) {
            const { value } = exit
            const answered = typeof value === "string" ? { response: value } : value
            const answer = limited<Answers.Answer>({ _tag: "Answered", ...answered })
            const isCut = answer._tag === "Answered" && answer.truncated
            return Effect.as(isCut ? Effect.logWarning(`run ${prompt.run_id}: ${answerTooLarge}`) : Effect.void, answer)
          }
          const message = messageOf(exit.cause)
          return Effect.as(Effect.logWarning(`run ${prompt.run_id} failed: ${message}`), {
            _tag: "Failed" as const,
            message,
            ...detailsOf(exit.cause)
          })
        })
      )

    const answer = (delivery: Delivery) =>
      Effect.gen(function* () {
        const { cancelled, prompt, reply } = delivery
        const before = answers.get(prompt.run_id) ?? answers.get(prompt.correlation_id)
        if (before !== undefined) {
          yield* Effect.logInfo(`run ${prompt.run_id} was redelivered; the same answer is sent again`)
          return yield* reply(before)
        }
        if (yield* isTooLate(prompt)) {
          yield* Effect.logInfo(`run ${prompt.run_id} arrived after its deadline and is discarded`)
          return yield* Effect.retry(reply({ _tag: "Discarded" }), Work.untilSent)
        }
        let known: AgentReport = {}
        const keep = (report: AgentReport) => {
          known = { ...known, ...report }
        }
        const end = (yield* Deferred.isDone(cancelled))
          ? stopped
          : yield* Effect.andThen(
              reply({ _tag: "Started" }),
              // The work that is interrupted may still report what it used.
              Effect.raceFirst(work(delivery, keep), Effect.as(Deferred.await(cancelled), stopped))
            )
        const now = withReport(end, known)
        // Before it is sent: if this fails, the prompt is redelivered.
        // After a usage limit, the run comes again with another correlation ID, and is worked on.
        answers.put(now._tag === "Failed" && now.limited ? prompt.correlation_id : prompt.run_id, now)
        yield* Effect.retry(reply(now), Work.untilSent)
      })

    yield* bus.lead(options.team, answer, {
      grace: Effect.suspend(() => Effect.sleep(decodeGrace(options.grace ?? 0)))
    })
  })

/** Nobody waits for the answer any longer. A broker that was unreachable may still deliver such a prompt. */
const isTooLate = ({ deadline }: Prompt): Effect.Effect<boolean> =>
  deadline === undefined
    ? Effect.succeed(false)
    : Effect.map(Clock.currentTimeMillis, (now) => DateTime.toEpochMillis(deadline) <= now)

/** Leads the team until interrupted. */
export const run = <E, R>(options: LeaderOptions<E, R>): Effect.Effect<never, never, LeaderBus | R> =>
  Effect.scoped(Effect.andThen(start(options), Effect.never)) as Effect.Effect<never, never, LeaderBus | R>

/** Leads the team while the layer lives, for a leader inside another program. */
export const layer = <E, R>(options: LeaderOptions<E, R>): Layer.Layer<never, never, LeaderBus | R> =>
  Layer.effectDiscard(start(options)) as Layer.Layer<never, never, LeaderBus | R>

/** The reply to a prompt whose run was stopped: cancelled, timed out or deleted. It frees the team and the slots. */
const stopped: Answers.Answer = { _tag: "Failed", message: "The run was cancelled." }

/** Agents that are stopped before they have counted report that they used nothing. */
const withoutZeros = ({ usage = {}, ...others }: AgentReport): AgentReport => {
  const isCounted = usage.input_tokens || usage.output_tokens
  const known: AgentUsage = isCounted ? usage : Object.fromEntries(Object.entries(usage).filter(([, it]) => it !== 0))
  return Struct.keys(known).length === 0 ? others : { ...others, usage: known }
}

/** The answer with what else is known of the work; what it says itself counts more. */
const withReport = (answer: Answers.Answer, known: AgentReport): Answers.Answer => {
  const all = { ...known, ...answer.report }
  const report = answer._tag === "Failed" ? withoutZeros(all) : all
  return Struct.keys(report).length === 0 ? answer : { ...answer, report }
}

const detailsOf = (cause: Cause.Cause<unknown>): Pick<LeaderError, "code" | "limited" | "report" | "response"> => {
  const failure = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (!(failure instanceof LeaderError)) return {}
  const { code, limited, report, response } = failure
  return {
    ...(limited && { limited }),
    ...(code && { code }),
    ...(response !== undefined && { response }),
    ...(report && { report })
  }
}

/** The error message for the webhook's caller. */
const messageOf = (cause: Cause.Cause<unknown>): string => {
  const failure = Option.getOrElse(Cause.findErrorOption(cause), () => cause.reasons.find(Cause.isDieReason)?.defect)
  if (typeof failure === "string") return failure
  if (Predicate.hasProperty(failure, "message") && typeof failure.message === "string" && failure.message !== "") {
    return failure.message
  }
  return Cause.hasInterruptsOnly(cause) ? "All fibers interrupted without errors." : Cause.pretty(cause)
}
