/** What the statements about runs share: the table `runs`, read as `r`. */
import { Statement } from "@effect/sql"
import { type Run, RunRow, toRun } from "../../domain/Run.ts"
import {
  allStatuses,
  answeredStatuses,
  finalStatuses,
  isFinal,
  lateAnswerStatuses,
  type RunStatus
} from "../../domain/RunStatus.ts"
import { fromRow, list } from "./Columns.ts"

const columnOf = (field: string): string =>
  field === "run_id" ? "r.id as run_id" : field === "timeout_ms" ? "r.timeout_ms::float8 as timeout_ms" : `r.${field}`

/** These fields of a run, from `runs` as `r`. */
export const columnsOf = (fields: ReadonlyArray<keyof RunRow>): Statement.Fragment => list(fields.map(columnOf))

const fields = Object.keys(RunRow.fields) as ReadonlyArray<keyof RunRow>

/** All fields of a run, for `runFromRow`. */
export const runColumns = columnsOf(fields)

export const runFromRow = (row: object): Run => toRun(fromRow<RunRow>(row, fields))

const oneOfStatuses = (statuses: ReadonlyArray<RunStatus>): Statement.Fragment =>
  Statement.unsafeFragment(`(${statuses.map((status) => `'${status}'`).join(", ")})`)

/**
 * `status in ${live}`: not finished. As literals, and spelled like this: partial indexes are over the same list, and the
 * planner uses one only where it recognises the list.
 */
export const live = oneOfStatuses(allStatuses.filter((status) => !isFinal(status)))

/** `status in ${final}`: finished. */
export const final = oneOfStatuses(finalStatuses)

/** `status in ${answered}`: finished, and the team was at work until then. */
export const answered = oneOfStatuses(answeredStatuses)

/** `status in ${storesLateAnswer}`: finished; an answer may still be stored. */
export const storesLateAnswer = oneOfStatuses(lateAnswerStatuses)

/**
 * `from ${waiting}`: how many runs are queued and not admitted, by team, webhook (null for chat) and hour of acceptance, in
 * rows of which any number belong together: what is kept, and what `rollUp` has not added to it yet.
 */
export const waiting = Statement.unsafeFragment(`(
  select team, webhook_id, accepted_hour, runs from webhook_trigger.lane_counts
  union all
  select team, webhook_id, accepted_hour, runs from webhook_trigger.run_count_changes where status = 'queued'
) as waiting`)
