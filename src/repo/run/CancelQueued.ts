import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { CancelledBy } from "../../domain/run/Run.ts"
import { isRunOf } from "../access/Ownership.ts"
import { notify } from "../Changes.ts"
import { uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { notHeld } from "../RunColumns.ts"
import type { QueuedRuns } from "./RunStore.ts"

/** Number of runs that one statement cancels. */
const portion = 500

/** `RunStore.cancelQueued` and `RunStore.countQueued`. */
export const makeCancelQueued = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const waitingOf = (of: QueuedRuns) =>
    sql.and([
      "team" in of ? sql`r.team = ${of.team}` : sql`r.webhook_id = any(${uuids(sql, [of.webhook_id])})`,
      isRunOf(sql, "r", of.owners),
      sql`r.status = 'queued' and r.admitted_at is null`
    ])

  const cancelSome = (of: QueuedRuns, at: DateTime.Utc, by: CancelledBy) => {
    // Each order matches an index.
    const order = "team" in of ? sql`r.place` : sql`r.seq`
    return bounded(sql<{ readonly runs: number }>`
      with next as materialized (
        select r.id from webhook_trigger.runs r
        where ${waitingOf(of)} and r.accepted_at <= ${DateTime.toDateUtc(at)}
        order by ${order} limit ${portion}
      ), locked as materialized (
        select r.id from webhook_trigger.runs r where r.id = any(select id from next)
        order by r.id for no key update
      ), cancelled as (
        update webhook_trigger.runs r set
          status = 'cancelled', finished_at = ${DateTime.toDateUtc(at)}, released_at = ${DateTime.toDateUtc(at)},
          recorded_at = now(), ${notHeld}, cancelled_by = ${by}
        from locked where r.id = locked.id and r.status = 'queued' and r.admitted_at is null
        returning r.id
      ), ${notify(sql, "RunEnded", sql`select id::text as name from cancelled`)}
      select count(*)::int as runs, (select count(*) from notified) from cancelled`)
  }

  const cancelQueued = Effect.fn("RunStore.cancelQueued")(function* (
    of: QueuedRuns,
    { at, by }: { readonly at: DateTime.Utc; readonly by: CancelledBy }
  ) {
    let cancelled = 0
    for (;;) {
      const [row] = yield* cancelSome(of, at, by)
      if (row!.runs === 0) return cancelled
      cancelled += row!.runs
    }
  })

  const countQueued = Effect.fn("RunStore.countQueued")(function* (of: QueuedRuns) {
    const [row] = yield* sql<{ readonly runs: number }>`
      select count(*)::int as runs from webhook_trigger.runs r where ${waitingOf(of)}`
    return row!.runs
  }, bounded)

  return { cancelQueued, countQueued }
})
