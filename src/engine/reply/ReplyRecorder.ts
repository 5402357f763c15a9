import { Clock, Context, DateTime, Effect, Fiber, FiberMap, Layer, Option, Result } from "effect"
import { answerTooLarge } from "../../bus/Bodies.ts"
import type { Reply, ReplyHandler } from "../../bus/Bus.ts"
import type { Fault, Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import { linesOf, readAnswer } from "../../domain/run/Answer.ts"
import { type Outcome, reportOf } from "../../domain/run/Run.ts"
import type { UsageLimit } from "../../domain/run/UsageLimit.ts"
import { FileStore } from "../../repo/run/FileStore.ts"
import type { UncheckedAnswer } from "../../repo/run/RunEnd.ts"
import type { LimitedRun } from "../../repo/run/RunStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import { busy } from "../../runtime/TimeLimit.ts"
import { Checkpoints } from "../Checkpoints.ts"
import { Outcomes } from "../outcome/Outcomes.ts"
import { Evaluator } from "../prompt/Evaluator.ts"
import { Steps } from "../step/Steps.ts"

/** How many answered runs are remembered. Leaders repeat answers soon, and each unknown repeat costs a statement. */
const maxAnswered = 10_000

/** How long a reply waits here for the check of an answer, which goes on. */
const longestCheck = "30 seconds"

const tooSlow: Fault = { pointer: "", detail: "takes too long to check" }

/** Records what leaders and the broker report about runs, however it arrived. */
export class ReplyRecorder extends Context.Service<
  ReplyRecorder,
  {
    /**
     * On success, ends are committed and watchers are notified. Repeats are harmless, since the first end wins. With `later`,
     * the check of an answer delays no other replies.
     */
    readonly handle: ReplyHandler
    /** The run was answered, in time or late. No other reply changes it. */
    readonly isOver: (run_id: RunId) => boolean
  }
>()("webhook-trigger/ReplyRecorder") {
  static readonly layer: Layer.Layer<ReplyRecorder, never, Evaluator | FileStore | Outcomes | Steps> = Layer.effect(
    ReplyRecorder,
    Effect.gen(function* () {
      const outcomes = yield* Outcomes
      const steps = yield* Steps
      const { addFile } = yield* FileStore
      const { evaluate } = yield* Evaluator
      const reach = yield* Checkpoints
      const clock = yield* Clock.Clock
      const answered = new RecentMap<RunId, true>(maxAnswered)

      /** The answers that are being checked. Nothing else ends their runs with a reply meanwhile. */
      const checks = yield* FiberMap.make<RunId, void, never>()

      const faultsOf = (response: string, { answer_schema: schema, team }: UncheckedAnswer) =>
        Result.match(readAnswer(response), {
          onFailure: Effect.succeed,
          onSuccess: (value) =>
            Effect.catchTag(evaluate("value", { schema, value }, `answers of ${team}`), "TooSlow", () =>
              Effect.succeed<ReadonlyArray<Fault>>([tooSlow])
            )
        })

      const ended = (ids: ReadonlyArray<RunId>) => {
        for (const id of ids) answered.set(id, true)
        return reach("ended")
      }

      /** Ends a run whose answer must match a schema. */
      const check = ({ outcome, run_id }: Answered, unchecked: UncheckedAnswer) =>
        faultsOf(outcome.response, unchecked).pipe(
          Effect.map((faults) => (faults.length === 0 ? outcome : invalid(outcome, faults))),
          Effect.flatMap((outcome) => steps.endAll([{ run_id, isChecked: true, outcome }])),
          (checked) => untilAvailable(checked, { subject: `the check of the answer of run ${run_id}` }),
          Effect.andThen(Effect.suspend(() => ended([run_id])))
        )

      /** Returns the runs that have not ended, as their answers are being checked. */
      const endAll = (ends: ReadonlyArray<{ readonly run_id: RunId; readonly outcome: Outcome }>) =>
        Effect.flatMap(steps.endAll(ends), (results) =>
          Effect.forEach(
            ends.flatMap((end, index) => {
              const unchecked = results[index]?.unchecked
              return unchecked !== undefined && isAnswered(end) ? [{ end, unchecked }] : []
            }),
            ({ end, unchecked }) =>
              Effect.as(FiberMap.run(checks, end.run_id, check(end, unchecked), { onlyIfMissing: true }), end.run_id)
          )
        )

      const handleOrPutOff = (replies: ReadonlyArray<Reply>, later: NonNullable<Parameters<ReplyHandler>[1]>) =>
        Effect.suspend(() => {
          const started_at = DateTime.makeUnsafe(clock.currentTimeMillisUnsafe())
          for (const { _tag, run_id } of replies) if (_tag === "Started") outcomes.progress(run_id, { started_at })
          const checked = new Set(replies.flatMap(({ run_id }) => (FiberMap.hasUnsafe(checks, run_id) ? run_id : [])))
          const endsOf = (some: ReadonlyArray<Reply>) =>
            some.flatMap((reply) => {
              const outcome = outcomeOf(reply)
              return outcome === undefined || checked.has(reply.run_id) ? [] : [{ run_id: reply.run_id, outcome }]
            })
          const ends = endsOf(replies.filter((reply) => !isLimited(reply)))
          const limits = replies.filter(isLimited)
          // The remaining limits are errors of runs that have ended before.
          const rest = Effect.suspend(() =>
            Effect.flatMap(steps.rest(limits.map(toLimitedRun)), (ended) =>
              ended.length === 0 ? Effect.void : endAll(endsOf(limits.filter(({ run_id }) => ended.includes(run_id))))
            )
          )
          // Before the ends of their runs, whose callers may ask for them. One that PostgreSQL refuses endangers no answer.
          const files = replies.filter((reply) => reply._tag === "File")
          const store = ({ file, n, run_id }: (typeof files)[number]) =>
            Effect.catchDefect(addFile(run_id, n, file), (error) =>
              Effect.logError(`file ${n} of run ${run_id} is not kept`, error)
            )
          const stored = Effect.forEach(files, store, { discard: true })
          const end = ends.length === 0 ? Effect.succeed([]) : endAll(ends)
          const before = limits.length === 0 ? stored : Effect.andThen(stored, rest)
          return Effect.flatMap(files.length + limits.length === 0 ? end : Effect.andThen(before, end), (begun) => {
            for (const run_id of begun) checked.add(run_id)
            const over: Array<RunId> = []
            for (const reply of replies) {
              if (checked.has(reply.run_id) && reply._tag !== "File") later(reply, finish(reply))
              else if (reply._tag === "Answered") over.push(reply.run_id)
            }
            return ends.length > begun.length ? ended(over) : Effect.void
          })
        })

      /** Once the run's check is over. */
      const finish = (reply: Reply): Effect.Effect<void, Unavailable> =>
        Effect.suspend(() =>
          Option.match(FiberMap.getUnsafe(checks, reply.run_id), {
            onNone: () => handle([reply]),
            // Another server may be less busy.
            onSome: (check) =>
              Effect.timeoutOrElse(Fiber.join(check), { duration: longestCheck, orElse: () => Effect.fail(busy) })
          })
        )

      const handle: ReplyHandler = (replies, later) =>
        Effect.suspend(() => {
          if (later !== undefined) return handleOrPutOff(replies, later)
          const finishes: Array<Effect.Effect<void, Unavailable>> = []
          const handled = handleOrPutOff(replies, (_, finish) => finishes.push(finish))
          return Effect.andThen(
            handled,
            Effect.suspend(() => Effect.all(finishes, { discard: true }))
          )
        })

      return { handle, isOver: (run_id) => answered.get(run_id) === true }
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

type Limited = Extract<Reply, { readonly _tag: "Failed" }> & { readonly limited: UsageLimit }

/** It is no end of its run. */
const isLimited = (reply: Reply): reply is Limited => reply._tag === "Failed" && reply.limited !== undefined

const mostOfReason = 500

const toLimitedRun = ({ limited, message, rests, run_id }: Limited): Omit<LimitedRun, "at"> => ({
  ...{ run_id, reason: message.slice(0, mostOfReason) },
  ...limited,
  ...(rests !== undefined && { rests })
})

/** The end that the reply reports, if any. */
const outcomeOf = (reply: Reply): Outcome | undefined => {
  switch (reply._tag) {
    case "Started":
    case "File":
    case "FileWanted":
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

const undeliverable = (message: string): Outcome => ({ status: "error", error: { code: "undeliverable", message } })

const deadLettered: { readonly [R in Extract<Reply, { _tag: "DeadLettered" }>["reason"]]: Outcome } = {
  expired: { status: "timeout", undelivered: true },
  rejected: undeliverable("The leader rejected the prompt."),
  delivery_limit: undeliverable(
    "The prompt was delivered too often without being acknowledged; the leader may crash on it."
  )
}
