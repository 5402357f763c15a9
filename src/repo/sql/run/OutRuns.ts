/** Runs that are out, from rows. */
import { type SqlClient, Statement } from "@effect/sql"
import type { ThreadId } from "../../../domain/Id.ts"
import { type AgentReport, sessionOf } from "../../../domain/run/AgentReport.ts"
import type { ThreadTurn } from "../../../domain/run/PromptBody.ts"
import type { OutRun } from "../../run/RunStore.ts"
import { fromRow } from "../Columns.ts"

/** What a prompt has of its thread's earlier runs at most, in characters. They are read under the lock of a step. */
const historySize = 64 * 1024
/** Of each of their texts. */
const historyText = 16 * 1024
const historyRuns = 10

/** PostgreSQL reads no more of a long text than its beginning, whose length in bytes it knows. */
const shortened = (text: string): Statement.Fragment => {
  const beginning = `left(${text}, ${historyText})`
  return Statement.unsafeFragment(
    `case when octet_length(${text}) > octet_length(${beginning}) then ${beginning} || '…' else ${text} end`
  )
}

/**
 * Beside `runColumns`: of `runs` as `r`, and its webhook as `w`. `report`: of the last run of its thread. `ended`: the query of the
 * runs that this statement ends, whose answers are not seen in `runs`.
 */
export const outColumns = (
  sql: SqlClient.SqlClient,
  report: Statement.Fragment,
  ended: Statement.Fragment = sql`select null::uuid as id, null as response`
): Statement.Fragment => sql`
  r.layout, case when w.id is not null then
    json_strip_nulls(json_build_object(
      'id', w.id, 'name', w.name,
      'max_cost_per_day', case when r.replay_of is null or r.attempt > 1 then w.max_cost_per_day end
    ))
  end as webhook, ${report} as thread_report,
  case when r.thread_id is not null and (w.thread_history or ${report} -> 'session_id' is null) then (
    select json_agg(json_build_object('prompt', h.prompt, 'response', h.response) order by h.place)
    from (
      select e.*, sum(length(e.prompt) + length(e.response)) over (order by e.place desc) as size
      from (
        select e.place, ${shortened("e.prompt")} as prompt, ${shortened("coalesce(e.response, d.response)")} as response
        from webhook_trigger.runs e left join (${ended}) as d on d.id = e.id
        where e.thread_id = r.thread_id and e.place < r.place and coalesce(e.response, d.response) is not null
        order by e.place desc limit ${historyRuns}
      ) as e
    ) as h
    where h.size <= ${historySize}
  ) end as thread_history`

/** In their place, for other rows. */
export const noOutColumns: Statement.Fragment = Statement.unsafeFragment(
  "null::json, null::json, null::json, null::json"
)

const fields = [
  "run_id",
  "source",
  "team",
  "mode",
  "status",
  "prompt",
  "layout",
  "agent",
  "files",
  "timeout_ms",
  "deadline_at",
  "stop_at",
  "traceparent",
  "thread_key",
  "accepted_at",
  "admitted_at",
  "sent_at",
  "rests",
  "webhook"
] as const satisfies ReadonlyArray<keyof OutRun>

export const outRunFromRow = (row: object): OutRun => {
  const { thread_history, thread_id, thread_report } = fromRow<{
    readonly thread_history?: ReadonlyArray<ThreadTurn>
    readonly thread_id?: ThreadId
    readonly thread_report?: AgentReport
  }>(row, ["thread_history", "thread_id", "thread_report"])
  return {
    ...fromRow<OutRun>(row, fields),
    ...(thread_id && {
      thread: {
        id: thread_id,
        ...(thread_report && sessionOf(thread_report)),
        ...(thread_history && { history: thread_history })
      }
    })
  }
}
