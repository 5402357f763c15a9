import { Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { RunId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { isRunOf } from "../access/Ownership.ts"
import { bounded } from "../database/Database.ts"
import { summariesOf, summaryFromRow } from "../RunColumns.ts"
import { acceptedBetween } from "./AcceptedBetween.ts"
import type { ReplayableQuery } from "./HistoryStore.ts"

/** `HistoryStore.replays` and `HistoryStore.replayable`. */
export const makeReplays = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /** The run's replays, newest first; only those of `owners`, if given. */
  const replays = Effect.fn("HistoryStore.replays")(function* (
    id: RunId,
    limit: number,
    owners?: ReadonlyArray<TeamName>
  ) {
    const found = sql`
      select r.* from webhook_trigger.runs r where r.replay_of = ${id} and ${isRunOf(sql, "r", owners)} order by r.seq desc limit ${limit}`
    return (yield* sql`${summariesOf(sql, found)}`).map(summaryFromRow)
  }, bounded)

  /**
   * Ended runs without a replay or a pending retry, in the order of acceptance.
   * The first ones of each webhook and status, through the history's index by status, and those of a team's messages.
   */
  const replayable = Effect.fn("HistoryStore.replayable")(function* (query: ReplayableQuery) {
    const { of, owners, statuses, except, limit, ...time } = query
    const counts = (run: "p" | "r") =>
      except === undefined
        ? sql`true`
        : sql`(${sql.literal(run)}.idempotency_key is null or ${sql.literal(run)}.request_hash <> ${except.request_hash}
            or not starts_with(${sql.literal(run)}.idempotency_key, ${except.keyPrefix}))`
    const firstOf = (whose: Statement.Fragment) => sql`(
      select r.id, r.seq from webhook_trigger.runs r
      where ${sql.and([
        whose,
        sql`r.status = s.status`,
        // Runs with a pending retry are not replayed as well.
        sql`r.retry_at is null`,
        counts("r"),
        isRunOf(sql, "r", owners),
        sql`not exists (select from webhook_trigger.runs p where p.replay_of = r.id and ${counts("p")})`,
        ...acceptedBetween(sql, time)
      ])}
      order by r.seq limit ${limit}
    )`
    const found =
      "webhook_id" in of
        ? firstOf(sql`r.webhook_id = ${of.webhook_id}`)
        : sql`(
            select mine.* from webhook_trigger.webhooks w
            cross join lateral ${firstOf(sql`r.webhook_id = w.id`)} as mine where w.team = ${of.team}
            union all ${firstOf(sql`r.webhook_id is null and r.team = ${of.team}`)}
          )`
    const rows = yield* sql<{ readonly id: RunId }>`
      select first.id from json_array_elements_text(${JSON.stringify(statuses)}::json) as s(status)
      cross join lateral ${found} as first
      order by first.seq limit ${limit}`
    return rows.map(({ id }) => id)
  }, bounded)

  return { replays, replayable }
})
