import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { NotFound } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { RunBucket } from "../Repo.ts"
import { type RunRow, toRun } from "../RunRow.ts"
import { bounded } from "./Database.ts"
import { runColumns } from "./RunColumns.ts"
import { accepted } from "./RunPlace.ts"

interface CountsRow {
  readonly bucket: number
  readonly success: number
  readonly error: number
  readonly timeout: number
  readonly live: number
}

/** The part of the SQL `Repo` that counts runs. */
export const makeStatistics = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const counts = sql.literal(`
    count(*) filter (where r.status = 'success')::int as success,
    count(*) filter (where r.status = 'error')::int as error,
    count(*) filter (where r.status = 'timeout')::int as timeout,
    count(*) filter (where r.status in ('queued', 'running'))::int as live`)

  const bucket = (since: Date, step_ms: number) =>
    sql`floor((extract(epoch from r.accepted_at) * 1000 - ${since.getTime()}::float8) / ${step_ms}::float8)::int`

  const activity = Effect.fn("Repo.activity")(function* (since: Date, step_ms: number) {
    return yield* sql<CountsRow & { readonly webhook_id: WebhookId }>`
      select r.webhook_id, ${bucket(since, step_ms)} as bucket, ${counts}
      from webhook_trigger.webhooks w join webhook_trigger.runs r on r.webhook_id = w.id
      where ${sql.and(accepted(sql, { from: since }))}
      group by 1, 2`
  }, bounded)

  const statistics = Effect.fn("Repo.statistics")(function* (id: WebhookId, since: Date, step_ms: number) {
    const rows = yield* sql<CountsRow & { readonly median_ms: number | null; readonly slowest_ms: number | null }>`
      select bucket, sum(success)::int as success, sum(error)::int as error, sum(timeout)::int as timeout,
        sum(live)::int as live, (percentile_cont(0.5) within group (order by took))::float8 as median_ms,
        max(took)::float8 as slowest_ms
      from (
        select ${bucket(since, step_ms)} as bucket,
          (r.status = 'success')::int as success, (r.status = 'error')::int as error,
          (r.status = 'timeout')::int as timeout, (r.status in ('queued', 'running'))::int as live,
          case when r.status = 'success'
            then greatest(0, extract(epoch from r.finished_at - r.started_at) * 1000) end::float8 as took
        from webhook_trigger.runs r
        where ${sql.and([sql`r.webhook_id = ${id}`, ...accepted(sql, { from: since })])}
      ) as each
      group by bucket`
    return rows.map(
      ({ median_ms, slowest_ms, ...row }): RunBucket => ({
        ...row,
        ...(median_ms !== null && { median_ms }),
        ...(slowest_ms !== null && { slowest_ms })
      })
    )
  }, bounded)

  const slots = Effect.fn("Repo.slots")(function* (id: WebhookId) {
    const [row] = yield* sql<{ readonly slots_in_use: number; readonly queued: number }>`
      select
        (select count(*) from webhook_trigger.runs
          where status in ('queued', 'running') and admitted_at is not null and webhook_id = ${id})::int as slots_in_use,
        (select count(*) from webhook_trigger.runs
          where webhook_id = ${id} and status = 'queued' and admitted_at is null)::int as queued`
    return row!
  }, bounded)

  // By webhook and not by team: the index of histories serves this too.
  const teamRuns = Effect.fn("Repo.teamRuns")(function* (team: TeamName, limit: number) {
    const rows = yield* sql<RunRow>`
      select ${runColumns(sql)} from (
        (
          select newest.id from webhook_trigger.webhooks w cross join lateral (
            select id from webhook_trigger.runs
            where webhook_id = w.id and team = ${team} order by seq desc limit ${limit}
          ) as newest where w.team = ${team}
        ) union all (
          select id from webhook_trigger.runs
          where webhook_id is null and team = ${team} order by seq desc limit ${limit}
        )
      ) as asked join webhook_trigger.runs r using (id)
      order by r.seq desc limit ${limit}`
    return rows.map(toRun)
  }, bounded)

  const tokenHash = Effect.fn("Repo.tokenHash")(function* (id: WebhookId) {
    const [row] = yield* sql<{ readonly token_hash: Uint8Array }>`
      select token_hash from webhook_trigger.webhooks where id = ${id}`
    return row ? new Uint8Array(row.token_hash) : yield* new NotFound()
  }, bounded)

  return { activity, statistics, slots, teamRuns, tokenHash }
})
