import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { whenTraced } from "../../../telemetry/Span.ts"
import { firstOfEach, type RunEvent } from "../../run/RunEnd.ts"
import { notify } from "../Changes.ts"
import { eventTypes, recordset, runIds } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { held } from "../RunColumns.ts"

/** `RunStore.release`. */
export const makeRelease = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return Effect.fnUntraced(function* (events: ReadonlyArray<RunEvent>) {
    if (events.length === 0) return
    const first = firstOfEach(events)
    yield* bounded(sql`
      with input as materialized (
        select * from ${recordset(sql, eventTypes, first)}
      ), locked as materialized (
        select r.id from webhook_trigger.runs r where r.id = any(${runIds(sql, first)}) order by r.id for no key update
      ), released as (
        update webhook_trigger.runs r set released_at = i.at
        from input i join locked on locked.id = i.run_id where r.id = i.run_id and ${held}
        returning r.id
      ), ${notify(sql, "RunEnded", sql`select id::text as name from released`)}
      select count(*) from notified`)
  }, whenTraced("RunStore.release"))
})
