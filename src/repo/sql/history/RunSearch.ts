import type { Statement } from "@effect/sql"
import { DateTime, Effect } from "effect"
import { NotFound } from "../../../domain/Errors.ts"
import { encodeCursor } from "../../history/Cursor.ts"
import type { RunPage, RunQuery } from "../../history/RunQuery.ts"
import { bounded } from "../database/Database.ts"
import { summariesOf, summaryFromRow } from "../RunColumns.ts"
import { type Found, makeWalks, type Walk } from "./RunWalk.ts"

/**
 * `HistoryStore.runs`. A webhook's runs are read by the index of its history, those of all by the primary key. There is
 * no other index, which every change of a run would have to update. Other conditions are searched for in portions, for
 * a limited time.
 */
export const makeRuns = Effect.gen(function* () {
  const { all, inPortions, named, ofAll, ofThread, ofWebhook, partsOf, sql } = yield* makeWalks

  const look = Effect.fnUntraced(function* <Place extends number | string>(walk: Walk<Place>, query: RunQuery) {
    const { before, conditions, placeOf, within } = walk
    const { limit } = query
    const { below, by } = partsOf(walk)
    const read = (runs: Statement.Fragment) => sql<Found>`${summariesOf(sql, runs, by)}`

    const page = (rows: ReadonlyArray<Found>): RunPage => {
      const data = rows.slice(0, limit)
      return {
        data: data.map(summaryFromRow),
        next_cursor: rows.length > limit ? encodeCursor(placeOf(data.at(-1)!)) : null
      }
    }

    if (conditions.length === 0) {
      const newest = sql`
        select r.* from webhook_trigger.runs r where ${all([...within, ...below(before)])}
        order by ${by} desc limit ${limit + 1}::int`
      return page(yield* read(newest))
    }
    let found: ReadonlyArray<Found> = []
    const stopped = yield* inPortions(walk, query, (runs) =>
      Effect.map(read(sql`${runs} order by ${by} desc limit ${limit + 1 - found.length}::int`), (more) => {
        found = [...found, ...more]
        return found.length > limit
      })
    )
    if (stopped === undefined) return page(found)
    const searched_back_to = DateTime.unsafeFromDate(stopped.accepted_at)
    return { ...page(found), next_cursor: encodeCursor(stopped.place), searched_back_to }
  })

  return Effect.fn("HistoryStore.runs")(function* (query: RunQuery) {
    const { cursor, thread_id, webhook_id } = query
    const ofId = cursor === undefined ? named(query) : undefined
    const found = ofId && sql`select r.* from webhook_trigger.runs r where ${all(ofId)}`
    const one = found === undefined ? [] : yield* sql`${summariesOf(sql, found)}`
    if (one.length > 0) return { data: one.map(summaryFromRow), next_cursor: null }
    if (webhook_id === undefined) {
      return yield* thread_id === undefined
        ? look(yield* ofAll(query), query)
        : look(yield* ofThread(thread_id, query), query)
    }
    const page = yield* look(yield* ofWebhook(webhook_id, query), query)
    if (page.data.length === 0) {
      const known = yield* sql`select 1 from webhook_trigger.webhooks where id = ${webhook_id}`
      if (known.length === 0) return yield* new NotFound()
    }
    return page
  }, bounded)
})
