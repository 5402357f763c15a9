import { SqlClient } from "@effect/sql"
import { DateTime, Effect, Layer, Option } from "effect"
import { NotFound } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { decodeCursor, encodeCursor } from "../Cursor.ts"
import { HistoryStore, type RunQuery } from "../HistoryStore.ts"
import { acceptedBetween } from "./AcceptedBetween.ts"
import { bounded } from "./Database.ts"
import { runColumns, runFromRow } from "./RunColumns.ts"
import { makeStatistics } from "./Statistics.ts"

/** Deleted by one statement at most, so that none takes long. */
const purgedInOneStep = 5_000

export const layer: Layer.Layer<HistoryStore, never, SqlClient.SqlClient> = Layer.effect(
  HistoryStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const run = Effect.fn("HistoryStore.run")(function* (id: RunId) {
      const [row] = yield* sql`select ${runColumns} from webhook_trigger.runs r where r.id = ${id}`
      return row ? runFromRow(row) : yield* new NotFound()
    }, bounded)

    const runs = Effect.fn("HistoryStore.runs")(function* ({ webhook_id, status, limit, cursor, ...time }: RunQuery) {
      const before = yield* decodeCursor(cursor)
      const rows = yield* sql<{ readonly seq: number }>`
        select ${runColumns}, r.seq::float8 as seq from webhook_trigger.runs r
        where ${sql.and([
          sql`r.webhook_id = ${webhook_id}`,
          ...(status === undefined ? [] : [sql`r.status = ${status}`]),
          ...(Option.isNone(before) ? [] : [sql`r.seq < ${before.value}`]),
          ...acceptedBetween(sql, time)
        ])}
        order by r.seq desc limit ${limit + 1}`
      if (rows.length === 0) {
        const known = yield* sql`select 1 from webhook_trigger.webhooks where id = ${webhook_id}`
        if (known.length === 0) return yield* new NotFound()
      }
      const page = rows.slice(0, limit)
      const last = page.at(-1)
      return { data: page.map(runFromRow), next_cursor: last && rows.length > limit ? encodeCursor(last.seq) : null }
    }, bounded)

    // By webhook and not by team: the index of histories serves this too.
    const teamRuns = Effect.fn("HistoryStore.teamRuns")(function* (team: TeamName, limit: number) {
      const rows = yield* sql`
        select ${runColumns} from (
          (
            select newest.id from webhook_trigger.webhooks w cross join lateral (
              select id from webhook_trigger.runs
              where webhook_id = w.id and team = ${team} order by seq desc limit ${limit}
            ) as newest where w.team = ${team}
          ) union all (
            select id from webhook_trigger.runs
            where webhook_id is null and team = ${team} order by seq desc limit ${limit}
          )
        ) as newest join webhook_trigger.runs r using (id)
        order by r.seq desc limit ${limit}`
      return rows.map(runFromRow)
    }, bounded)

    const purgeSome = (before: Date) =>
      bounded(sql<{ readonly purged: number }>`
        with purged as (
          delete from webhook_trigger.runs where id in (
            select id from webhook_trigger.runs where finished_at < ${before}
            order by finished_at limit ${purgedInOneStep}
          ) returning 1
        )
        select count(*)::int as purged from purged`).pipe(Effect.map(([row]) => row?.purged ?? 0))

    const purge = Effect.fn("HistoryStore.purge")(function* (before: DateTime.Utc) {
      let total = 0
      for (;;) {
        const purged = yield* purgeSome(DateTime.toDateUtc(before))
        total += purged
        if (purged < purgedInOneStep) return total
      }
    })

    return HistoryStore.of({ run, runs, teamRuns, ...(yield* makeStatistics), purge })
  })
)
