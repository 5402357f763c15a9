import { Struct } from "effect"
import { durationOf, earlierRunOf, Run, type RunRow } from "./Run.ts"

/** A run's progress, without its title, its texts, its thread, what was asked of its agent and its agent's report. */
export const RunState = Run.mapFields(
  Struct.omit([
    "title",
    "agent",
    "thread",
    "variables",
    "files",
    "conversation",
    "answer",
    "error",
    "last_step",
    "timeout_seconds",
    "usage",
    "session_id",
    "session_lost",
    "history_given",
    "session_usage",
    "links",
    "denied",
    "workspace",
    "asks"
  ])
).annotate({
  identifier: "RunState",
  description: "How far a run has come, without any of its texts."
})
export type RunState = typeof RunState.Type

/** The columns of a run's row that make up its state. */
export const stateFields = Object.keys(RunState.fields).filter(
  (field) => field !== "duration_ms" && field !== "retry_of"
) as ReadonlyArray<Exclude<keyof RunState, "duration_ms" | "retry_of">>

const unchangedFields = stateFields.filter((field) => field !== "replay_of")

export const toRunState = (row: RunRow): RunState => ({
  ...(Object.fromEntries(
    unchangedFields.flatMap((field) => (row[field] === undefined ? [] : [[field, row[field]]]))
  ) as unknown as RunState),
  ...earlierRunOf(row),
  ...durationOf(row)
})
