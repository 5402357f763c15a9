import { SqlClient, type Statement } from "@effect/sql"
import { DateTime, Effect } from "effect"
import type { RunId } from "../../../domain/Id.ts"
import type { Run } from "../../../domain/run/Run.ts"
import type { TeamName } from "../../../domain/Team.ts"
import type { RunStore } from "../../run/RunStore.ts"
import { notify } from "../Changes.ts"
import { bounded } from "../database/Database.ts"
import { isAwaitingApproval, runColumns, runFromRow } from "../RunColumns.ts"
import { nextPlace } from "./Coalesce.ts"

/** Number of runs that one statement cancels. */
const portion = 500

/** `RunStore.decide` and `RunStore.expireApprovals`. */
export const makeApprovals = Effect.map(SqlClient.SqlClient, (sql) => {
  const cancelledAt = (at: Date) => sql`
    status = 'cancelled', finished_at = ${at}, released_at = ${at}, recorded_at = now(), approval_until = null`

  /** Of two at the same time, the second waits for the first one's row lock, and then finds no such run. */
  const change = (id: RunId, time: Date, set: Statement.Fragment, tag: "RunChanged" | "RunEnded") =>
    bounded(sql<{ readonly team: TeamName }>`
      with changed as (
        update webhook_trigger.runs r set ${set} where r.id = ${id} and ${isAwaitingApproval} and r.approval_until > ${time}
        returning r.id, r.team
      ), ${notify(sql, tag, sql`select id::text as name from changed`)}
      select team, (select count(*) from notified) from changed`)

  const decide: typeof RunStore.Service.decide = (id, { approves, at, by }) => {
    const time = DateTime.toDateUtc(at)
    const decided = approves
      ? change(
          id,
          time,
          sql`place = ${nextPlace(sql)}, approval_until = null, decided_by = ${by},
            deadline_at = ${time}::timestamptz + (r.deadline_at - r.approval_until)`,
          "RunChanged"
        )
      : change(id, time, sql`${cancelledAt(time)}, cancelled_by = 'denied', decided_by = ${by}`, "RunEnded")
    return Effect.map(decided, ([row]) => row?.team)
  }

  const expireApprovals = Effect.fnUntraced(function* (now: DateTime.Utc) {
    const time = DateTime.toDateUtc(now)
    const expired: Array<Run> = []
    for (;;) {
      const rows = yield* bounded(sql`
        with due as materialized (
          select r.id from webhook_trigger.runs r where r.approval_until <= ${time} and ${isAwaitingApproval}
          order by r.id limit ${portion} for no key update
        ), ended as (
          update webhook_trigger.runs r set ${cancelledAt(time)}, cancelled_by = 'approval_expired'
          from due where r.id = due.id and ${isAwaitingApproval} returning r.*
        ), ${notify(sql, "RunEnded", sql`select id::text as name from ended`)}
        select ${runColumns}, (select count(*) from notified) from ended r`)
      expired.push(...rows.map(runFromRow))
      if (rows.length < portion) return expired
    }
  })

  return { decide, expireApprovals }
})
