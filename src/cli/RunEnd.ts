import { Effect } from "effect"
import { exitCodes, Failure } from "./Failure.ts"

/** The answer to a waiting caller whose run did not end in success. */
type BadEnd =
  | { readonly status: "timeout"; readonly run_id: string }
  | {
      readonly status: "error"
      readonly run_id: string
      readonly error: { readonly code: string; readonly message: string }
    }

const isBadEnd = (value: unknown): value is BadEnd =>
  typeof value === "object" &&
  value !== null &&
  "run_id" in value &&
  "status" in value &&
  (value.status === "timeout" || value.status === "error")

/** Tells a run's bad end; every other error stays what it is. */
export const endedBadly = <E>(error: E): Effect.Effect<never, Failure | Exclude<E, BadEnd>> => {
  if (!isBadEnd(error)) return Effect.fail(error as Exclude<E, BadEnd>)
  const body: BadEnd = error
  return Effect.fail(
    body.status === "timeout"
      ? new Failure({
          exit: exitCodes.runTimedOut,
          title: "No answer within the timeout",
          detail: `a late one will be kept: webhook-trigger run show ${body.run_id}`,
          body
        })
      : new Failure({
          exit: exitCodes.runFailed,
          title: `The run ${body.run_id} failed (${body.error.code})`,
          detail: body.error.message,
          body
        })
  )
}
