/** The events of a run, in the format of this server. */
import { Schema } from "effect"
import { RunId } from "../../domain/Id.ts"
import { Run } from "../../domain/run/Run.ts"
import { optional } from "../../domain/Time.ts"
import { Conflict } from "../Problem.ts"
import { Accepted, Answered, Failed, TimedOut } from "./RunAnswers.ts"
import { StepReportSchema } from "./Steps.ts"

/** The id of every run's last event. */
export const endId = "end"

const Started = Schema.Struct({
  status: Schema.Literal("running"),
  run_id: RunId,
  started_at: Run.fields.started_at
})

export const RunProgress = Schema.Struct({
  /** Appended to the text so far. */
  text: optional(Schema.String),
  /** The agent's current activity, in one line. */
  activity: optional(Schema.String),
  /** Its steps. A step with the ID of an earlier one updates it. */
  steps: optional(Schema.Array(StepReportSchema)),
  /** The text so far is void: the work started over, or the client was too slow to receive all of it. */
  restart: optional(Schema.Literal(true))
})
export type RunProgress = typeof RunProgress.Type

/** The events by name, with their data. Exactly one of the last four is sent, as the last event. */
export const runEvents = {
  accepted: Accepted,
  started: Started,
  progress: RunProgress,
  success: Answered,
  error: Failed,
  timeout: TimedOut,
  cancelled: Conflict
} as const

type Events = typeof runEvents

export type RunEvent = {
  [Name in keyof Events]: { readonly event: Name; readonly data: Events[Name]["Type"] }
}[keyof Events]
