import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import { NotFound, TeamExists, TeamInUse } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { TeamName, TeamRecord, TeamWork } from "../../domain/Team.ts"
import { audited } from "../access/Audit.ts"
import { notify } from "../Changes.ts"
import { fromRow } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { answered, inLane, isWaiting, live, mayWork, unreleased } from "../RunColumns.ts"
import { awake } from "../run/Rest.ts"

/**
 * The teams. With a draft, a change writes its audit event in the same commit. Pausing a paused team, or resuming one
 * that is neither paused nor resting, changes nothing.
 */
export class TeamStore extends Context.Service<TeamStore>()("webhook-trigger/TeamStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const createTeam = Effect.fn("TeamStore.createTeam")(function* (
      team: TeamName,
      at: DateTime.Utc,
      audit?: AuditDraft
    ) {
      const rows = yield* sql`
        with created as (
          insert into webhook_trigger.teams (team, created_at) values (${team}, ${DateTime.toDateUtc(at)})
          on conflict do nothing returning team
        ), ${audited(sql, audit, sql`select team as object, null as before, null as after from created`)}
        select team from created`
      if (rows.length === 0) return yield* new TeamExists({ team })
      return { team, queued: 0, created_at: at } satisfies TeamRecord
    }, bounded)

    const records = sql`
      select t.team, t.created_at, t.paused_at,
        case when t.resting_until is not null then t.resting_since end as resting_since, t.resting_until, t.resting_reason,
        coalesce(w.queued, 0) as queued
      from webhook_trigger.teams t
      left join (
        select team, count(*)::int as queued from webhook_trigger.runs where ${isWaiting} group by team
      ) as w using (team)`

    /** A few runs of the team `t`, by an index that has only such runs. A released one counts until the team answers another. */
    const runsOf = (condition: Statement.Fragment, most: number) => sql`(
      select r.seq, r.id as run_id, r.status, coalesce(r.started_at, r.sent_at, r.admitted_at) as since,
        r.stop_at, r.released_at
      from webhook_trigger.runs r where r.team = t.team and ${condition} order by r.seq limit ${sql.literal(String(most))}
    )`
    const isUnconfirmed = sql`r.unconfirmed and not exists (
      select from webhook_trigger.runs f
      where f.team = r.team and f.finished_at > r.released_at and f.status in ${answered}
    )`
    const workOf = (teams: Statement.Fragment) => sql`
      select t.team, work.* from webhook_trigger.teams t, lateral (
        select * from ${runsOf(unreleased, 3)} as unreleased
        union all select * from ${runsOf(isUnconfirmed, 3)} as unconfirmed
        union all select * from ${runsOf(sql`r.status in ${live} and r.admitted_at is not null`, 1)} as live
      ) as work where ${teams} order by t.team, work.seq`

    const read = Effect.fnUntraced(function* (teams: Statement.Fragment) {
      const rows = yield* sql`${records} where ${teams} order by t.team`
      const at_work = new Map<string, Array<TeamWork>>()
      for (const row of yield* sql<{ readonly team: string; readonly seq: unknown }>`${workOf(teams)}`) {
        const { seq: _, team, ...work } = row
        at_work.set(team, [...(at_work.get(team) ?? []), fromRow<TeamWork>(work)])
      }
      return rows.map((row) => {
        const record = fromRow<TeamRecord>(row)
        const work = at_work.get(record.team)
        return { ...record, ...(work && { at_work: work }) }
      })
    })

    const record = Effect.fnUntraced(function* (name: TeamName) {
      const [found] = yield* read(sql`t.team = ${name}`)
      return found ?? (yield* new NotFound())
    })
    const team = Effect.fn("TeamStore.team")(record, bounded)

    /** All teams, by name. */
    const teams = bounded(read(sql`true`)).pipe(Effect.withSpan("TeamStore.teams"))

    /** When the oldest queued run of each team was accepted; a team without any is absent. */
    const oldestQueued = bounded(sql<{ readonly team: TeamName; readonly accepted_at: Date }>`
      select t.team, oldest.accepted_at from webhook_trigger.teams t, lateral (
        select r.accepted_at from webhook_trigger.runs r
        where r.team = t.team and ${inLane} order by r.place limit 1
      ) as oldest`).pipe(
      Effect.map((rows) => new Map(rows.map((row) => [row.team, DateTime.fromDateUnsafe(row.accepted_at)]))),
      Effect.withSpan("TeamStore.oldestQueued")
    )

    /** Writes the changes of a team for which `differs` holds. */
    const set = (name: string, differs: Statement.Fragment, to: (at: Date) => Statement.Fragment, notifies: boolean) =>
      Effect.fn(name)(function* (team: TeamName, at: DateTime.Utc, audit?: AuditDraft) {
        // Statements that admit runs hold this lock: after this commit, nothing more of a paused team is admitted.
        yield* sql`
          with found as materialized (
            select team from webhook_trigger.teams t where t.team = ${team} and ${differs} for update
          ), held as materialized (
            select team, webhook_trigger.lock_admission() from found
          ), changed as (
            update webhook_trigger.teams t set ${to(DateTime.toDateUtc(at))} from held where t.team = held.team
            returning t.team
          ), ${audited(sql, audit, sql`select team as object, null as before, null as after from changed`)},
          ${notify(sql, "RunAccepted", sql`select team as name from changed where ${notifies}`)}
          select count(*) from notified`
        return yield* record(team)
      }, bounded)

    /** From then on, queued runs of the team are not admitted. Admitted runs continue. */
    const pauseTeam = set("TeamStore.pauseTeam", sql`t.paused_at is null`, (at) => sql`paused_at = ${at}`, false)
    /** Undoes `pauseTeam`, ends a rest (`RunStore.rest`), and notifies `RunAccepted`. The clock of runs that wait for a leader starts again. */
    const resumeTeam = set(
      "TeamStore.resumeTeam",
      sql`not ${mayWork}`,
      (at) => sql`paused_at = null, ${awake(sql, sql`${at}::timestamptz`)}`,
      true
    )

    /** Releases the team's ended runs, whose agents may still work: they are `unconfirmed`. Notified like an end. */
    const releaseTeam = Effect.fn("TeamStore.releaseTeam")(function* (
      team: TeamName,
      at: DateTime.Utc,
      audit?: AuditDraft
    ) {
      const rows = yield* sql<{ readonly id: RunId | null }>`
        with locked as materialized (
          select r.id from webhook_trigger.runs r where r.team = ${team} and ${unreleased}
          order by r.id for no key update
        ), released as (
          update webhook_trigger.runs r set released_at = ${DateTime.toDateUtc(at)}, unconfirmed = true
          from locked where r.id = locked.id and ${unreleased}
          returning r.id, r.team
        ), ${audited(
          sql,
          audit,
          sql`select team as object, null as before, json_build_object('released', json_agg(id)) as after
            from released group by team`
        )},
        ${notify(sql, "RunEnded", sql`select id::text as name from released`)}
        select released.id, (select count(*) from notified) from webhook_trigger.teams t left join released using (team)
        where t.team = ${team}`
      if (rows.length === 0) return yield* new NotFound()
      return rows.flatMap(({ id }) => id ?? [])
    }, bounded)

    /** Ends the team's threads. Removes the team, its leader keys and its ended chat messages. */
    const deleteTeam = Effect.fn("TeamStore.deleteTeam")(
      function* (team: TeamName, audit?: AuditDraft) {
        // Statements that accept a run or create a webhook for the team either hold its lock, or wait here and find it
        // gone.
        const found = yield* sql`select 1 from webhook_trigger.teams where team = ${team} for update`
        if (found.length === 0) return yield* new NotFound()
        const [use] = yield* sql<{ readonly webhooks: number; readonly live_runs: number }>`
          select
            (select count(*)::int from webhook_trigger.webhooks where team = ${team}) as webhooks,
            (select count(*)::int from webhook_trigger.runs where team = ${team} and ${isWaiting})
            + (select count(*)::int from webhook_trigger.runs
              where team = ${team} and status in ${live} and admitted_at is not null)
            + (select count(*)::int from webhook_trigger.runs r where r.team = ${team} and ${unreleased}) as live_runs`
        if (use && use.webhooks + use.live_runs > 0) return yield* new TeamInUse({ team, ...use })
        yield* sql`
          delete from webhook_trigger.runs where team = ${team} and source = 'chat' and finished_at is not null`
        yield* sql`
          update webhook_trigger.threads set ended_at = now() where team = ${team} and ended_at is null`
        // A key's limits are names. It must not open another team that gets the name later.
        yield* sql`
          with limited as (
            select k.id, (
              select json_agg(each.name) from json_array_elements_text(k.teams) as each(name) where each.name <> ${team}
            ) as others
            from webhook_trigger.api_keys k
            where k.teams is not null and ${team} in (select json_array_elements_text(k.teams))
          )
          update webhook_trigger.api_keys k set
            teams = coalesce(l.others, k.teams),
            revoked_at = coalesce(k.revoked_at, case when l.others is null then now() end)
          from limited l where k.id = l.id`
        yield* sql`
          with deleted as (delete from webhook_trigger.teams where team = ${team} returning team),
          ${audited(sql, audit, sql`select team as object, null as before, null as after from deleted`)}
          select team from deleted`
      },
      sql.withTransaction,
      bounded
    )

    return { createTeam, teams, oldestQueued, team, pauseTeam, resumeTeam, releaseTeam, deleteTeam }
  })
}) {
  static readonly layer = Layer.effect(TeamStore, TeamStore.make)
}
