import { Context, DateTime, Effect, Either, Layer } from "effect"
import { answerTooLarge } from "../../bus/Bodies.ts"
import type { Reply } from "../../bus/Bus.ts"
import type { Fault, Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { AgentReport } from "../../domain/run/AgentReport.ts"
import { linesOf, readAnswer } from "../../domain/run/Answer.ts"
import type { Outcome } from "../../domain/run/Run.ts"
import type { UncheckedAnswer } from "../../repo/run/RunEnd.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import { Checkpoints } from "../Checkpoints.ts"
import { Evaluator } from "../prompt/Evaluator.ts"
import { Steps } from "../step/Steps.ts"
import { Outcomes } from "./Outcomes.ts"

/** How many answered runs are remembered. Leaders repeat answers soon, and each unknown repeat costs a statement. */
const maxAnswered = 10_000

/** How long the check of an answer by a schema may take. */
const longestCheck = "1 second"

const tooSlow: Fault = { pointer: "", detail: "takes too long to check" }

/** Records what leaders and the broker report about runs, however it arrived. */
export class ReplyRecorder extends Context.Tag("webhook-trigger/ReplyRecorder")<
  ReplyRecorder,
  {
    /** On success, ends are committed and watchers are notified. Repeats are harmless, since the first end wins. */
    readonly record: (replies: ReadonlyArray<Reply>) => Effect.Effect<void, Unavailable>
    /** The run was answered, in time or late. No other reply changes it. */
    readonly isOver: (run_id: RunId) => boolean
  }
>() {
  static readonly layer: Layer.Layer<ReplyRecorder, never, Evaluator | Outcomes | Steps> = Layer.effect(
    ReplyRecorder,
    Effect.gen(function* () {
      const outcomes = yield* Outcomes
      const steps = yield* Steps
      const { evaluate } = yield* Evaluator
      const reach = yield* Checkpoints
      const clock = yield* Effect.clock
      const answered = new RecentMap<RunId, true>(maxAnswered)

      const faultsOf = (response: string, { answer_schema: schema, team }: UncheckedAnswer) =>
        Either.match(readAnswer(response), {
          onLeft: Effect.succeed,
          onRight: (value) =>
            evaluate("value", { schema, value }, `answers of ${team}`).pipe(
              // The other replies wait meanwhile.
              Effect.timeout(longestCheck),
              Effect.orElseSucceed((): ReadonlyArray<Fault> => [tooSlow])
            )
        })

      /** The end of a run whose answer must match a schema. */
      const checked = (end: Answered, unchecked: UncheckedAnswer) =>
        Effect.map(faultsOf(end.outcome.response, unchecked), (faults) => ({
          ...end,
          isChecked: true,
          outcome: faults.length === 0 ? end.outcome : invalid(end.outcome, faults)
        }))

      const endAll = (ends: ReadonlyArray<{ readonly run_id: RunId; readonly outcome: Outcome }>) =>
        Effect.flatMap(steps.endAll(ends), (results) => {
          const unchecked = ends.flatMap((end, index) => {
            const found = results[index]?.unchecked
            return found !== undefined && isAnswered(end) ? [checked(end, found)] : []
          })
          if (unchecked.length === 0) return Effect.void
          return Effect.flatMap(Effect.all(unchecked, { concurrency: "unbounded" }), steps.endAll)
        })

      return {
        record: (replies) => {
          const ends = replies.flatMap((reply) => {
            const outcome = outcomeOf(reply)
            return outcome === undefined ? [] : [{ run_id: reply.run_id, outcome }]
          })
          const started_at = DateTime.unsafeMake(clock.unsafeCurrentTimeMillis())
          for (const { _tag, run_id } of replies) if (_tag === "Started") outcomes.progress(run_id, { started_at })
          if (ends.length === 0) return Effect.void
          return Effect.flatMap(endAll(ends), () => {
            for (const { _tag, run_id } of replies) if (_tag === "Answered") answered.set(run_id, true)
            return reach("ended")
          })
        },
        isOver: (run_id) => answered.get(run_id) === true
      }
    })
  )
}

type Success = Extract<Outcome, { readonly status: "success" }>

interface Answered {
  readonly run_id: RunId
  readonly outcome: Success
}

const isAnswered = (end: { readonly run_id: RunId; readonly outcome: Outcome }): end is Answered =>
  end.outcome.status === "success"

const invalid = (success: Success, faults: ReadonlyArray<Fault>): Outcome => ({
  ...{ status: "error", response: success.response, ...reportOf(success) },
  error: { code: "answer_invalid", message: `The answer does not match the webhook's schema:\n${linesOf(faults)}` }
})

/** The end that the reply reports, if any. */
const outcomeOf = (reply: Reply): Outcome | undefined => {
  switch (reply._tag) {
    case "Started":
      return undefined
    case "Answered":
      return reply.truncated
        ? {
            ...{ status: "error", error: { code: "answer_too_large", message: answerTooLarge } },
            ...{ response: reply.response, ...reportOf(reply) }
          }
        : { status: "success", response: reply.response, ...reportOf(reply) }
    case "Failed":
      return {
        status: "error",
        error: { code: reply.code ?? "agent_error", message: reply.message },
        ...(reply.response !== undefined && { response: reply.response }),
        ...reportOf(reply)
      }
    case "Discarded":
      return deadLettered.expired
    case "DeadLettered":
      return deadLettered[reply.reason]
  }
}

const reportOf = ({ report }: { readonly report?: AgentReport }) => (report === undefined ? {} : { report })

const undeliverable = (message: string): Outcome => ({ status: "error", error: { code: "undeliverable", message } })

const deadLettered: { readonly [R in Extract<Reply, { _tag: "DeadLettered" }>["reason"]]: Outcome } = {
  expired: { status: "timeout", undelivered: true },
  rejected: undeliverable("The leader rejected the prompt."),
  delivery_limit: undeliverable(
    "The prompt was delivered too often without being acknowledged; the leader may crash on it."
  )
}
