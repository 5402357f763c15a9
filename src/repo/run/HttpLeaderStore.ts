import { Context, DateTime, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { LeaderId, LeaderKeyId, RunId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { whenTraced } from "../../telemetry/Span.ts"
import { notify } from "../Changes.ts"
import { type ColumnTypes, fromRow, recordset, runIds } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { isOut, runColumns } from "../RunColumns.ts"
import { isLed, ledTeams, timeOf } from "./LedTeams.ts"
import { outColumns, outRunFromRow } from "./OutRuns.ts"
import type { OutRun } from "./RunStore.ts"
import { lastReport } from "./Threads.ts"

/** A leader over HTTP. */
export interface HttpLeader {
  readonly team: TeamName
  readonly leader: LeaderId
}

/** A leader with this key of its team. */
export interface KeyedLeader extends HttpLeader {
  readonly key_id: LeaderKeyId
}

/** A leader that asks for its team's prompts. */
export interface AskingLeader extends KeyedLeader {
  /**
   * When its request came. The server asks again while the request waits, which does not count any longer if the leader has
   * left since then: its connection may close later than the leader leaves.
   */
  readonly asked_at: DateTime.Utc
}

/** A run that is out, for its team's leader over HTTP. */
export interface OfferedRun {
  readonly team: TeamName
  readonly run_id: RunId
  /** A leader may have begun it. */
  readonly redelivered: boolean
}

/** A run that a leader has. It may have ended since it was offered. */
export interface TakenRun extends Pick<HttpLeader, "leader"> {
  readonly run: OutRun
  readonly redelivered: boolean
}

/** A leader, and the run that it works on. */
export interface Work extends HttpLeader {
  readonly run_id: RunId
}

/** How long a leader is silent until another one may take its place and its prompt. */
export const replacedAfter = Duration.seconds(6)
/** The same for a leader whose connection was closed: time to connect again. */
export const replacedAfterClose = Duration.seconds(3)
/** Sooner, asking again does not renew what is known of a leader. */
export const renewedAfter = Duration.millis(1500)

const leaderTypes: ColumnTypes = { team: "text", leader: "uuid", key_id: "uuid", n: "integer", asked_at: "timestamptz" }
const workTypes: ColumnTypes = { team: "text", leader: "uuid", run_id: "uuid" }
const offerTypes: ColumnTypes = { team: "text", run_id: "uuid", redelivered: "boolean" }

/**
 * Each team's leader over HTTP, and the run that it may take. The run itself is the prompt: a leader has it until it
 * is no longer out. One leader leads a team, while others stand by; it stays the leader until it leaves, its key is revoked or
 * it is silent. Changes are reported as `LeaderChanged` and `RunOffered`. A crash of the database may lose the changes of its
 * last second.
 */
export class HttpLeaderStore extends Context.Service<HttpLeaderStore>()("webhook-trigger/HttpLeaderStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const before = (now: DateTime.Utc, time: Duration.Duration) => timeOf(sql, DateTime.subtractDuration(now, time))
    /** The loss of these rows' changes in a crash of the database does no harm, so commits do not wait for the disk. */
    const relaxed = sql`relaxed as materialized (select set_config('synchronous_commit', 'off', true))`
    const isLocked = sql.literal("order by h.team for no key update of h")
    const changed = (what: "LeaderChanged" | "RunOffered", query: string) =>
      notify(sql, what, sql`select team as name from ${sql.literal(query)}`)

    /**
     * Each of these leads its team from now on if nobody else does, and stays its leader. Of several of a team, the first
     * one counts. `mayReplace`: also if the current leader was silent for `replacedAfter`. Returns the runs that their teams
     * were offered: those that lead have them now.
     */
    const askToLead = Effect.fnUntraced(
      function* (leaders: ReadonlyArray<AskingLeader>, now: DateTime.Utc, { mayReplace }: { mayReplace: boolean }) {
        if (leaders.length === 0) return []
        // `h`: the row of a team, before.
        const isPresent = (asking: "a" | "i") =>
          sql.literal(`(h.left_by is distinct from ${asking}.leader or ${asking}.asked_at >= h.left_at)`)
        const isDue = sql`${isPresent("a")} and (
          h.leader = a.leader and (h.run_id in (select id from out_runs) or h.seen_at <= ${before(now, renewedAfter)})
          or h.leader is null
          or not exists (select from webhook_trigger.leader_keys k where k.id = h.key_id)
          or h.leader <> a.leader and ${mayReplace}::boolean and h.seen_at <= ${before(now, replacedAfter)}
        )`
        const rows = yield* sql`
          with ${relaxed}, asking as materialized (
            select distinct on (i.team) i.team, i.leader, i.key_id, i.asked_at
            from ${recordset(
              sql,
              leaderTypes,
              leaders.map((it, n) => ({ ...it, n }))
            )}
            join webhook_trigger.leader_keys k on k.id = i.key_id and k.team = i.team
            left join webhook_trigger.http_leaders h on h.team = i.team
            where ${isPresent("i")}
            order by i.team, coalesce(h.leader = i.leader, false) desc, i.n
          ), out_runs as materialized (
            select r.* from webhook_trigger.runs r where r.team = any (array(select team from asking)) and ${isOut}
          ), new as materialized (
            select t.team from webhook_trigger.teams t join asking a on a.team = t.team
            where not exists (select from webhook_trigger.http_leaders h where h.team = t.team)
            order by t.team for key share of t
          ), added as (
            insert into webhook_trigger.http_leaders (team, leader, key_id, seen_at)
            select a.team, a.leader, a.key_id, ${timeOf(sql, now)} from relaxed, asking a join new using (team)
            on conflict do nothing returning team
          ), known as materialized (
            select h.*, a.leader as asking, a.key_id as asking_key
            from webhook_trigger.http_leaders h join asking a on a.team = h.team
            where ${isDue} ${isLocked}
          ), led as (
            update webhook_trigger.http_leaders h set
              leader = k.asking,
              key_id = k.asking_key,
              seen_at = greatest(k.seen_at, ${timeOf(sql, now)}),
              taken = true,
              redelivered = k.redelivered or k.taken and k.leader is distinct from k.asking
            from known k, relaxed where h.team = k.team
            returning h.*
          ), replaced as (
            select team from added union all select team from known where leader is distinct from asking
          ), ${changed("LeaderChanged", "replaced")}
          select l.leader, l.redelivered, ${outColumns(sql, lastReport(sql, "r.thread_id"))}, ${runColumns}
          from (select count(*) from notified) as n left join (
            led l join out_runs r on r.id = l.run_id left join webhook_trigger.webhooks w on w.id = r.webhook_id
          ) on true`
        return rows.flatMap((row) =>
          row.leader === null
            ? []
            : { ...fromRow<Omit<TakenRun, "run">>(row, ["leader", "redelivered"]), run: outRunFromRow(row) }
        )
      },
      bounded,
      whenTraced("HttpLeaderStore.askToLead")
    )

    /** These leaders still work. Returns those whose runs are still theirs, and out, and whether they are told to stop. */
    const keepRuns = Effect.fnUntraced(
      function* (works: ReadonlyArray<Work>, now: DateTime.Utc) {
        if (works.length === 0) return []
        const rows = yield* sql`
          with ${relaxed}, kept as materialized (
            select h.team, coalesce(r.stop_at <= ${timeOf(sql, now)}, false) as cancelled
            from webhook_trigger.http_leaders h
            join ${recordset(sql, workTypes, works)} on i.team = h.team and i.leader = h.leader and i.run_id = h.run_id
            join webhook_trigger.runs r on r.id = i.run_id
            where r.id = any(${runIds(sql, works)}) and ${isOut} ${isLocked}
          )
          update webhook_trigger.http_leaders h set seen_at = greatest(h.seen_at, ${timeOf(sql, now)}), taken = true
          from kept k, relaxed where h.team = k.team
          returning h.team, h.leader, h.run_id, k.cancelled`
        return rows.map((row) => fromRow<Work & { readonly cancelled: boolean }>(row))
      },
      bounded,
      whenTraced("HttpLeaderStore.keepRuns")
    )

    /** The leaders' connections were closed. They are replaced soon, unless they connect again. */
    const connectionsClosed = Effect.fnUntraced(
      function* (leaders: ReadonlyArray<HttpLeader>, now: DateTime.Utc) {
        if (leaders.length === 0) return
        const seen = before(now, Duration.subtract(replacedAfter, replacedAfterClose))
        yield* sql`
          with ${relaxed}, closed as materialized (
            select h.team from webhook_trigger.http_leaders h
            join ${recordset(sql, leaderTypes, leaders)} on i.team = h.team and i.leader = h.leader
            ${isLocked}
          )
          update webhook_trigger.http_leaders h set seen_at = least(h.seen_at, ${seen})
          from closed, relaxed where h.team = closed.team`
      },
      bounded,
      whenTraced("HttpLeaderStore.connectionsClosed")
    )

    /** The leader does not lead the team any longer. If it has a run, the next leader gets that. */
    const leaveTeam = Effect.fnUntraced(
      function* ({ leader, team }: HttpLeader, now: DateTime.Utc) {
        yield* sql`
          with ${relaxed}, left_teams as (
            update webhook_trigger.http_leaders h set
              leader = null, key_id = null, left_by = h.leader, left_at = ${timeOf(sql, now)}
            from relaxed where h.team = ${team} and h.leader = ${leader}
            returning h.team
          ), ${changed("LeaderChanged", "left_teams")}
          select count(*) from notified`
      },
      bounded,
      whenTraced("HttpLeaderStore.leaveTeam")
    )

    /**
     * The teams' leaders may take these runs, as far as they are out. One that a team has already stays as it is. Returns
     * those of teams that have, or had, a leader over HTTP.
     *
     * It may come late from a server that was frozen: only the run that is out counts.
     */
    const offerRuns = Effect.fnUntraced(
      function* (runs: ReadonlyArray<OfferedRun>) {
        if (runs.length === 0) return []
        const rows = yield* sql<{ readonly run_id: RunId }>`
          with ${relaxed}, input as materialized (
            select i.* from ${recordset(sql, offerTypes, runs)} join webhook_trigger.runs r on r.id = i.run_id
            where r.id = any(${runIds(sql, runs)}) and ${isOut}
          ), replaced as materialized (
            select h.team from webhook_trigger.http_leaders h join input i on i.team = h.team
            where h.run_id is distinct from i.run_id ${isLocked}
          ), offered as (
            update webhook_trigger.http_leaders h set run_id = i.run_id, redelivered = i.redelivered, taken = false
            from replaced r join input i using (team), relaxed where h.team = r.team
            returning h.team
          ), ${changed("RunOffered", "offered")}
          select i.run_id from (select count(*) from notified) as n, input i
          join webhook_trigger.http_leaders h on h.team = i.team`
        return rows.map(({ run_id }) => run_id)
      },
      bounded,
      whenTraced("HttpLeaderStore.offerRuns")
    )

    /** No leader over HTTP can take the run any longer. Returns false, and does nothing, if one is present. */
    const withdrawRun = Effect.fnUntraced(
      function* ({ run_id, team }: Pick<OfferedRun, "team" | "run_id">, now: DateTime.Utc) {
        const offered = sql`h.team = ${team} and h.run_id = ${run_id}`
        const [row] = yield* sql<{ readonly is_free: boolean }>`
          with ${relaxed}, withdrawn as (
            update webhook_trigger.http_leaders h set run_id = null from relaxed
            where ${offered} and not ${isLed(sql, timeOf(sql, now))} returning h.team
          )
          select exists (select from withdrawn)
            or not exists (select from webhook_trigger.http_leaders h where ${offered}) as is_free`
        return row!.is_free
      },
      bounded,
      whenTraced("HttpLeaderStore.withdrawRun")
    )

    return {
      askToLead,
      keepRuns,
      connectionsClosed,
      leaveTeam,
      offerRuns,
      withdrawRun,
      /** The teams whose leaders are present. */
      ledTeams: (now: DateTime.Utc) =>
        bounded(
          Effect.map(sql<{ readonly team: TeamName }>`${ledTeams(sql, timeOf(sql, now))}`, (rows) =>
            rows.map(({ team }) => team)
          )
        ).pipe(whenTraced("HttpLeaderStore.ledTeams"))
    }
  })
}) {
  static readonly layer = Layer.effect(HttpLeaderStore, HttpLeaderStore.make)
}
