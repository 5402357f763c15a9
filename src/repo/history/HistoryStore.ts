import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound } from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import { type RunState, stateFields, toRunState } from "../../domain/run/RunState.ts"
import { allStatuses, type FinalStatus, type RunStatus } from "../../domain/run/RunStatus.ts"
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
import { makeReplays } from "./Replays.ts"
import { makeRollUp } from "./RollUp.ts"
import { makeRuns, makeUsage } from "./RunSearch.ts"
import { makeStatistics } from "./Statistics.ts"

/** The runs whose states are asked for. */
export interface StatesQuery {
  readonly run_ids: ReadonlyArray<RunId>
  /** The newest unfinished runs of these teams, accepted at or after `since`. */
  readonly teams: ReadonlyArray<TeamName>
  readonly since: DateTime.Utc
  /** Numbers of runs by team: waiting, and admitted. */
  readonly limit: number
}

/** A run with everything needed to make another one like it. */
export type WholeRun = Run & Pick<NewRun, "layout"> & { readonly singleton_key?: string }

/** Selects ended runs to replay. */
export interface ReplayableQuery {
  /** Runs of this webhook; or of all webhooks that point at this team now, and its messages. */
  readonly of: { readonly webhook_id: WebhookId } | { readonly team: TeamName }
  readonly statuses: ReadonlyArray<FinalStatus>
  /** Belongs to these teams alone (`OwnerStore`). */
  readonly owners?: ReadonlyArray<TeamName>
  /** Accepted then or later. */
  readonly from?: DateTime.Utc
  /** Accepted earlier. */
  readonly to?: DateTime.Utc
  /** Ignores the runs that an earlier request made: they are not replayed, and do not count as replays. */
  readonly except?: { readonly keyPrefix: string; readonly request_hash: Uint8Array }
  readonly limit: number
}

/** The position of a queued run, and what its team has. */
export interface QueuedFacts {
  readonly is_admitted: boolean
  /** It is only sent while its team has a leader. */
  readonly needs_leader: boolean
  /** Its team is paused. */
  readonly is_paused: boolean
  /** Its team rests (`RunStore.rest`). */
  readonly resting_until?: DateTime.Utc
  readonly resting_reason?: string
  /** The runs that wait in front of it in its team's lane. */
  readonly ahead: number
  /** The status of the run that its team has out. */
  readonly out?: RunStatus
  /** Its webhook has a limit of its own, and all of its slots are taken. */
  readonly webhook_is_full: boolean
}

/** Maximum number of rows that one statement deletes, so that none takes long. */
const purgedInOneStep = 1_000

/** How many of a webhook's runs are searched for a team's. */
const lookedThrough = 1_000

/** Runs for people to read. The database cuts long texts in lists. */
export class HistoryStore extends Context.Service<HistoryStore>()("webhook-trigger/HistoryStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const run = Effect.fn("HistoryStore.run")(function* (id: RunId) {
      const [row] = yield* sql`select ${runColumns} from webhook_trigger.runs r where r.id = ${id}`
      return row ? runFromRow(row) : yield* new NotFound()
    }, bounded)

    /** Several complete runs, in any order; missing ones are left out. Each text may have megabytes. */
    const runsByIds = Effect.fn("HistoryStore.runsByIds")(function* (ids: ReadonlyArray<RunId>) {
      const rows = yield* sql<Pick<NewRun, "layout"> & { readonly singleton_key: string | null }>`
        select ${runColumns}, r.layout, r.singleton_key from webhook_trigger.runs r where r.id = any(${uuids(sql, ids)})`
      return rows.map((row) => ({
        ...runFromRow(row),
        ...(row.layout && { layout: row.layout }),
        ...(row.singleton_key !== null && { singleton_key: row.singleton_key })
      }))
    }, bounded)

    /**
     * A team's runs, newest first: those of webhooks that point at it now, and its chat messages. May leave out those
     * behind a thousand newer runs of the same webhook for another team.
     *
     * By webhook and not by team, so that the history's index serves this too. A webhook that was moved may have any
     * number of runs of another team, so not all of them are searched.
     */
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

    /**
     * Each team's current work, by team, for the runs that belong to `owners`, if given.
     *
     * By the index of the runs that are out, one of each team.
     */
    const work = Effect.fn("HistoryStore.work")(function* (owners: Teams) {
      const rows = yield* sql`
        select r.id as run_id, r.team, r.webhook_id, r.title, coalesce(r.started_at, r.sent_at, r.admitted_at) as since, p.activity
        from webhook_trigger.runs r left join webhook_trigger.run_progress p on p.run_id = r.id
        where ${isOut} and ${isRunOf(sql, "r", owners)} order by r.team`
      return rows.map((row) => fromRow<WorkNow>(row))
    }, bounded)

    /**
     * In the order of acceptance, each run once. Missing runs are left out.
     *
     * By the primary key, and from the ends of the lanes' indexes.
     */
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
    /**
     * Removes a portion of the runs that ended before `before` , are released and have no pending retry. Returns how many, 0 when
     * there are none.
     */
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

    /**
     * The webhook's use of its budget on this moment's day, in UTC: the runs that count (`NewRun.budget`), and
     * what all runs accepted that day cost, as far as reported (`priced_runs`).
     */
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

    return {
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
    }
  })
}) {
  static readonly layer = Layer.effect(HistoryStore, HistoryStore.make)
}
