/** How agents continue the sessions of threads. */
import { Data, Effect } from "effect"
import { type LeaderAnswer, LeaderError } from "../Leader.ts"
import type { Task } from "./Agent.ts"

/** The agent does not have the session, and has done nothing. */
export class SessionLost extends Data.TaggedError("SessionLost") {}

/** The usual format of a session's id. */
export const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/** The format of ids that agents choose freely; this much is enough for all that are known. */
export const anyId = /^\w[\w.:-]*$/

/**
 * Works in the session of the prompt's thread, if it has one. If the agent has lost it, it begins another, and the report
 * says so. Leaders of the team decide what the session's id is, so one without the agent's own `format` is never used.
 */
export const inSession = (
  format: RegExp,
  { prompt, report }: Pick<Task, "prompt" | "report">,
  run: (session?: string) => Effect.Effect<LeaderAnswer, LeaderError | SessionLost>
): Effect.Effect<LeaderAnswer, LeaderError> => {
  const begin = Effect.catchTag(run(), "SessionLost", () => new LeaderError({ message: "The agent began no session" }))
  const session = prompt.thread?.session_id
  if (session === undefined) return begin
  const beginAgain = Effect.suspend(() => {
    report({ session_lost: true })
    return begin
  })
  return format.test(session) ? Effect.catchTag(run(session), "SessionLost", () => beginAgain) : beginAgain
}
