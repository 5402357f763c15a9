import { DateTime, Effect } from "effect"
import type { Statement } from "effect/sql"
import { NotFound } from "../../domain/Errors.ts"
import type { RunUsage } from "../../domain/run/RunUsage.ts"
import { addUsage, noUsage } from "../../domain/run/UsageSum.ts"
import { fromRow } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { summariesOf, summaryFromRow } from "../RunColumns.ts"
import { encodeCursor } from "./Cursor.ts"
import type { RunFilter, RunPage, RunQuery } from "./RunQuery.ts"
import { type Found, makeWalks, type Walk } from "./RunScan.ts"

/**
 * `HistoryStore.runs`: those of one webhook or thread in the order of acceptance, or of all in the order of their IDs, which
 * contain the time. After half a second, returns what it has found, and a cursor to continue. `NotFound`: no such webhook.
 *
 * A webhook's runs are read by the index of its history, those of all by the primary key. There is
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
    const searched_back_to = DateTime.fromDateUnsafe(stopped.accepted_at)
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

/**
 * `HistoryStore.usage`: what the matching runs used. After half a second, the sum of those that it has found. `NotFound`: no such
 * webhook. The runs are read as a search reads them.
 */
export const makeUsage = Effect.gen(function* () {
  const { all, inPortions, named, ofAll, ofThread, ofWebhook, sql } = yield* makeWalks

  const sumOf = (runs: Statement.Fragment) =>
    Effect.map(
      sql`
        select count(*)::int as runs, count(usage)::int as reported,
          sum((usage ->> 'cost_usd')::float8) as cost_usd,
          sum((usage ->> 'input_tokens')::float8) as input_tokens,
          sum((usage ->> 'cached_input_tokens')::float8) as cached_input_tokens,
          sum((usage ->> 'output_tokens')::float8) as output_tokens
        from (select found.report -> 'usage' as usage from (${runs}) as found) as used`,
      ([row]) => fromRow<RunUsage>(row!)
    )

  const sum = Effect.fnUntraced(function* <Place extends number | string>(walk: Walk<Place>, filter: RunFilter) {
    let total = noUsage
    const stopped = yield* inPortions(walk, filter, (runs) =>
      Effect.map(sumOf(runs), (more) => {
        total = addUsage(total, more)
        return false
      })
    )
    return stopped === undefined ? total : { ...total, searched_back_to: DateTime.fromDateUnsafe(stopped.accepted_at) }
  })

  return Effect.fn("HistoryStore.usage")(function* (filter: RunFilter) {
    const { thread_id, webhook_id } = filter
    const ofId = named(filter)
    const one = ofId && (yield* sumOf(sql`select r.* from webhook_trigger.runs r where ${all(ofId)}`))
    if (one !== undefined && one.runs > 0) return one
    if (webhook_id === undefined) {
      return yield* thread_id === undefined
        ? sum(yield* Effect.orDie(ofAll(filter)), filter)
        : sum(yield* Effect.orDie(ofThread(thread_id, filter)), filter)
    }
    const total = yield* sum(yield* Effect.orDie(ofWebhook(webhook_id, filter)), filter)
    if (total.runs === 0) {
      const known = yield* sql`select 1 from webhook_trigger.webhooks where id = ${webhook_id}`
      if (known.length === 0) return yield* new NotFound()
    }
    return total
  }, bounded)
})
