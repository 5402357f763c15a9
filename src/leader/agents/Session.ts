/** How agents continue the sessions of threads. */
import { Data, Effect } from "effect"
import type { ThreadTurn } from "../../domain/run/PromptBody.ts"
import { type LeaderAnswer, LeaderError } from "../Leader.ts"
import type { Task } from "./Agent.ts"

/** The agent does not have the session, and has done nothing. */
export class SessionLost extends Data.TaggedError("SessionLost") {}

/** The usual format of a session's id. */
export const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/** The format of ids that agents choose freely; this much is enough for all that are known. */
export const anyId = /^\w[\w.:-]*$/

const textOf = (history: ReadonlyArray<ThreadTurn>): string =>
  [
    "Earlier messages of this conversation, oldest first:",
    ...history.map(({ prompt, response }) => `<prompt>\n${prompt}\n</prompt>\n<answer>\n${response}\n</answer>`),
    "The next message:\n"
  ].join("\n\n")

/** The task of an agent without a session of the thread: its prompt begins with the thread's earlier messages, if they are known. */
export const withHistory = (task: Task): Task => {
  const { prompt, thread } = task.prompt
  if (thread?.history === undefined || thread.history.length === 0) return task
  task.report({ history_given: true })
  return { ...task, prompt: { ...task.prompt, prompt: `${textOf(thread.history)}\n${prompt}` } }
}

/**
 * Works in the session of the prompt's thread, if it has one. If the agent has lost it, it begins another, and the report
 * says so. Leaders of the team decide what the session's id is, so one without the agent's own `format` is never used.
 */
export const inSession = (
  format: RegExp,
  task: Task,
  run: (task: Task, session?: string) => Effect.Effect<LeaderAnswer, LeaderError | SessionLost>
): Effect.Effect<LeaderAnswer, LeaderError> => {
  const begin = Effect.suspend(() =>
    Effect.catchTag(
      run(withHistory(task)),
      "SessionLost",
      () => new LeaderError({ message: "The agent began no session" })
    )
  )
  const session = task.prompt.thread?.session_id
  if (session === undefined) return begin
  const beginAgain = Effect.suspend(() => {
    task.report({ session_lost: true })
    return begin
  })
  return format.test(session) ? Effect.catchTag(run(task, session), "SessionLost", () => beginAgain) : beginAgain
}
