import { SqlClient } from "@effect/sql"
import { Effect, Option } from "effect"
import { NotFound } from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { decodeCursor, encodeCursor } from "../Cursor.ts"
import type { RunQuery } from "../Repo.ts"
import { type DispatchableRow, type RunRow, toDispatchable, toRun } from "../RunRow.ts"
import { bounded } from "./Database.ts"
import { oneOf, runColumns } from "./RunColumns.ts"
import { accepted } from "./RunPlace.ts"

/** Removed by one statement at most, so that none takes long. */
const purgedInOneStep = 5_000

/** The part of the SQL `Repo` that reads runs, and removes old ones. */
export const makeRuns = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = runColumns(sql)

  const run = Effect.fn("Repo.run")(function* (id: RunId) {
    const [row] = yield* sql<RunRow>`select ${columns} from webhook_trigger.runs r where r.id = ${id}`
    return row ? toRun(row) : yield* new NotFound()
  }, bounded)

  const runs = Effect.fn("Repo.runs")(function* ({ webhook_id, status, limit, cursor, ...time }: RunQuery) {
    const before = yield* decodeCursor(cursor)
    const rows = yield* sql<RunRow & { readonly seq: number }>`
      select ${columns}, r.seq::float8 as seq from webhook_trigger.runs r
      where ${sql.and([
        sql`r.webhook_id = ${webhook_id}`,
        ...(status === undefined ? [] : [sql`r.status = ${status}`]),
        ...(Option.isNone(before) ? [] : [sql`r.seq < ${before.value}`]),
        ...accepted(sql, time)
      ])}
      order by r.seq desc limit ${limit + 1}`
    if (rows.length === 0) {
      const known = yield* sql`select 1 from webhook_trigger.webhooks where id = ${webhook_id}`
      if (known.length === 0) return yield* new NotFound()
    }
    const page = rows.slice(0, limit)
    const last = page.at(-1)
    return { data: page.map(toRun), next_cursor: last && rows.length > limit ? encodeCursor(last.seq) : null }
  }, bounded)

  const ended = Effect.fn("Repo.ended")(function* (ids: ReadonlyArray<RunId>) {
    const rows = yield* sql<{ readonly asked: RunId } & (RunRow | { readonly id: null })>`
      select asked.id as asked, ${columns}
      from ${oneOf(sql, ids)} as asked(id) left join webhook_trigger.runs r on r.id = asked.id
      where r.id is null or r.status in ('success', 'error', 'timeout')`
    return {
      runs: rows.flatMap((row) => (row.id === null ? [] : toRun(row))),
      gone: rows.flatMap((row) => (row.id === null ? row.asked : []))
    }
  }, bounded)

  const dispatchable = sql.literal(`
    r.id, r.source, r.webhook_id, r.team, r.mode, r.status, r.prompt, r.timeout_ms::float8 as timeout_ms, r.deadline_at,
    r.admitted_at, w.name as webhook_name, w.max_concurrent`)

  // From one team to the next through the index: a hundred thousand waiting runs of one team cost as much as one.
  const lanes = bounded(sql<{ readonly team: TeamName }>`
    with recursive lane as (
      (select team from webhook_trigger.runs where status = 'queued' and admitted_at is null order by team limit 1)
      union all
      select (
        select r.team from webhook_trigger.runs r
        where r.status = 'queued' and r.admitted_at is null and r.team > lane.team order by r.team limit 1
      ) from lane where lane.team is not null
    )
    select team from lane where team is not null`).pipe(
    Effect.map((rows) => rows.map((row) => row.team)),
    Effect.withSpan("Repo.lanes")
  )

  const lane = Effect.fn("Repo.lane")(function* (team: TeamName, limit: number) {
    const rows = yield* sql<DispatchableRow>`
      select ${dispatchable} from webhook_trigger.runs r left join webhook_trigger.webhooks w on w.id = r.webhook_id
      where r.team = ${team} and r.status = 'queued' and r.admitted_at is null
      order by r.seq limit ${limit}`
    return rows.map(toDispatchable)
  }, bounded)

  const inFlight = bounded(sql<DispatchableRow>`
    select ${dispatchable} from webhook_trigger.runs r left join webhook_trigger.webhooks w on w.id = r.webhook_id
    where r.status in ('queued', 'running') and r.admitted_at is not null
    order by r.seq`).pipe(
    Effect.map((rows) => rows.map(toDispatchable)),
    Effect.withSpan("Repo.inFlight")
  )

  const limits = Effect.fn("Repo.limits")(function* (ids: ReadonlyArray<WebhookId>) {
    const rows = yield* sql<{ readonly id: WebhookId; readonly max_concurrent: number }>`
      select id, max_concurrent from webhook_trigger.webhooks
      where id in ${oneOf(sql, ids)} and max_concurrent is not null`
    return new Map(rows.map((row) => [row.id, row.max_concurrent])) as ReadonlyMap<WebhookId, number>
  }, bounded)

  const purgeSome = (before: Date) =>
    bounded(sql<{ readonly removed: number }>`
      with removed as (
        delete from webhook_trigger.runs where id in (
          select id from webhook_trigger.runs where finished_at < ${before} order by finished_at limit ${purgedInOneStep}
        ) returning 1
      )
      select count(*)::int as removed from removed`).pipe(Effect.map(([row]) => row?.removed ?? 0))

  const purge = Effect.fn("Repo.purge")(function* (before: Date) {
    let total = 0
    for (;;) {
      const removed = yield* purgeSome(before)
      total += removed
      if (removed < purgedInOneStep) return total
    }
  })

  return { run, runs, ended, lanes, lane, inFlight, limits, purge }
})
