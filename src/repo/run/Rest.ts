import { Effect } from "effect"
import { type SqlClient as Client, SqlClient, type Statement } from "effect/sql"
import type { RunId } from "../../domain/Id.ts"
import { leaderWait } from "../../domain/run/Run.ts"
import { whenTraced } from "../../telemetry/Span.ts"
import { notify } from "../Changes.ts"
import { type ColumnTypes, fromRow, recordset, runIds } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { answered, isOut, live } from "../RunColumns.ts"
import { firstOfEach } from "./RunEnd.ts"
import type { LimitedRun, Rest, RunStore } from "./RunStore.ts"

const inputTypes: ColumnTypes = {
  run_id: "uuid",
  at: "timestamptz",
  until: "timestamptz",
  reason: "text",
  rests: "integer"
}

/** The fields that the end of a rest sets. The clock of runs that wait for a leader starts again. */
export const awake = (sql: Client.SqlClient, now: Statement.Fragment): Statement.Fragment =>
  sql`resting_until = null, resting_reason = null, resumed_at = ${now}`

/** `RunStore.rest`. */
export const makeRest = Effect.map(SqlClient.SqlClient, (sql) => {
  /** The limits of the team `t` in a row, before this one. An answer since the last one shows that it was over. */
  const inARow = sql`case when exists (
      select from webhook_trigger.runs f
      where f.team = t.team and f.finished_at > t.rested_at and f.status in ${answered}
    ) then 0 else t.rest_count end`
  /** Doubled with each limit in a row. */
  const growing = (first: string, longest: string) =>
    sql`least(interval '${sql.literal(first)}' * power(2, least(n, 20)), interval '${sql.literal(longest)}')`
  // A limit whose end comes and changes nothing is not tried ever more quickly. A leader may name any time.
  const end = sql`case
      when until > at then least(greatest(until, at + ${growing("1 second", "1 minute")}), at + interval '31 days')
      else at + ${growing("1 minute", "1 hour")}
    end`

  const rest: typeof RunStore.Service.rest = Effect.fnUntraced(function* (limited) {
    if (limited.length === 0) return { rested: [], ended: [] }
    const runs = firstOfEach<LimitedRun>(limited)
    const rows = yield* bounded(sql<{ readonly run_id: RunId; readonly is_live: boolean; readonly is_back: boolean }>`
      with locked as materialized (
        select r.id, r.team, r.admitted_at, coalesce(r.rests, 0) as rests, r.status in ${live} as is_live, ${isOut} as is_out
        from webhook_trigger.runs r where r.id = any(${runIds(sql, runs)})
        order by r.id for no key update
      ), stopped as materialized (
        select l.*, i.at, i.until, i.reason
        from locked l join ${recordset(sql, inputTypes, runs)} on i.run_id = l.id
        where l.is_out and coalesce(i.rests, l.rests) = l.rests
      ), back as (
        update webhook_trigger.runs r set
          status = 'queued', admitted_at = null, sent_at = null, started_at = null, rests = s.rests + 1,
          deadline_at = case when r.mode = 'wait' then r.deadline_at else (
            select r.accepted_at + coalesce(w.queue_for_seconds, ${leaderWait}::int) * interval '1 second'
            from webhook_trigger.webhooks w where w.id = r.webhook_id and w.when_team_stopped = 'queue'
          ) end
        from stopped s where r.id = s.id and s.is_live
        returning r.id, r.team
      ), team as materialized (
        select t.team, t.resting_since, s.at, s.until, s.reason, ${inARow} as n
        from webhook_trigger.teams t join stopped s on s.team = t.team
        where t.rested_at is null or t.rested_at <= s.admitted_at
        order by t.team for no key update of t
      ), resting as (
        update webhook_trigger.teams t set
          rested_at = team.at,
          rest_count = n + 1,
          resting_since = case when n = 0 then team.at else coalesce(team.resting_since, team.at) end,
          resting_until = ${end},
          resting_reason = team.reason
        from team where t.team = team.team
        returning t.team, t.resting_until
      ), offered as materialized (
        select h.team from webhook_trigger.http_leaders h join back b on b.team = h.team and b.id = h.run_id
        order by h.team for no key update of h
      ), withdrawn as (
        update webhook_trigger.http_leaders h set run_id = null from offered o where h.team = o.team
      ), ${notify(sql, "RunChanged", sql`select id::text as name from back`)}
      select l.id as run_id, l.team, l.is_live, b.id is not null as is_back, g.resting_until as until,
        (select count(*) from notified)
      from locked l left join back b on b.id = l.id left join resting g on g.team = l.team`)
    return {
      rested: rows.flatMap((row) => (row.is_back ? [fromRow<Rest>(row, ["run_id", "team", "until"])] : [])),
      ended: rows.flatMap(({ is_live, run_id }) => (is_live ? [] : [run_id]))
    }
  }, whenTraced("RunStore.rest"))
  return rest
})
