import { SqlClient, type Statement } from "@effect/sql"
import { DateTime, Effect, Layer } from "effect"
import type { RunId, WebhookId } from "../../../domain/Id.ts"
import type { RunRow } from "../../../domain/run/Run.ts"
import type { TeamName } from "../../../domain/Team.ts"
import { whenTraced } from "../../../telemetry/Span.ts"
import { type LaneRun, LaneStore } from "../../run/LaneStore.ts"
import { LeaseLost, type Term } from "../../run/LeaseStore.ts"
import type { RunEvent } from "../../run/RunEnd.ts"
import { eventTypes, fromRow, recordset, runIds, uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { columnsOf, inLane, isWaiting, live, unreleased } from "../RunColumns.ts"
import { admitNext, leaseOf } from "./Admission.ts"
import { makeCloseWindows } from "./Coalesce.ts"
import { makeThreadsOf } from "./Threads.ts"

const runFields = [
  "run_id",
  "source",
  "team",
  "mode",
  "status",
  "prompt",
  "timeout_ms",
  "deadline_at",
  "stop_at",
  "traceparent",
  "thread_key",
  "accepted_at"
] as const satisfies ReadonlyArray<keyof RunRow & keyof LaneRun>

const laneRunFromRow = (row: object): LaneRun => fromRow(row, [...runFields, "layout", "webhook"])

/** The number of waiting runs; more than `most` count as `most`. */
export const queueLength = (sql: SqlClient.SqlClient, most: number): Statement.Fragment => sql`
  select count(*)::int as length from (
    select from webhook_trigger.runs where ${isWaiting} order by team limit ${most}
  ) as waiting`

/** The same for each webhook with waiting runs. */
export const queueLengths = (sql: SqlClient.SqlClient, which: Statement.Fragment): Statement.Fragment => sql`
  select webhook_id, count(*)::int as length from webhook_trigger.runs where ${isWaiting} and ${which} group by 1`

const isPaused = (sql: SqlClient.SqlClient, team: Statement.Fragment): Statement.Fragment =>
  sql`exists (select from webhook_trigger.teams t where t.team = ${team} and t.paused_at is not null)`

export const layer: Layer.Layer<LaneStore, never, SqlClient.SqlClient> = Layer.effect(
  LaneStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const laneRuns = sql`
      select ${columnsOf(runFields)}, r.layout, case when w.id is not null then
        json_strip_nulls(json_build_object(
          'id', w.id, 'name', w.name, 'max_concurrent', w.max_concurrent,
          'max_cost_per_day', case when r.replay_of is null or r.attempt > 1 then w.max_cost_per_day end
        ))
      end as webhook
      from webhook_trigger.runs r left join webhook_trigger.webhooks w on w.id = r.webhook_id`

    const queued = Effect.fn("LaneStore.queued")(function* (most: number, webhooks: ReadonlyArray<WebhookId> = []) {
      const rows = yield* sql<{ readonly webhook_id: WebhookId | null; readonly length: number }>`
        select null as webhook_id, length from (${queueLength(sql, most)}) as q
        ${webhooks.length === 0 ? sql`` : sql`union all ${queueLengths(sql, sql`webhook_id = any(${uuids(sql, webhooks)})`)}`}`
      const ofWebhooks = rows.flatMap(({ webhook_id, length }) =>
        webhook_id === null ? [] : [[webhook_id, length] as const]
      )
      return { all: rows.find(({ webhook_id }) => webhook_id === null)!.length, webhooks: new Map(ofWebhooks) }
    }, bounded)

    // From one team to the next through the index, so a hundred thousand waiting runs of a team cost as much as one.
    const lanes = bounded(sql<{ readonly team: TeamName }>`
      with recursive lane as (
        (select r.team from webhook_trigger.runs r where ${inLane} order by r.team limit 1)
        union all
        select (
          select r.team from webhook_trigger.runs r
          where ${inLane} and r.team > lane.team order by r.team limit 1
        ) from lane where lane.team is not null
      )
      select team from lane where team is not null and not ${isPaused(sql, sql`lane.team`)}`).pipe(
      Effect.map((rows) => rows.map((row) => row.team)),
      Effect.withSpan("LaneStore.lanes")
    )

    const lane = Effect.fnUntraced(function* (team: TeamName, limit: number) {
      const rows = yield* bounded(sql`
        ${laneRuns} where r.team = ${team} and ${inLane} and not ${isPaused(sql, sql`${team}`)}
        order by r.place limit ${limit}`)
      return rows.map(laneRunFromRow)
    }, whenTraced("LaneStore.lane"))

    const inFlight = bounded(sql`
      ${laneRuns} where r.status in ${live} and r.admitted_at is not null or ${unreleased}
      order by r.place`).pipe(
      Effect.map((rows) => rows.map(laneRunFromRow)),
      Effect.withSpan("LaneStore.inFlight")
    )

    const forgetSent = Effect.fn("LaneStore.forgetSent")(function* (at: DateTime.Utc) {
      yield* sql`
        with released as (
          update webhook_trigger.runs r set released_at = ${DateTime.toDateUtc(at)} where ${unreleased}
        )
        update webhook_trigger.runs r set
          status = 'queued', sent_at = null, started_at = null,
          deadline_at = case
            when r.mode = 'async' then ${DateTime.toDateUtc(at)}::timestamptz + r.timeout_ms * interval '1 millisecond'
            else r.deadline_at
          end
        where r.status in ${live} and r.admitted_at is not null`
    }, bounded)

    const admit = Effect.fnUntraced(function* (events: ReadonlyArray<RunEvent>, term: Term, now: DateTime.Utc) {
      const rows = yield* bounded(sql<{ readonly id: RunId | null }>`
        with ${leaseOf(sql, term)}, input as materialized (
          select * from ${recordset(sql, eventTypes, events)}
        ), locked as materialized (
          select r.id, r.status, r.team from webhook_trigger.runs r
          where r.id = any(${runIds(sql, events)}) and exists (select from lease)
          order by r.id for no key update
        ), next as (
          select locked.id, locked.status, locked.team, i.at from input i join locked on locked.id = i.run_id
        ), ${admitNext(sql, sql`${DateTime.toDateUtc(now)}::timestamptz`)}
        select admitted.id from lease left join admitted on true`)
      // The row without an ID shows that the lease is held, and nothing was admitted.
      if (rows.length === 0) return yield* new LeaseLost()
      return new Set(rows.flatMap((row) => row.id ?? [])) as ReadonlySet<RunId>
    }, whenTraced("LaneStore.admit"))

    const limits = Effect.fn("LaneStore.limits")(function* (ids: ReadonlyArray<WebhookId>) {
      const rows = yield* sql<{ readonly id: WebhookId; readonly max_concurrent: number }>`
        select id, max_concurrent from webhook_trigger.webhooks
        where id = any(${uuids(sql, ids)}) and max_concurrent is not null`
      return new Map(rows.map((row) => [row.id, row.max_concurrent])) as ReadonlyMap<WebhookId, number>
    }, bounded)

    const closeWindows = yield* makeCloseWindows
    const threadsOf = yield* makeThreadsOf

    return LaneStore.of({ queued, lanes, lane, closeWindows, inFlight, forgetSent, admit, threadsOf, limits })
  })
)
