import { SqlClient } from "@effect/sql"
import { Effect, Exit, Option } from "effect"
import type { RunId } from "../../domain/Id.ts"
import type { Outcome } from "../../domain/Run.ts"
import type { Ending } from "../Repo.ts"
import { type RunRow, storable, toRun } from "../RunRow.ts"
import { makeBatch } from "./Batch.ts"
import { tell } from "./Changes.ts"
import { bounded } from "./Database.ts"
import { oneOf, runColumns } from "./RunColumns.ts"

interface Mark {
  readonly id: RunId
  readonly at: Date
}
interface End extends Mark {
  readonly outcome: Outcome
}
type Report = (Mark & { readonly _tag: "Started" }) | (End & { readonly _tag: "Ended" })

const nothing: Ending = { recorded: false, run: Option.none() }

/**
 * The part of the SQL `Repo` that records what became of runs. Every statement locks the runs it may change in the order
 * of their ids, so that two of them never wait for each other.
 */
export const makeReports = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = runColumns(sql)

  /**
   * A `with` query for marks whose loss in a crash of PostgreSQL does no harm: their commit does not wait for the disk.
   * A run that is not known to be sent is sent again, as the same run.
   */
  const relaxed = sql`relaxed as materialized (select set_config('synchronous_commit', 'off', true))`

  const sentAll = (marks: ReadonlyArray<Mark>) =>
    bounded(sql`
      with input as materialized (
        select * from json_to_recordset(${JSON.stringify(marks)}::json) as i(id uuid, at timestamptz)
      ), locked as materialized (
        select r.id from webhook_trigger.runs r
        where r.id in (select id from input) and r.status in ('queued', 'running') and r.admitted_at is not null
        order by r.id for no key update
      ), ${relaxed}
      update webhook_trigger.runs r set
        status = 'running',
        sent_at = case when r.started_at is null then i.at else coalesce(r.sent_at, least(i.at, r.started_at)) end,
        deadline_at = case
          when r.mode = 'async' and r.started_at is null then i.at + r.timeout_ms * interval '1 millisecond'
          else r.deadline_at
        end
      from input i join locked on locked.id = i.id, relaxed
      where r.id = i.id and r.status in ('queued', 'running') and r.admitted_at is not null`)

  const startedAll = (marks: ReadonlyArray<Mark>) =>
    bounded(sql`
      with input as materialized (
        select * from json_to_recordset(${JSON.stringify(marks)}::json) as i(id uuid, at timestamptz)
      ), locked as materialized (
        select r.id from webhook_trigger.runs r
        where r.id in (select id from input) and r.status in ('queued', 'running') and r.admitted_at is not null
        order by r.id for no key update
      ), ${relaxed}, started as (
        update webhook_trigger.runs r set
          status = 'running',
          started_at = i.at,
          deadline_at = case
            when r.mode = 'async' then i.at + r.timeout_ms * interval '1 millisecond' else r.deadline_at
          end
        from input i join locked on locked.id = i.id, relaxed
        where r.id = i.id and r.status in ('queued', 'running') and r.admitted_at is not null and r.started_at is null
        returning r.id
      ), ${tell(sql, "RunStarted", sql`select id::text as name from started`)}
      select count(*) from told`)

  const record = (ends: ReadonlyArray<End>) => {
    const input = ends.map(({ id, at, outcome }) => ({ id, at, ...fieldsOf(outcome) }))
    return bounded(sql<RunRow>`
      with input as materialized (
        select * from json_to_recordset(${JSON.stringify(input)}::json) as i(
          id uuid, at timestamptz, status text, response text, error_code text, error_message text, answered boolean
        )
      ), locked as materialized (
        select r.id from webhook_trigger.runs r
        where r.id in (select id from input) and r.status in ('queued', 'running')
        order by r.id for no key update
      ), ended as (
        update webhook_trigger.runs r set
          status = i.status, response = i.response, error_code = i.error_code, error_message = i.error_message,
          started_at = coalesce(r.started_at, r.sent_at, case when i.answered then r.admitted_at end),
          finished_at = i.at
        from input i join locked on locked.id = i.id
        where r.id = i.id and r.status in ('queued', 'running')
        returning r.*
      ), ${tell(sql, "RunEnded", sql`select id::text as name from ended`)}
      select ${columns}, (select count(*) from told) from ended r`)
  }

  /** Answers to runs that have timed out. */
  const keepLate = (ends: ReadonlyArray<End>) => {
    const input = ends.map(({ id, outcome }) => ({ id, ...fieldsOf(outcome) }))
    return bounded(sql`
      update webhook_trigger.runs r set response = i.response
      from json_to_recordset(${JSON.stringify(input)}::json) as i(id uuid, response text)
      where r.id = i.id and r.status = 'timeout' and r.response is null and i.response is not null`)
  }

  const asTheyAre = (ids: ReadonlyArray<RunId>) =>
    bounded(sql<RunRow>`select ${columns} from webhook_trigger.runs r where r.id in ${oneOf(sql, ids)}`)

  const endAll = Effect.fnUntraced(function* (ends: ReadonlyArray<End>) {
    const endings = new Map<End, Ending>()
    const heads = firstOfEach(ends)
    const recorded = new Map((yield* record(heads)).map((row) => [row.id, toRun(row)]))
    for (const end of heads) {
      const run = recorded.get(end.id)
      if (run) endings.set(end, { recorded: true, run: Option.some(run) })
    }
    const late = ends.filter((end) => !endings.has(end))
    if (late.length === 0) return endings
    // Only a statement of its own sees what another has committed meanwhile.
    const answers = firstOfEach(late.filter(({ outcome }) => outcome.status === "success"))
    if (answers.length > 0) yield* keepLate(answers)
    const runs = new Map((yield* asTheyAre(late.map(({ id }) => id))).map((row) => [row.id, toRun(row)]))
    for (const end of late) endings.set(end, { recorded: false, run: Option.fromNullable(runs.get(end.id)) })
    return endings
  })

  const reportAll = Effect.fn("Repo.report")(function* (reports: ReadonlyArray<Report>) {
    const ended = new Set<RunId>()
    const starts: Array<Mark> = []
    const ends: Array<End> = []
    for (const report of reports) {
      if (report._tag === "Ended") {
        ends.push(report)
        ended.add(report.id)
      } else if (!ended.has(report.id)) starts.push({ id: report.id, at: report.at })
    }
    if (starts.length > 0) yield* startedAll(firstOfEach(starts))
    const endings = ends.length > 0 ? yield* endAll(ends) : new Map<Report, Ending>()
    return reports.map((report) => Exit.succeed(report._tag === "Ended" ? endings.get(report)! : nothing))
  })

  const sent = yield* makeBatch({
    size: 500,
    run: (marks: ReadonlyArray<Mark>) =>
      Effect.as(
        sentAll(firstOfEach(marks)),
        marks.map(() => Exit.void)
      )
  })
  // One line for both, so that they are recorded in the order in which they came.
  const report = yield* makeBatch({
    size: 500,
    weight: { of: (report: Report) => (report._tag === "Ended" ? sizeOf(report.outcome) : 0), limit: 4_000_000 },
    run: reportAll
  })

  return {
    sent: (id: RunId, at: Date) => sent({ id, at }),
    started: (id: RunId, at: Date) => Effect.asVoid(report({ _tag: "Started", id, at })),
    end: (id: RunId, outcome: Outcome, at: Date) => report({ _tag: "Ended", id, outcome, at })
  }
})

const fieldsOf = (outcome: Outcome) => {
  switch (outcome.status) {
    case "success":
      return { status: outcome.status, response: storable(outcome.response), answered: true }
    case "error": {
      const { code, message } = outcome.error
      return {
        status: outcome.status,
        error_code: code,
        error_message: storable(message),
        answered: code === "agent_error"
      }
    }
    case "timeout":
      return { status: outcome.status, answered: false }
  }
}

const sizeOf = (outcome: Outcome): number =>
  outcome.status === "success" ? outcome.response.length : outcome.status === "error" ? outcome.error.message.length : 0

const firstOfEach = <A extends { readonly id: RunId }>(items: ReadonlyArray<A>): ReadonlyArray<A> => [
  ...new Map(items.toReversed().map((item) => [item.id, item])).values()
]
