import type { RunId } from "../Id.ts"
import type { Run } from "./Run.ts"

/** `Accepted`: the run is stored. `Ended`: the caller waited, and this is the run as it ended. */
export type AcceptedOrEnded =
  | { readonly _tag: "Accepted"; readonly run_id: RunId }
  | { readonly _tag: "Ended"; readonly run: Run }

/** There is no run, for the reason; without one, the webhook's `accept_if` does not hold. */
export interface NotStarted {
  readonly _tag: "Ignored"
  readonly reason?: string
  /** The run with the same key, by the webhook's `singleton`. */
  readonly run_id?: RunId
  /** The webhook's `cancel_if` holds: the runs that were cancelled. */
  readonly cancelled?: ReadonlyArray<RunId>
  /** The request is about a message of ours in Slack, and for no other webhook. */
  readonly isOfSlack?: true
}

/** The result of a request for a run. */
export type Submitted = AcceptedOrEnded | NotStarted

/** The run that was started. */
export function startedRunOf(submitted: AcceptedOrEnded): RunId
export function startedRunOf(submitted: Submitted): RunId | undefined
export function startedRunOf(submitted: Submitted): RunId | undefined {
  if (submitted._tag === "Ignored") return undefined
  return submitted._tag === "Accepted" ? submitted.run_id : submitted.run.run_id
}
