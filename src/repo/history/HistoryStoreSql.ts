import { DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound } from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import { type RunState, stateFields, toRunState } from "../../domain/run/RunState.ts"
import { allStatuses } from "../../domain/run/RunStatus.ts"
import type { WorkNow } from "../../domain/run/Statistics.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { DayUse } from "../../domain/webhook/Budget.ts"
import { isRunOf, type Teams } from "../access/Ownership.ts"
import { fromRow, uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import {
  columnsOf,
  inLane,
  isOut,
  live,
  runColumns,
  runFromRow,
  summariesOf,
  summaryFromRow,
  unreleased
} from "../RunColumns.ts"
import type { NewRun } from "../run/RunStore.ts"
import { HistoryStore, type StatesQuery } from "./HistoryStore.ts"
import { makeReplays } from "./Replays.ts"
import { makeRollUp } from "./RollUp.ts"
import { makeRuns, makeUsage } from "./RunSearch.ts"
import { makeStatistics } from "./Statistics.ts"

/** Maximum number of rows that one statement deletes, so that none takes long. */
const purgedInOneStep = 1_000

/** How many of a webhook's runs are searched for a team's. */
const lookedThrough = 1_000

export const layer: Layer.Layer<HistoryStore, never, SqlClient.SqlClient> = Layer.effect(
  HistoryStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const run = Effect.fn("HistoryStore.run")(function* (id: RunId) {
      const [row] = yield* sql`select ${runColumns} from webhook_trigger.runs r where r.id = ${id}`
      return row ? runFromRow(row) : yield* new NotFound()
    }, bounded)

    const runsByIds = Effect.fn("HistoryStore.runsByIds")(function* (ids: ReadonlyArray<RunId>) {
      const rows = yield* sql<Pick<NewRun, "layout"> & { readonly singleton_key: string | null }>`
        select ${runColumns}, r.layout, r.singleton_key from webhook_trigger.runs r where r.id = any(${uuids(sql, ids)})`
      return rows.map((row) => ({
        ...runFromRow(row),
        ...(row.layout && { layout: row.layout }),
        ...(row.singleton_key !== null && { singleton_key: row.singleton_key })
      }))
    }, bounded)

    // By webhook and not by team, so that the history's index serves this too. A webhook that was moved may have any
    // number of runs of another team, so not all of them are searched.
    const teamRuns = Effect.fn("HistoryStore.teamRuns")(function* (team: TeamName, limit: number) {
      // The index of messages has them by status.
      const found = sql`
        select r.* from (
          (
            select newest.id from webhook_trigger.webhooks w cross join lateral (
              select id from (
                select id, team from webhook_trigger.runs where webhook_id = w.id order by seq desc limit ${lookedThrough}
              ) as last where last.team = ${team} limit ${limit}
            ) as newest where w.team = ${team}
          ) union all (
            select newest.id from json_array_elements_text(${JSON.stringify(allStatuses)}::json) as s(status)
            cross join lateral (
              select r.id from webhook_trigger.runs r where r.webhook_id is null and r.team = ${team} and r.status = s.status
              order by r.seq desc limit ${limit}
            ) as newest
          )
        ) as newest join webhook_trigger.runs r using (id)
        order by r.seq desc limit ${limit}`
      return (yield* sql`${summariesOf(sql, found)}`).map(summaryFromRow)
    }, bounded)

    // By the index of the runs that are out, one of each team.
    const work = Effect.fn("HistoryStore.work")(function* (owners: Teams) {
      const rows = yield* sql`
        select r.id as run_id, r.team, r.webhook_id, r.title, coalesce(r.started_at, r.sent_at, r.admitted_at) as since, p.activity
        from webhook_trigger.runs r left join webhook_trigger.run_progress p on p.run_id = r.id
        where ${isOut} and ${isRunOf(sql, "r", owners)} order by r.team`
      return rows.map((row) => fromRow<WorkNow>(row))
    }, bounded)

    // By the primary key, and from the ends of the lanes' indexes.
    const states = Effect.fn("HistoryStore.states")(function* ({ run_ids, teams, since, limit }: StatesQuery) {
      const rows = yield* sql`
        select ${columnsOf(stateFields)} from webhook_trigger.runs r where r.id = any(array(
          select id from unnest(${uuids(sql, run_ids)}) as given(id)
          union
          select newest.id from json_array_elements_text(${JSON.stringify(teams)}::json) as t(team) cross join lateral (
            (
              select r.id, r.accepted_at from webhook_trigger.runs r
              where r.team = t.team and ${inLane} order by r.place desc limit ${limit}
            ) union all (
              select id, accepted_at from webhook_trigger.runs
              where team = t.team and status in ${live} and joined is not null order by seq desc limit ${limit}
            ) union all (
              select id, accepted_at from webhook_trigger.runs
              where team = t.team and status in ${live} and admitted_at is not null order by seq desc limit ${limit}
            )
          ) as newest where newest.accepted_at >= ${DateTime.toDateUtc(since)}
        ))
        order by r.seq`
      return rows.map((row): RunState => toRunState(fromRow(row, stateFields)))
    }, bounded)

    // Where the last step ended: earlier index entries are deleted, and reading over them takes time.
    let purgedTo: Date | undefined
    const purge = Effect.fn("HistoryStore.purge")(function* (before: DateTime.Utc) {
      const [row] = yield* sql<{ readonly purged: number; readonly last: Date | null }>`
        with purged as (
          delete from webhook_trigger.runs where id = any (array(
            select id from webhook_trigger.runs r
            where finished_at < ${DateTime.toDateUtc(before)} and finished_at >= ${purgedTo ?? new Date(0)}
              and retry_at is null and not ${unreleased}
              and not exists (
                select from webhook_trigger.deliveries d join webhook_trigger.destinations t on t.id = d.destination_id
                where d.run_id = r.id and d.status = 'pending' and t.paused is not true
              )
            order by finished_at limit ${purgedInOneStep}
          )) returning finished_at
        )
        select count(*)::int as purged, max(finished_at) as last from purged`
      const { last, purged } = row!
      purgedTo = purged < purgedInOneStep || last === null ? undefined : last
      return purged
    }, bounded)

    const dayUse = Effect.fn("HistoryStore.dayUse")(function* (id: WebhookId, at: DateTime.Utc) {
      const day = sql`(${DateTime.toDateUtc(at)}::timestamptz at time zone 'utc')::date`
      const [row] = yield* sql<DayUse>`
        select
          coalesce((select day_runs from webhook_trigger.webhook_rates r where r.webhook_id = w.id and r.day = ${day}), 0)
            as runs,
          coalesce(c.priced_runs, 0) as priced_runs, coalesce(c.cost_usd, 0) as cost_usd
        from (select ${id}::uuid as id) as w
          left join webhook_trigger.costs_of_day(array[${id}::uuid], ${day}) as c on c.webhook_id = w.id`
      return row!
    }, bounded)

    return HistoryStore.of({
      run,
      runs: yield* makeRuns,
      usage: yield* makeUsage,
      dayUse,
      runsByIds,
      ...(yield* makeReplays),
      teamRuns,
      states,
      work,
      ...(yield* makeStatistics),
      rollUp: yield* makeRollUp,
      purge
    })
  })
)
