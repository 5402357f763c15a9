import { SqlClient } from "@effect/sql"
import { DateTime, Effect } from "effect"
import type { RunId } from "../../../domain/Id.ts"
import { noLeaderInTime, type Run } from "../../../domain/run/Run.ts"
import { isFinal } from "../../../domain/run/RunStatus.ts"
import type { TeamName } from "../../../domain/Team.ts"
import type { ExpireOptions } from "../../run/RunStore.ts"
import { notify } from "../Changes.ts"
import { uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { answered, live, runColumns, runFromRow, stopAtOf, unreleased } from "../RunColumns.ts"

/** Number of runs that one statement checks. */
const step = 500

/**
 * `RunStore.expire`. The rule for an asynchronous run that was sent and has not started: its prompt waits behind
 * another one. While its team works on an earlier run, its clock is paused, and is read again when that run's own
 * deadline would pass. If the team has answered an earlier run since this one was sent, its clock starts again from
 * there. The team may be at work on an ended run until that is released, which counts as its answer. A later run
 * does not count: if the team works on that, this prompt was passed over, and is lost. All this is checked only once
 * the deadline in the row has passed, so the busy path writes nothing for it.
 */
export const makeExpire = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const expireSome = (now: Date, notSent: ReadonlyArray<RunId>, stopped: ReadonlyArray<TeamName>) => {
    /**
     * Before admission, the deadline of an asynchronous run limits its wait for a leader, from its acceptance or the
     * end of its team's last pause.
     */
    const isDue = sql`deadline_at <= ${now} and case
            when mode = 'wait' then true
            when admitted_at is null then exists (
              select from stopped s
              where s.name = team and deadline_at + greatest(s.resumed_at - accepted_at, interval '0') <= ${now}
            )
            else id <> all(${uuids(sql, notSent)})
          end`
    return bounded(sql<{ readonly status: Run["status"] }>`
      with stopped as materialized (
        select t.team as name, t.resumed_at from webhook_trigger.teams t
        where t.paused_at is null
          and t.team in (select json_array_elements_text(${JSON.stringify(stopped)}::json))
      ), due as materialized (
        select r.id, r.place, r.team, r.mode, r.sent_at, r.admitted_at, r.started_at, r.timeout_ms * interval '1 millisecond' as timeout
        from webhook_trigger.runs r
        where r.id in (
            select id from webhook_trigger.runs
            where status in ${live} and ${isDue}
            order by deadline_at limit ${step}
          )
          and r.status in ${live} and ${isDue}
        order by r.id for no key update
      ), decided as materialized (
        select d.id, d.mode = 'async' and d.admitted_at is null as without_leader, case when d.mode = 'async' and d.sent_at is not null and d.started_at is null then
          d.timeout + coalesce(
            greatest(
              (
                select max(greatest(b.deadline_at, ${now})) from webhook_trigger.runs b
                where b.team = d.team and b.place < d.place and b.status in ${live} and b.admitted_at is not null
                  and b.status = 'running' and b.started_at is not null and b.id <> d.id
              ),
              (
                select max(greatest(r.stop_at, ${now})) from webhook_trigger.runs r
                where r.team = d.team and r.place < d.place and ${unreleased} and r.started_at is not null
              )
            ),
            greatest(
              (
                select f.finished_at from webhook_trigger.runs f
                where f.team = d.team and f.place < d.place and f.finished_at > d.sent_at and f.status in ${answered}
                order by f.finished_at desc limit 1
              ),
              (
                select max(f.released_at) from webhook_trigger.runs f
                where f.team = d.team and f.place < d.place and f.released_at > d.sent_at and f.admitted_at is not null
              )
            )
          )
        end as later
        from due d
      ), changed as (
        update webhook_trigger.runs r set
          deadline_at = case when f.later > ${now} then f.later else r.deadline_at end,
          stop_at = case
            when f.later > ${now} or r.admitted_at is null then null
            else ${stopAtOf(sql, sql`${now}::timestamptz`, sql`coalesce(r.started_at, r.sent_at)`)}
          end,
          released_at = case when r.admitted_at is null and not f.without_leader then ${now}::timestamptz end,
          status = case when f.later > ${now} then r.status when f.without_leader then 'error' else 'timeout' end,
          error_code = case when f.without_leader then ${noLeaderInTime.code} end,
          error_message = case when f.without_leader then ${noLeaderInTime.message} end,
          started_at = case when f.later > ${now} then r.started_at else coalesce(r.started_at, r.sent_at) end,
          finished_at = case when f.later > ${now} then null else ${now}::timestamptz end,
          recorded_at = case when f.later > ${now} then null else now() end,
          collecting_until = null
        from decided f
        where r.id = f.id and r.status in ${live}
        returning r.*
      ), ${notify(sql, "RunEnded", sql`select id::text as name from changed where finished_at is not null`)}
      select ${runColumns}, (select count(*) from notified)
      from changed r`)
  }

  return Effect.fn("RunStore.expire")(function* (
    now: DateTime.Utc,
    { notSent = [], stopped = [] }: ExpireOptions = {}
  ) {
    const expired: Array<Run> = []
    for (;;) {
      const rows = yield* expireSome(DateTime.toDateUtc(now), notSent, stopped)
      expired.push(...rows.filter((row) => isFinal(row.status)).map(runFromRow))
      if (rows.length < step) return expired
    }
  })
})
