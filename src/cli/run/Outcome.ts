import { Effect } from "effect"
import { Flag } from "effect/cli"
import { hasProperty } from "effect/Predicate"
import type { QueueCancelled } from "../../api/run/Runs.ts"
import type { Outcome } from "../../domain/run/Run.ts"
import { finalStatuses } from "../../domain/run/RunStatus.ts"
import { exitCodes, Failure } from "../Failure.ts"
import { plural } from "../Output.ts"

export const wait = Flag.Boolean("wait").pipe(Flag.withDescription("Wait for the answer and print it"))

type Counts = typeof QueueCancelled.Type

/** As in `3 runs and 1 retry`. */
export const queuedText = ({ cancelled, retries }: Counts): string =>
  plural(cancelled, "run") + (retries === 0 ? "" : ` and ${plural(retries, "retry", "retries")}`)

/** The result of `cancel-queued`. */
export const cancelledText = (counts: Counts): string =>
  counts.cancelled + counts.retries === 0 ? "Nothing was queued." : `Cancelled ${queuedText(counts)}.`

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

/** Turns a run's unsuccessful outcome into a failure of the command. Other errors are passed on. */
export const failUnsuccessful = <E>(error: E): Effect.Effect<never, Failure | Exclude<E, Unsuccessful>> =>
  Effect.fail(isUnsuccessful(error) ? failureOf(error) : (error as Exclude<E, Unsuccessful>))

/** Fails like `trigger --wait` if the run has ended without success. */
export const failUnlessSuccess = (run: unknown): Effect.Effect<void, Failure> =>
  isUnsuccessful(run) ? Effect.fail(new Failure({ ...failureOf(run), body: undefined })) : Effect.void
