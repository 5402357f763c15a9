import { SqlClient } from "@effect/sql"
import { DateTime, Effect } from "effect"
import type { Run } from "../../../domain/run/Run.ts"
import { whenTraced } from "../../../telemetry/Span.ts"
import { firstOfEach, type RunEvent } from "../../run/RunEnd.ts"
import { notify } from "../Changes.ts"
import { eventTypes, recordset, runIds } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { live, unreleased } from "../RunColumns.ts"

/** Number of runs that one statement releases. */
const step = 500

/** `RunStore.release` and `RunStore.releaseUnconfirmed`. */
export const makeRelease = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const release = Effect.fnUntraced(function* (events: ReadonlyArray<RunEvent>) {
    if (events.length === 0) return
    const first = firstOfEach(events)
    yield* bounded(sql`
      with input as materialized (
        select * from ${recordset(sql, eventTypes, first)}
      ), locked as materialized (
        select r.id from webhook_trigger.runs r where r.id = any(${runIds(sql, first)}) order by r.id for no key update
      ), released as (
        update webhook_trigger.runs r set released_at = coalesce(r.released_at, i.at), unconfirmed = null
        from input i join locked on locked.id = i.run_id where r.id = i.run_id and (${unreleased} or r.unconfirmed)
        returning r.id
      ), ${notify(sql, "RunEnded", sql`select id::text as name from released`)}
      select count(*) from notified`)
  }, whenTraced("RunStore.release"))

  const releaseUnconfirmed = Effect.fnUntraced(function* (toldBy: DateTime.Utc, now: DateTime.Utc) {
    return yield* bounded(sql<Pick<Run, "run_id" | "team">>`
      with due as materialized (
        select r.id, r.team, r.place from webhook_trigger.runs r
        where ${unreleased} and r.stop_at <= ${DateTime.toDateUtc(toldBy)}
        order by r.id limit ${step} for no key update
      ), decided as materialized (
        select d.id, exists (
          select from webhook_trigger.runs r
          where r.team = d.team and r.place < d.place
            and (r.status in ${live} and r.admitted_at is not null or ${unreleased})
        ) as is_behind from due d
      ), released as (
        update webhook_trigger.runs r set
          released_at = ${DateTime.toDateUtc(now)}, unconfirmed = case when not d.is_behind then true end
        from decided d where r.id = d.id and ${unreleased}
        returning r.id, r.team, r.unconfirmed
      ), ${notify(sql, "RunEnded", sql`select id::text as name from released`)}
      select id as run_id, team, (select count(*) from notified) from released where unconfirmed`).pipe(
      Effect.map((rows) => rows.map(({ run_id, team }) => ({ run_id, team })))
    )
  }, whenTraced("RunStore.releaseUnconfirmed"))

  return { release, releaseUnconfirmed }
})
