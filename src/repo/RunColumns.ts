/** SQL that statements about runs share: the table `runs`, as `r`. */
import { type SqlClient, Statement } from "effect/sql"
import { approvalDays } from "../domain/run/Held.ts"
import { type Run, RunRow, toRun } from "../domain/run/Run.ts"
import {
  allStatuses,
  answeredStatuses,
  finalStatuses,
  isFinal,
  lateAnswerStatuses,
  type RunStatus
} from "../domain/run/RunStatus.ts"
import { type RunSummary, type SummaryRow, shownLength, toRunSummary } from "../domain/run/RunSummary.ts"
import { fromRow, list } from "./Columns.ts"

const columnOf = (field: string): string =>
  field === "run_id" ? "r.id as run_id" : field === "timeout_ms" ? "r.timeout_ms::float8 as timeout_ms" : `r.${field}`

/** These fields of a run, from `runs` as `r`. */
export const columnsOf = (fields: ReadonlyArray<keyof RunRow>): Statement.Fragment => list(fields.map(columnOf))

/** When a run was sent whose leader has reported its start: before that, even if the broker's confirmation took longer. */
export const sentBeforeStart = (sql: SqlClient.SqlClient, sent: Statement.Fragment, start: Statement.Fragment) =>
  sql`case when ${start} <= ${sent} then ${start} - interval '1 millisecond' else ${sent} end`

const fields = Object.keys(RunRow.fields) as ReadonlyArray<keyof RunRow>

/** All fields of a run, for `runFromRow`. */
export const runColumns = columnsOf(fields)
/** The same as text. */
export const runColumnsText = fields.map(columnOf).join(", ")

export const runFromRow = (row: object): Run => toRun(fromRow<RunRow>(row, fields))

/** A text's beginning and its bytes. PostgreSQL knows both without reading all of a long text. */
const beginning = (text: string, name: string, size: string) =>
  [`left(${text}, ${shownLength}) as ${name}`, `octet_length(${text}) as ${size}`] as const

/** A summary shows the beginning of these texts, and no schema. */
const cut = {
  variables: beginning("r.variables_text", "variables", "variables_size"),
  prompt: beginning("r.prompt", "prompt", "prompt_size"),
  response: beginning("r.response", "response", "response_size"),
  agent: ["nullif(r.agent::jsonb - 'answer_schema', '{}') as agent"],
  error_message: beginning("r.error_message", "error_message", "error_size")
} as const satisfies { readonly [Field in keyof RunRow]?: unknown }

const summaryColumns = list(
  fields.flatMap((field): ReadonlyArray<string> => (field in cut ? cut[field as keyof typeof cut] : [columnOf(field)]))
)

/**
 * Summaries of `from runs`, a query of all columns of some runs, newest first. Texts are cut last, once the runs are
 * known, and JSON texts are made once, since PostgreSQL reads the whole text to make one.
 */
export const summariesOf = (
  sql: SqlClient.SqlClient,
  runs: Statement.Fragment,
  order: Statement.Fragment = Statement.fragment([Statement.literal("r.seq")])
): Statement.Fragment => sql`
  select ${summaryColumns}, r.seq::float8 as seq from (
    select wanted.*, wanted.variables::text as variables_text from (${runs}) as wanted offset 0
  ) as r order by ${order} desc`

export const summaryFromRow = (row: object): RunSummary => toRunSummary(fromRow<SummaryRow>(row, summaryFields))

const summaryFields = [...fields, "variables_size", "prompt_size", "response_size", "error_size"]

const oneOfStatuses = (statuses: ReadonlyArray<RunStatus>): Statement.Fragment =>
  Statement.fragment([Statement.literal(`(${statuses.map((status) => `'${status}'`).join(", ")})`)])

/**
 * `status in ${live}`: not finished. As literals, in this spelling: partial indexes use the same list, and the planner
 * must recognize it.
 */
export const live = oneOfStatuses(allStatuses.filter((status) => !isFinal(status)))

/** A run is queued and not admitted. There is an index of these, in which they are counted. */
export const isWaiting = Statement.fragment([Statement.literal("(status = 'queued' and admitted_at is null)")])

/** A run `r` waits in its lane, which is ordered by `place`. A held run has no place yet. */
export const inLane = Statement.fragment([
  Statement.literal("(r.status = 'queued' and r.admitted_at is null and r.place is not null)")
])

/** The team `t` may get prompts: it is not paused, and does not rest. As in `headOf` of the function `admit`. */
export const mayWork = Statement.fragment([Statement.literal("(t.paused_at is null and t.resting_until is null)")])

/** A run `r` waits for its approval. There is an index of these, in this spelling. */
export const isAwaitingApproval = Statement.fragment([Statement.literal("r.held_for = 'approval'")])

/** Assignments of a run that is no longer held. The end of a run makes them, too. */
export const notHeld = Statement.fragment([
  Statement.literal("held_for = null, held_until = null, needs_approval = null")
])

/** How long a run waits for its approval. */
export const approvalTime = Statement.fragment([Statement.literal(`interval '${approvalDays} days'`)])

/** Nobody has replied to the question of a run `r` that asks one, and its conversation has not ended. */
export const isUnanswered = Statement.fragment([
  Statement.literal(`(r.thread_id is null or exists (
  select from webhook_trigger.threads t where t.id = r.thread_id and t.ended_at is null
) and not exists (
  select from webhook_trigger.runs later where later.thread_id = r.thread_id and later.seq > r.seq
))`)
])

/**
 * When the leader of the run `r`, which times out at the time `at` with this start, is told to stop. Nobody waits for an
 * asynchronous run; the agent of a waiting caller's may go on, if it has the prompt. `greatest` ignores null.
 */
export const stopAtOf = (sql: SqlClient.SqlClient, at: Statement.Fragment, started: Statement.Fragment) =>
  sql`greatest(${at}, ${started} + r.max_work_ms * interval '1 millisecond')`

/** The last step that the agent of a run `r` reported, for a timeout. */
export const lastStep = Statement.fragment([
  Statement.literal(
    `(select t.steps -> -1 ->> 'title' from webhook_trigger.run_steps t where t.run_id = r.id order by t.position desc limit 1)`
  )
])

/** `status in ${final}`: finished. */
export const final = oneOfStatuses(finalStatuses)

/** `status in ${answered}`: finished, and the team worked until then. */
export const answered = oneOfStatuses(answeredStatuses)

/** `status in ${storesLateAnswer}`: finished; an answer may still be stored. */
export const storesLateAnswer = oneOfStatuses(lateAnswerStatuses)

/** A run `r` has ended, but its agent may still work: as `isUnreleased`. */
export const unreleased = Statement.fragment([Statement.literal("(r.stop_at is not null and r.released_at is null)")])

/**
 * A run `r` is out: admitted and not released. A team has one at most, and holds a slot for it. In this spelling: the unique
 * index of these runs has the same condition.
 */
export const isOut = Statement.fragment([
  Statement.literal(
    `(r.status in ${"('queued', 'running')"} and r.admitted_at is not null or r.stop_at is not null and r.released_at is null)`
  )
])
