import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Run } from "../../domain/run/Run.ts"
import { whenTraced } from "../../telemetry/Span.ts"
import { notify } from "../Changes.ts"
import { bounded } from "../database/Database.ts"
import { unreleased } from "../RunColumns.ts"

/** Number of runs that one statement releases. */
const step = 500

/** `RunStore.releaseUnconfirmed`. */
export const makeReleaseUnconfirmed = Effect.map(SqlClient.SqlClient, (sql) =>
  Effect.fnUntraced(function* (toldBy: DateTime.Utc, now: DateTime.Utc) {
    return yield* bounded(sql<Pick<Run, "run_id" | "team">>`
      with due as materialized (
        select r.id from webhook_trigger.runs r
        where ${unreleased} and r.stop_at <= ${DateTime.toDateUtc(toldBy)}
        order by r.id limit ${step} for no key update
      ), released as (
        update webhook_trigger.runs r set released_at = ${DateTime.toDateUtc(now)}, unconfirmed = true
        from due d where r.id = d.id and ${unreleased}
        returning r.id, r.team
      ), ${notify(sql, "RunEnded", sql`select id::text as name from released`)}
      select id as run_id, team, (select count(*) from notified) from released`).pipe(
      Effect.map((rows) => rows.map(({ run_id, team }) => ({ run_id, team })))
    )
  }, whenTraced("RunStore.releaseUnconfirmed"))
)
