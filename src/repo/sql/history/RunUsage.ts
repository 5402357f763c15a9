import type { Statement } from "@effect/sql"
import { DateTime, Effect } from "effect"
import { NotFound } from "../../../domain/Errors.ts"
import type { RunUsage } from "../../../domain/run/RunUsage.ts"
import { addUsage, noUsage } from "../../../domain/run/UsageSum.ts"
import type { RunFilter } from "../../history/RunQuery.ts"
import { fromRow } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { makeWalks, type Walk } from "./RunWalk.ts"

/** `HistoryStore.usage`: the runs are read as a search reads them. */
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
    return stopped === undefined ? total : { ...total, searched_back_to: DateTime.unsafeFromDate(stopped.accepted_at) }
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
