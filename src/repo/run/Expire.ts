import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { noLeaderInTime, type Run } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import { notify } from "../Changes.ts"
import { bounded } from "../database/Database.ts"
import { lastStep, live, mayWork, notHeld, runColumns, runFromRow, stopAtOf } from "../RunColumns.ts"
import type { ExpireOptions } from "./RunStore.ts"

/** Number of runs that one statement checks. */
const step = 500

/** `RunStore.expire`. */
export const makeExpire = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const expireSome = (now: Date, stopped: ReadonlyArray<TeamName>) => {
    /**
     * Before its admission, the deadline of an asynchronous run limits its wait for a leader, from its acceptance or the end of
     * its team's last pause or rest. After that, its clock begins when it is sent.
     */
    const isDue = sql`deadline_at <= ${now} and case
            when mode = 'wait' then true
            when admitted_at is null then exists (
              select from stopped s
              where s.name = team and deadline_at + greatest(s.resumed_at - accepted_at, interval '0') <= ${now}
            )
            else sent_at is not null or started_at is not null
          end`
    return bounded(sql`
      with stopped as materialized (
        select t.team as name, t.resumed_at from webhook_trigger.teams t
        where ${mayWork}
          and t.team in (select json_array_elements_text(${JSON.stringify(stopped)}::json))
      ), due as materialized (
        select r.id, r.mode = 'async' and r.admitted_at is null as without_leader
        from webhook_trigger.runs r
        where r.id in (
            select id from webhook_trigger.runs
            where status in ${live} and held_for is null and ${isDue}
            order by deadline_at limit ${step}
          )
          and r.status in ${live} and r.held_for is null and ${isDue}
        order by r.id for no key update
      ), changed as (
        update webhook_trigger.runs r set
          stop_at = case
            when r.admitted_at is not null then
              ${stopAtOf(sql, sql`${now}::timestamptz`, sql`coalesce(r.started_at, r.sent_at)`)}
          end,
          released_at = case when r.admitted_at is null and not d.without_leader then ${now}::timestamptz end,
          status = case when d.without_leader then 'error' else 'timeout' end,
          error_code = case when d.without_leader then ${noLeaderInTime.code} end,
          error_message = case when d.without_leader then ${noLeaderInTime.message} else ${lastStep} end,
          started_at = coalesce(r.started_at, r.sent_at),
          finished_at = ${now},
          recorded_at = now(),
          ${notHeld}
        from due d
        where r.id = d.id and r.status in ${live}
        returning r.*
      ), ${notify(sql, "RunEnded", sql`select id::text as name from changed`)}
      select ${runColumns}, (select count(*) from notified)
      from changed r`)
  }

  return Effect.fn("RunStore.expire")(function* (now: DateTime.Utc, { stopped = [] }: ExpireOptions = {}) {
    const expired: Array<Run> = []
    for (;;) {
      const rows = yield* expireSome(DateTime.toDateUtc(now), stopped)
      expired.push(...rows.map(runFromRow))
      if (rows.length < step) return expired
    }
  })
})
