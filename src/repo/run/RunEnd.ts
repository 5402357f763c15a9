/** The end of a run, as it is recorded, and the times that belong to it. */
import { DateTime } from "effect"
import type { RunId } from "../../domain/Id.ts"
import type { AgentReport } from "../../domain/run/AgentReport.ts"
import { isAnswer, type Outcome, outcomeFields, type Run, type RunRow } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { JsonObject } from "../../domain/webhook/WebhookSettingKinds.ts"

/** An event of a run, and its time. */
export interface RunEvent {
  readonly run_id: RunId
  readonly at: DateTime.Utc
}

/**
 * When a run was sent whose leader has reported its start: before that, even if the broker's confirmation took longer.
 * A run without such a report gets one time for both, when it ends.
 */
const sentBefore = <Sent extends DateTime.Utc | undefined>(
  sent_at: Sent,
  started_at: DateTime.Utc | undefined
): Sent | DateTime.Utc =>
  sent_at && started_at ? DateTime.min(sent_at, DateTime.subtract(started_at, { milliseconds: 1 })) : sent_at

/**
 * When an ending run was sent and started. An answer can arrive before the broker's confirmation: then it was sent between
 * its admission and the answer, and the admission is the closest time that is known.
 */
export const timesOfEnd = (
  { admitted_at, ...recorded }: Pick<RunRow, "admitted_at" | "sent_at" | "started_at">,
  end: Pick<RunEnd, "at" | "outcome" | "sent_at" | "started_at">
): Pick<RunRow, "sent_at" | "started_at"> => {
  const noLater = (time: DateTime.Utc | undefined) => time && DateTime.min(time, end.at)
  const reported = noLater(recorded.started_at ?? end.started_at)
  const confirmed = recorded.sent_at ?? end.sent_at
  const isKnown = confirmed !== undefined && DateTime.isLessThanOrEqualTo(confirmed, end.at)
  const wasSent = confirmed !== undefined || isAnswer(end.outcome)
  const sent_at = sentBefore(isKnown ? confirmed : wasSent ? noLater(admitted_at) : undefined, reported)
  const started_at = reported ?? sent_at
  return { ...(sent_at && { sent_at }), ...(started_at && { started_at }) }
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

/** What an answer is checked by. */
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
