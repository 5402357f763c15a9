/** How a run ended that a command waited for. */
import { Effect, Option } from "effect"
import { hasProperty } from "effect/Predicate"
import type { Outcome } from "../../domain/run/Run.ts"
import { finalStatuses } from "../../domain/run/RunStatus.ts"
import { exitCodes, Failure } from "../Failure.ts"
import { printable, printError, quoted } from "../Output.ts"

/** The response to a synchronous caller whose run did not succeed. */
type Unsuccessful = Exclude<Outcome, { readonly status: "success" }> & { readonly run_id: string }

const unsuccessful: ReadonlyArray<unknown> = finalStatuses.filter((status) => status !== "success")

const isUnsuccessful = (value: unknown): value is Unsuccessful =>
  hasProperty(value, "run_id") && hasProperty(value, "status") && unsuccessful.includes(value.status)

const failureOf = (run: Unsuccessful): Failure => {
  switch (run.status) {
    case "timeout":
      return new Failure({
        exit: exitCodes.runTimedOut,
        title: "No answer within the timeout",
        detail: `a late answer will be stored; see webhook-trigger run show ${run.run_id}`,
        body: run
      })
    case "cancelled":
      return new Failure({
        exit: exitCodes.runFailed,
        title: `The run ${run.run_id} was cancelled`,
        detail: "trigger the webhook again to start another run",
        body: run
      })
    case "error":
      return new Failure({
        exit: exitCodes.runFailed,
        title: `The run ${run.run_id} failed (${run.error.code})`,
        detail: run.error.message,
        body: run
      })
  }
}

/** The failure that a response means, if it is a run's unsuccessful outcome. */
export const outcomeOf = (body: Option.Option<unknown>): Failure | undefined =>
  Option.isSome(body) && isUnsuccessful(body.value) ? failureOf(body.value) : undefined

/** Turns a run's unsuccessful outcome into a failure of the command. Other errors are passed on. */
export const failUnsuccessful = <E>(error: E): Effect.Effect<never, Failure | Exclude<E, Unsuccessful>> =>
  Effect.fail(isUnsuccessful(error) ? failureOf(error) : (error as Exclude<E, Unsuccessful>))

/** Fails like `trigger --wait` if the run has ended without success. */
export const failUnlessSuccess = (run: unknown): Effect.Effect<void, Failure> =>
  isUnsuccessful(run) ? Effect.fail(new Failure({ ...failureOf(run), body: undefined })) : Effect.void

interface Answered {
  readonly run_id: string
  readonly asks?: ReadonlyArray<string> | undefined
}

/** How to reply, when an agent's answer is a question: for people, on standard error, a command for each suggested reply. */
export const sayHowToReply = ({ asks, run_id }: Answered): Effect.Effect<void> => {
  if (asks === undefined) return Effect.void
  const replies = asks.length === 0 ? ["…"] : [...new Set(asks)]
  const lines = replies.map((reply) => `  webhook-trigger run reply ${run_id} ${quoted(printable(reply))}`)
  return printError(["The agent asks a question. Reply with:", ...lines].join("\n"))
}
