/** A conversation with a team's agent: runs that go to it as one session. */
import { Schema } from "effect"
import { ThreadId } from "./Id.ts"
import { AgentReport } from "./run/AgentReport.ts"
import { isStorable, unstorableDetail } from "./StorableText.ts"
import { TeamName } from "./Team.ts"
import { optional, time } from "./Time.ts"

/** In UTF-16 code units. */
export const maxThreadKey = 500

/** The key without blanks at its ends; `undefined`: there is none, and the run stands alone. */
export const threadKeyOf = (text: string): string | undefined => text.trim() || undefined

/** A thread's key as people write it. */
export const ThreadKey = Schema.String.check(
  Schema.isMaxLength(maxThreadKey),
  Schema.makeFilter((text) => threadKeyOf(text) !== undefined || "must not be blank"),
  Schema.makeFilter((text) => isStorable(text) || unstorableDetail, { toJsonSchema: () => ({}) })
)

const key = Schema.String.annotate({ description: "Runs of a team with the same key belong to the same thread." })

/** The thread of a run. */
export const RunThread = Schema.Struct({ id: ThreadId, key }).annotate({
  identifier: "RunThread",
  description: "The conversation that the run belongs to."
})
export type RunThread = typeof RunThread.Type

export const Thread = Schema.Struct({
  id: ThreadId,
  team: TeamName,
  key,
  created_at: time("When its first run was accepted."),
  last_run_at: time("When its newest run was accepted."),
  ended_at: optional(
    time("When it was reset, or had no runs for `THREAD_IDLE`. The next run with its key begins another thread.")
  ),
  session_id: AgentReport.fields.session_id.annotate({
    description: "The agent's session, as the newest ended run reported it. Absent: none was reported."
  })
}).annotate({ identifier: "Thread", description: "A conversation with a team's agent: its runs share a session." })
export type Thread = typeof Thread.Type
