import { Options } from "@effect/cli"
import { Effect } from "effect"
import { hasProperty } from "effect/Predicate"
import type { QueueCancelled } from "../../api/run/Runs.ts"
import type { Outcome } from "../../domain/run/Run.ts"
import { finalStatuses } from "../../domain/run/RunStatus.ts"
import { exitCodes, Failure } from "../Failure.ts"

export const wait = Options.boolean("wait").pipe(Options.withDescription("Wait for the answer and print it"))

type Counts = typeof QueueCancelled.Type

const retriesText = (retries: number): string => `${retries} ${retries === 1 ? "retry" : "retries"}`

/** What waits, for a question. */
export const waitingText = ({ cancelled, retries }: Counts): string =>
  `${cancelled} now${retries === 0 ? "" : `, and ${retriesText(retries)}`}`

/** The result of `cancel-queued`. */
export const cancelledText = ({ cancelled, retries }: Counts): string =>
  cancelled + retries === 0
    ? "Nothing was queued."
    : `${cancelled} cancelled${retries === 0 ? "" : `, ${retriesText(retries)} called off`}.`

/** The response to a waiting caller whose run did not end in success. */
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
        detail: `a late answer will be stored: webhook-trigger run show ${run.run_id}`,
        body: run
      })
    case "cancelled":
      return new Failure({
        exit: exitCodes.runFailed,
        title: `The run ${run.run_id} was cancelled`,
        detail: "trigger the webhook again for another run",
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

/** Turns the unsuccessful outcome of a run into the command's failure; every other error is passed on. */
export const failUnsuccessful = <E>(error: E): Effect.Effect<never, Failure | Exclude<E, Unsuccessful>> =>
  Effect.fail(isUnsuccessful(error) ? failureOf(error) : (error as Exclude<E, Unsuccessful>))
