/** Runs that are out, from rows. */
import type { SqlClient, Statement } from "effect/sql"
import type { ThreadId } from "../../domain/Id.ts"
import { type AgentReport, sessionOf } from "../../domain/run/AgentReport.ts"
import type { ThreadTurn } from "../../domain/run/PromptBody.ts"
import { fromRow } from "../Columns.ts"
import type { OutRun } from "./RunStore.ts"

/** Beside `runColumns`: of `runs` as `r`, and its webhook as `w`. `report`: of the last run of its thread. As in `step`. */
export const outColumns = (sql: SqlClient.SqlClient, report: Statement.Fragment): Statement.Fragment => sql`
  r.layout, case when w.id is not null then
    json_strip_nulls(json_build_object(
      'id', w.id, 'name', w.name,
      'max_cost_per_day', case when r.replay_of is null or r.attempt > 1 then w.max_cost_per_day end
    ))
  end as webhook, ${report} as thread_report,
  case when r.thread_id is not null and (w.thread_history or ${report} -> 'session_id' is null) then
    webhook_trigger.thread_history(r.thread_id, r.place)
  end as thread_history`

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
