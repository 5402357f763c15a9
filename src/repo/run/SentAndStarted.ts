import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Run } from "../../domain/run/Run.ts"
import { whenTraced } from "../../telemetry/Span.ts"
import { eventTypes, recordset, runIds } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import type { NotifySoon } from "../database/NotifySoon.ts"
import { live, sentBeforeStart, storesLateAnswer } from "../RunColumns.ts"
import { firstOfEach, type RunEvent } from "./RunEnd.ts"

/** `RunStore.sent` and `RunStore.started`. */
export const makeMarks = Effect.fnUntraced(function* (notifySoon: NotifySoon) {
  const sql = yield* SqlClient.SqlClient

  /**
   * The beginning of a `with` query for events whose loss in a crash of PostgreSQL does no harm: their commit does not
   * wait for the disk. A run that is not known to be sent is sent again, as the same run.
   */
  const locked = (events: ReadonlyArray<RunEvent>) => sql`
    input as materialized (
      select * from ${recordset(sql, eventTypes, events)}
    ), locked as materialized (
      select
        r.id, r.status in ${live} and r.admitted_at is not null as counts,
        r.status in ${storesLateAnswer} and r.released_at is not null as is_over
      from webhook_trigger.runs r
      where r.id = any(${runIds(sql, events)})
      order by r.id for no key update
    ), relaxed as materialized (select set_config('synchronous_commit', 'off', true))`

  const sent = Effect.fnUntraced(function* (events: ReadonlyArray<RunEvent>) {
    if (events.length === 0) return
    yield* bounded(sql`
      with ${locked(firstOfEach(events))}
      update webhook_trigger.runs r set
        status = 'running',
        sent_at = case when r.started_at is null then i.at
          else coalesce(r.sent_at, ${sentBeforeStart(sql, sql`i.at`, sql`r.started_at`)}) end,
        deadline_at = case
          when r.mode = 'async' and r.started_at is null then i.at + r.timeout_ms * interval '1 millisecond'
          else r.deadline_at
        end
      from input i join locked on locked.id = i.run_id, relaxed
      where r.id = i.run_id and locked.counts`)
  }, whenTraced("RunStore.sent"))

  const started = Effect.fnUntraced(function* (events: ReadonlyArray<RunEvent>) {
    if (events.length === 0) return []
    const rows = yield* bounded(sql<Pick<Run, "run_id" | "team"> & { readonly is_over: boolean }>`
      with ${locked(firstOfEach(events))}, started as (
      update webhook_trigger.runs r set
        status = 'running',
        started_at = i.at,
        sent_at = ${sentBeforeStart(sql, sql`r.sent_at`, sql`i.at`)},
        deadline_at = case
          when r.mode = 'async' then i.at + r.timeout_ms * interval '1 millisecond' else r.deadline_at
        end
      from input i join locked on locked.id = i.run_id, relaxed
      where r.id = i.run_id and locked.counts and r.started_at is null
      returning r.id, r.team
      )
      select id as run_id, team, false as is_over from started
      union all
      select r.id, r.team, true from locked join webhook_trigger.runs r using (id) where locked.is_over`)
    notifySoon(rows.flatMap(({ is_over, run_id }) => (is_over ? [] : [{ _tag: "RunStarted" as const, run_id }])))
    return rows.flatMap(({ is_over, run_id, team }) => (is_over ? [{ run_id, team }] : []))
  }, whenTraced("RunStore.started"))

  return { sent, started }
})
