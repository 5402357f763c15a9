import { SqlClient } from "@effect/sql"
import { type DateTime, Duration, Effect } from "effect"
import type { WebhookId } from "../../domain/Id.ts"
import { finalStatuses } from "../../domain/RunStatus.ts"
import type { Counts, RunBucket } from "../../domain/Statistics.ts"
import { acceptedBetween } from "./AcceptedBetween.ts"
import { fromRow, list } from "./Columns.ts"
import { bounded } from "./Database.ts"
import { live } from "./RunColumns.ts"

/** What is counted, and of which runs `r`. */
const counted = [
  ...finalStatuses.map((status) => [status, `r.status = '${status}'`] as const),
  ["live", "r.finished_at is null"] as const
]

/** The part of `HistoryStore` that counts runs. */
export const makeStatistics = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const bucket = (since: DateTime.Utc, step: Duration.Duration) =>
    sql`floor(
      (extract(epoch from r.accepted_at) * 1000 - ${since.epochMillis}::float8) / ${Duration.toMillis(step)}::float8
    )::int`

  const activity = Effect.fn("HistoryStore.activity")(function* (since: DateTime.Utc, step: Duration.Duration) {
    const counts = list(counted.map(([name, condition]) => `count(*) filter (where ${condition})::int as ${name}`))
    return yield* sql<Counts & { readonly webhook_id: WebhookId; readonly bucket: number }>`
      select r.webhook_id, ${bucket(since, step)} as bucket, ${counts}
      from webhook_trigger.webhooks w join webhook_trigger.runs r on r.webhook_id = w.id
      where ${sql.and(acceptedBetween(sql, { from: since }))}
      group by 1, 2`
  }, bounded)

  const statistics = Effect.fn("HistoryStore.statistics")(function* (
    id: WebhookId,
    since: DateTime.Utc,
    step: Duration.Duration
  ) {
    const flags = list(counted.map(([name, condition]) => `(${condition})::int as ${name}`))
    const sums = list(counted.map(([name]) => `sum(${name})::int as ${name}`))
    const rows = yield* sql`
      select bucket, ${sums}, (percentile_cont(0.5) within group (order by took))::float8 as median_ms,
        max(took)::float8 as slowest_ms
      from (
        select ${bucket(since, step)} as bucket, ${flags},
          case when r.status = 'success'
            then greatest(0, extract(epoch from r.finished_at - r.started_at) * 1000) end::float8 as took
        from webhook_trigger.runs r
        where ${sql.and([sql`r.webhook_id = ${id}`, ...acceptedBetween(sql, { from: since })])}
      ) as each
      group by bucket`
    return rows.map((row) => fromRow<RunBucket>(row))
  }, bounded)

  const slots = Effect.fn("HistoryStore.slots")(function* (id: WebhookId) {
    const [row] = yield* sql<{ readonly slots_in_use: number; readonly queued: number }>`
      select
        (select count(*) from webhook_trigger.runs
          where status in ${live} and admitted_at is not null and webhook_id = ${id})::int as slots_in_use,
        (select count(*) from webhook_trigger.runs
          where webhook_id = ${id} and status = 'queued' and admitted_at is null)::int as queued`
    return row!
  }, bounded)

  return { activity, statistics, slots }
})
