import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient, Statement } from "effect/sql"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import type { CombinedTemplate } from "../../domain/prompt/Combined.ts"
import type { PromptLayout } from "../../domain/prompt/PromptLayout.ts"
import type { RunRow, Variables } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import { notify } from "../Changes.ts"
import { fromRow, uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { getsEarly } from "../delivery/EarlyEvents.ts"
import { inLane, isAwaitingApproval, isOut, isWaiting, live, mayWork, runColumns, unreleased } from "../RunColumns.ts"
import { makeHolds } from "./Holds.ts"
import { ledTeams } from "./LedTeams.ts"
import { outColumns, outRunFromRow } from "./OutRuns.ts"
import { awake } from "./Rest.ts"
import { lastReport } from "./Threads.ts"

/** A team whose next run may be sent. */
interface Lane {
  readonly team: TeamName
  /** Its next run is sent only to a leader. */
  readonly needs_leader: boolean
}

/** A run that is out, without what it is sent with. */
export interface OutState
  extends Pick<RunRow, "run_id" | "webhook_id" | "team" | "admitted_at" | "sent_at" | "stop_at"> {
  /** It was offered to its team's leader over HTTP (`HttpLeaderStore`). */
  readonly over_http: boolean
}

/** A run that combines requests, when its window is closed. `prompt` and `variables` are those of its last request alone. */
export interface CombinedRun
  extends Required<Pick<RunRow, "run_id" | "team" | "webhook_id" | "prompt" | "variables" | "joined">> {
  readonly layout?: PromptLayout
  readonly template: CombinedTemplate
  /** The kept ones, the first one first. */
  readonly requests: ReadonlyArray<Variables>
}

/** The prompt of all its requests. */
export type PlacedRun = Pick<CombinedRun, "run_id" | "prompt" | "layout" | "variables">

/**
 * The work that may be due in a second:
 * - `stuck`: statements to undo (`undoStuck`).
 * - `deadlines`: runs to end (`RunStore.expire`).
 * - `holds`: runs to let go (`endHolds`), and prompts of closed windows to make.
 * - `approvals`: runs that nobody has approved in time (`RunStore.expireApprovals`).
 * - `rests`: teams to wake (`wakeTeams`).
 * - `waiting`: runs in lanes, which may be admitted. `out`: runs that are out.
 * - `retries`: failed runs to try again (`RunStore.retriesDue`).
 * - `schedules`: webhooks that trigger themselves (`WebhookStore.scheduled`).
 * - `offers`: requests to offer again (`OfferStore.webhooksWithOffers`).
 * - `early`: destinations that want events of runs that have not ended (`DeliveryStore.deliverEarly`).
 * - `buttons`: messages with buttons, which may have to end (`DeliveryStore.endButtons`).
 */
export type DueWork =
  | ("stuck" | "deadlines" | "holds" | "approvals" | "rests" | "waiting" | "out")
  | ("retries" | "schedules" | "offers" | "early" | "buttons")

/** The number of runs `r` that are `waiting`; more than `most` count as `most`. */
const queueLength = (sql: SqlClient.SqlClient, waiting: Statement.Fragment, most: number): Statement.Fragment => sql`
  select count(*)::int as length from (
    select from webhook_trigger.runs r where ${waiting} order by r.team limit ${most}
  ) as waiting`

/** The same for each webhook with waiting runs, in a lane or not. */
const queueLengths = (sql: SqlClient.SqlClient, which: Statement.Fragment): Statement.Fragment => sql`
  select webhook_id, count(*)::int as length from webhook_trigger.runs where ${isWaiting} and ${which} group by 1`

/** In milliseconds: a server comes back each second; another one takes its place when it has not. */
const ownPause = 500
const takenOverAfter = 1_900

/** A session `a` whose process does not read its results; a living one reads them much sooner. */
const isStuck = Statement.fragment([
  Statement.literal(`(
    a.datname = current_database() and a.wait_event = 'ClientWrite'
    and a.query_start < clock_timestamp() - interval '2 seconds'
  )`)
])

/**
 * As an array. The order of each leads through an index, as the planner may take what seldom matches for frequent, and read
 * the whole table. It ignores the order of `exists`.
 */
const dueOf = (sql: SqlClient.SqlClient, time: Statement.Fragment): Statement.Fragment => {
  const work: { readonly [W in DueWork]: ReadonlyArray<Statement.Fragment> } = {
    stuck: [sql`pg_stat_activity a where ${isStuck}`],
    deadlines: [
      sql`webhook_trigger.runs r where r.status in ${live} and r.held_for is null and r.deadline_at <= ${time}
        order by r.deadline_at`
    ],
    holds: [
      sql`webhook_trigger.runs r where r.held_for = 'time' and r.held_until <= ${time} order by r.held_until`,
      sql`webhook_trigger.windows where closed or until <= ${time}`,
      sql`webhook_trigger.window_deliveries where expires_at <= ${time} order by expires_at`,
      sql`webhook_trigger.cancel_events where expires_at <= ${time} order by expires_at`
    ],
    approvals: [
      sql`webhook_trigger.runs r where ${isAwaitingApproval} and r.held_until <= ${time} order by r.held_until`
    ],
    rests: [sql`webhook_trigger.teams where resting_until <= ${time}`],
    waiting: [sql`webhook_trigger.runs r where ${inLane} order by r.team`],
    out: [sql`webhook_trigger.runs r where ${isOut} order by r.team`],
    retries: [sql`webhook_trigger.runs r where r.retry_at <= ${time} order by r.retry_at`],
    schedules: [sql`webhook_trigger.webhooks where next_scheduled_at <= ${time} order by next_scheduled_at`],
    offers: [sql`webhook_trigger.offers where due_at <= ${time} order by due_at`],
    early: [sql`webhook_trigger.destinations d where ${getsEarly} order by d.webhook_id`],
    buttons: [sql`webhook_trigger.deliveries where buttons = 'shown' order by created_at`]
  }
  const rows = Object.entries(work).flatMap(([name, sources]) =>
    sources.map((source) => sql`(select ${sql.literal(`'${name}'`)} from ${source} limit 1)`)
  )
  return sql`to_json(array(${rows.reduce((some, row) => sql`${some} union all ${row}`)}))`
}

interface ClaimedTick {
  readonly led: ReadonlyArray<TeamName>
  readonly due: ReadonlyArray<DueWork> | null
}

/** The text is put together once, as every server asks each second. Its parameters: the time, and the pause in milliseconds. */
const claimOf = (sql: SqlClient.SqlClient): string => {
  const [time, pause] = [sql.literal("$1::timestamptz"), sql.literal("$2::int")]
  const [text] = sql`
    with relaxed as materialized (select set_config('synchronous_commit', 'off', true)), free as materialized (
      select one from webhook_trigger.ticks
      where ticked_at <= ${time} - ${pause} * interval '1 millisecond' or ticked_at > ${time} + interval '1 minute'
      for no key update skip locked
    ), claimed as (
      update webhook_trigger.ticks t set ticked_at = ${time} from free, relaxed where t.one = free.one
      returning t.one
    )
    select to_json(array(${ledTeams(sql, time)})) as led, (select ${dueOf(sql, time)} from claimed) as due`.compile()
  return text
}

/** The runs that wait and that are out, for the work of each second. */
export class LaneStore extends Context.Service<LaneStore>()("webhook-trigger/LaneStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const claim = claimOf(sql)

    /**
     * Asks for the work of this second: the only statement that a server makes each second while there is none. One server
     * gets the work, and keeps it (`isHere`) while it asks each second: `due` says what there may be to do. `ledTeams`: as from
     * `HttpLeaderStore`.
     */
    const claimTick = Effect.fn("LaneStore.claimTick")(function* (now: DateTime.Utc, isHere: boolean) {
      const [row] = yield* sql.unsafe<ClaimedTick>(claim, [DateTime.toDateUtc(now), isHere ? ownPause : takenOverAfter])
      return { ledTeams: row!.led, ...(row!.due !== null && { due: new Set(row!.due) }) }
    }, bounded)

    /**
     * Undoes statements of processes that do not read their results, as they are frozen: they hold their locks, such as that
     * of `RunStore.step`. Returns how many.
     *
     * No timeout of PostgreSQL ends a session that waits for its client.
     */
    const undoStuck = bounded(sql`
      with stuck as materialized (select a.pid from pg_stat_activity a where ${isStuck})
      select pg_terminate_backend(s.pid) from stuck s where exists (
        select from pg_locks l join pg_class c on c.oid = l.relation
        where l.pid = s.pid and l.mode <> 'AccessShareLock' and c.relnamespace = 'webhook_trigger'::regnamespace
      )`).pipe(
      Effect.map((rows) => rows.length),
      Effect.withSpan("LaneStore.undoStuck")
    )

    /** The number of queued runs that are not admitted: over all teams, counted up to `most`, and of those webhooks that have any. */
    const queued = Effect.fn("LaneStore.queued")(function* (most: number, webhooks: ReadonlyArray<WebhookId> = []) {
      const rows = yield* sql<{ readonly webhook_id: WebhookId | null; readonly length: number }>`
        select null as webhook_id, length from (${queueLength(sql, isWaiting, most)}) as q
        ${webhooks.length === 0 ? sql`` : sql`union all ${queueLengths(sql, sql`webhook_id = any(${uuids(sql, webhooks)})`)}`}`
      const ofWebhooks = rows.flatMap(({ webhook_id, length }) =>
        webhook_id === null ? [] : [[webhook_id, length] as const]
      )
      return { all: rows.find(({ webhook_id }) => webhook_id === null)!.length, webhooks: new Map(ofWebhooks) }
    }, bounded)

    /**
     * Teams that are not paused, do not rest, have a run in their lane, and none out.
     *
     * From one team to the next through the index, so a hundred thousand waiting runs of a team cost as much as one.
     */
    const lanes = bounded(sql<Lane>`
      with recursive lane as (
        (select r.team from webhook_trigger.runs r where ${inLane} order by r.team limit 1)
        union all
        select (
          select r.team from webhook_trigger.runs r
          where ${inLane} and r.team > lane.team order by r.team limit 1
        ) from lane where lane.team is not null
      )
      select team, (
        select r.mode = 'async' and r.deadline_at is not null from webhook_trigger.runs r
        where r.team = lane.team and ${inLane} order by r.place limit 1
      ) as needs_leader
      from lane where team is not null
        and exists (select from webhook_trigger.teams t where t.team = lane.team and ${mayWork})
        and not exists (select from webhook_trigger.runs r where r.team = lane.team and ${isOut})`).pipe(
      Effect.withSpan("LaneStore.lanes")
    )

    /** The runs that are out, of all teams. */
    const out = bounded(sql`
      select r.id as run_id, r.webhook_id, r.team, r.admitted_at, r.sent_at, r.stop_at,
        exists (select from webhook_trigger.http_leaders h where h.team = r.team and h.run_id = r.id) as over_http
      from webhook_trigger.runs r where ${isOut}`).pipe(
      Effect.map((rows) => rows.map((row) => fromRow<OutState>(row))),
      Effect.withSpan("LaneStore.out")
    )

    /** The runs among these that are out. */
    const outRuns = Effect.fn("LaneStore.outRuns")(function* (ids: ReadonlyArray<RunId>) {
      const rows = yield* sql`
        select ${outColumns(sql, lastReport(sql, "r.thread_id"))}, ${runColumns} from webhook_trigger.runs r
        left join webhook_trigger.webhooks w on w.id = r.webhook_id
        where r.id = any(${uuids(sql, ids)}) and ${isOut}`
      return rows.map(outRunFromRow)
    }, bounded)

    /**
     * Forgets that the runs that are out were sent and started: each is `queued` and admitted again, and the clock of an
     * asynchronous run starts again. Ended runs, which are not sent again, are released.
     */
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

    /** Ends the rests (`RunStore.rest`) that were to last until `now`, and notifies `RunAccepted`. Returns their teams. */
    const wakeTeams = Effect.fn("LaneStore.wakeTeams")(function* (now: DateTime.Utc) {
      const time = sql`${DateTime.toDateUtc(now)}::timestamptz`
      const rows = yield* sql<{ readonly team: TeamName }>`
        with due as materialized (
          select t.team from webhook_trigger.teams t where t.resting_until <= ${time} order by t.team for no key update
        ), woken as (
          update webhook_trigger.teams t set ${awake(sql, time)} from due where t.team = due.team
          returning t.team
        ), ${notify(sql, "RunAccepted", sql`select team as name from woken`)}
        select team, (select count(*) from notified) from woken`
      return rows.map(({ team }) => team)
    }, bounded)

    return {
      claimTick,
      undoStuck,
      queued,
      lanes,
      out,
      outRuns,
      wakeTeams,
      forgetSent,
      ...(yield* makeHolds)
    }
  })
}) {
  static readonly layer = Layer.effect(LaneStore, LaneStore.make)
}
