/** The end of a run, as it is recorded, and the times that belong to it. */
import type { DateTime } from "effect"
import type { RunId } from "../../domain/Id.ts"
import type { AgentReport } from "../../domain/run/AgentReport.ts"
import { type Outcome, outcomeFields, type Run, type RunRow } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { JsonObject } from "../../domain/webhook/WebhookSettingKinds.ts"

/** An event of a run, and its time. */
export interface RunEvent {
  readonly run_id: RunId
  readonly at: DateTime.Utc
}

/** The end of a run, recorded unless another one came first. */
export interface RunEnd extends RunEvent {
  readonly outcome: Outcome
  /** False: the run need not be read if another end came first. Default: true. */
  readonly wantsRun?: boolean
  /** The answer matches the run's `answer_schema`. Default: a run with one does not end, and its result says so. */
  readonly isChecked?: boolean
  /** When it was sent and started, if that is not recorded yet. */
  readonly sent_at?: DateTime.Utc
  readonly started_at?: DateTime.Utc
}

/** The result of a `RunEnd`. */
export interface EndedRun {
  /** This call ended the run; otherwise `run` shows the first end. */
  readonly recorded: boolean
  /** The current run; `undefined`: unknown, deleted, or not requested. */
  readonly run: Run | undefined
  /** The run had ended without a report of its agent's work, and this call stored one. */
  readonly late?: LateReport
  /** The run has not ended: its answer must be checked first. */
  readonly unchecked?: UncheckedAnswer
}

/** The schema that an answer is checked by, and the run's team. */
export interface UncheckedAnswer {
  readonly team: TeamName
  readonly answer_schema: JsonObject
}

/** A report that came after the end of its run. */
export type LateReport = Required<Pick<RunRow, "team" | "report">>

/** Whether it says anything that is stored with a run that has ended: an answer, or a report of the work. */
export const addsLate = ({ outcome }: RunEnd): boolean =>
  outcome.status === "success" || (outcome.status === "error" && (outcome.response ?? outcome.report) !== undefined)

/** Whether it ends no run with an `answer_schema`, unless it is a question, which is no answer. */
export const isUnchecked = ({ isChecked = false, outcome }: RunEnd): boolean =>
  !isChecked && outcome.status === "success"

/** The report, if it has a question, for a run whose agent may not ask. */
export const withoutQuestion = ({ outcome }: RunEnd): AgentReport | undefined => {
  const { asks, ...report } = outcomeFields(outcome).report ?? {}
  return asks === undefined ? undefined : report
}

/** The first of several items for a run, in the order of the runs' first items. */
export const firstOfEach = <A extends { readonly run_id: string }>(items: Iterable<A>): ReadonlyArray<A> => {
  const first = new Map<string, A>()
  for (const item of items) if (!first.has(item.run_id)) first.set(item.run_id, item)
  return [...first.values()]
}
