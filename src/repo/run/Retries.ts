/** Pending retries of failed runs: the methods of `RunStore` that read and cancel them. */
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import type { CancelledBy } from "../../domain/run/Run.ts"
import { isRunOf } from "../access/Ownership.ts"
import { notify } from "../Changes.ts"
import { uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import type { QueuedRuns } from "./RunStore.ts"

/** Number of retries that one statement cancels. */
const portion = 500

export const makeRetries = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const retriesDue = Effect.fn("RunStore.retriesDue")(function* (
    now: DateTime.Utc,
    { except, limit }: { readonly limit: number; readonly except: ReadonlyArray<WebhookId> }
  ) {
    const rows = yield* sql<{ readonly id: RunId }>`
      select r.id from webhook_trigger.runs r
      where r.retry_at <= ${DateTime.toDateUtc(now)}::timestamptz and r.webhook_id <> all(${uuids(sql, except)})
      order by r.retry_at, r.seq limit ${limit}`
    return rows.map(({ id }) => id)
  }, bounded)

  const callOff = (ids: ReadonlyArray<RunId>, by?: CancelledBy) =>
    bounded(sql<{ readonly id: RunId }>`
      with locked as materialized (
        select r.id, r.retry_at from webhook_trigger.runs r where r.id = any(${uuids(sql, ids)})
        order by r.id for no key update
      ), called_off as (
        update webhook_trigger.runs r set retry_at = null, cancelled_by = ${by ?? null} from locked
        where r.id = locked.id and locked.retry_at is not null
        returning r.id
      ), ${notify(sql, "RunEnded", sql`select id::text as name from called_off`)}
      select id, (select count(*) from notified) from called_off`)

  const callOffRetries = Effect.fn("RunStore.callOffRetries")(function* (ids: ReadonlyArray<RunId>, by?: CancelledBy) {
    return new Set((yield* callOff(ids, by)).map(({ id }) => id))
  })

  // Through the index of all pending retries. An index by webhook would also be used for `retriesDue`, which reads a
  // few in their order.
  const waitingOf = (of: QueuedRuns) => sql`
    r.retry_at is not null and ${isRunOf(sql, "r", of.owners)} and r.webhook_id = ${
      "team" in of
        ? sql`any(array(select w.id from webhook_trigger.webhooks w where w.team = ${of.team}))`
        : of.webhook_id
    }`

  // All retries pending now, not those of runs that fail in the meantime.
  const callOffRetriesOf = Effect.fn("RunStore.callOffRetriesOf")(function* (of: QueuedRuns, by: CancelledBy) {
    const waiting = yield* bounded(
      sql<{ readonly id: RunId }>`select r.id from webhook_trigger.runs r where ${waitingOf(of)}`
    )
    const ids = waiting.map(({ id }) => id)
    let runs = 0
    for (let from = 0; from < ids.length; from += portion) {
      runs += (yield* callOff(ids.slice(from, from + portion), by)).length
    }
    return runs
  })

  const countRetries = Effect.fn("RunStore.countRetries")(function* (of: QueuedRuns) {
    const [row] = yield* sql<{ readonly runs: number }>`
      select count(*)::int as runs from webhook_trigger.runs r where ${waitingOf(of)}`
    return row!.runs
  }, bounded)

  return { retriesDue, callOffRetries, callOffRetriesOf, countRetries }
})
