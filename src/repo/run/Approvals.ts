import { DateTime, Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { RunId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import { notify } from "../Changes.ts"
import { bounded } from "../database/Database.ts"
import { isAwaitingApproval, notHeld, runColumns, runFromRow } from "../RunColumns.ts"
import { nextPlace } from "./Holds.ts"
import type { RunStore } from "./RunStore.ts"

/** Number of runs that one statement cancels. */
const portion = 500

/** `RunStore.decide` and `RunStore.expireApprovals`. */
export const makeApprovals = Effect.map(SqlClient.SqlClient, (sql) => {
  const cancelledAt = (at: Date) => sql`
    status = 'cancelled', finished_at = ${at}, released_at = ${at}, recorded_at = now(), ${notHeld}`

  /**
   * The second of two at the same time waits for the first one's lock, and then finds no such run. The lock of
   * `singletons` comes before those of runs. The function sees the run as it is changed: approved, it waits no more.
   */
  const change = (id: RunId, time: Date, set: Statement.Fragment, tag: "RunChanged" | "RunEnded") =>
    bounded(sql<{ readonly decided: TeamName; readonly run_id: RunId | null }>`
      with alone as materialized (
        select from webhook_trigger.singletons for no key update
      ), changed as (
        update webhook_trigger.runs r set ${set} from alone
        where r.id = ${id} and ${isAwaitingApproval} and r.held_until > ${time}
        returning r.*
      ), superseded as materialized (
        select s.* from changed c, lateral webhook_trigger.cancel_singletons(
          array[c.webhook_id], array[c.team], array[c.singleton_key], array[c.id], 'superseded', ${time}::timestamptz, 'infinity'
        ) as s where c.supersedes is not null and c.status = 'queued'
      ), ${notify(sql, tag, sql`select id::text as name from changed`)},
      ${notify(sql, "RunEnded", sql`select id::text as name from superseded`, "ended")}
      select c.team as decided, ${runColumns}, (select count(*) from notified), (select count(*) from ended)
      from changed c left join superseded r on true`)

  const decide: typeof RunStore.Service.decide = (id, { approves, at, by }) => {
    const time = DateTime.toDateUtc(at)
    const decided = approves
      ? change(
          id,
          time,
          sql`place = ${nextPlace(sql)}, ${notHeld}, decided_by = ${by},
            deadline_at = ${time}::timestamptz + (r.deadline_at - r.held_until)`,
          "RunChanged"
        )
      : change(id, time, sql`${cancelledAt(time)}, cancelled_by = 'denied', decided_by = ${by}`, "RunEnded")
    return Effect.map(
      decided,
      ([row, ...more]) =>
        row && {
          team: row.decided,
          superseded: [row, ...more].flatMap((row) => (row.run_id === null ? [] : [runFromRow(row)]))
        }
    )
  }

  const expireApprovals = Effect.fnUntraced(function* (now: DateTime.Utc) {
    const time = DateTime.toDateUtc(now)
    const expired: Array<Run> = []
    for (;;) {
      const rows = yield* bounded(sql`
        with due as materialized (
          select r.id from webhook_trigger.runs r where r.held_until <= ${time} and ${isAwaitingApproval}
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
