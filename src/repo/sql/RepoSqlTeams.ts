import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { NotFound, TeamExists, TeamInUse } from "../../domain/Errors.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { TeamRecord } from "../Repo.ts"
import { bounded } from "./Database.ts"

/** The part of the SQL `Repo` that keeps teams. */
export const makeTeams = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const createTeam = Effect.fn("Repo.createTeam")(function* (team: TeamName, at: Date) {
    const rows = yield* sql`
      insert into webhook_trigger.teams (team, created_at) values (${team}, ${at})
      on conflict do nothing returning team`
    if (rows.length === 0) return yield* new TeamExists({ team })
    return { team, queued: 0, created_at: at } satisfies TeamRecord
  }, bounded)

  const records = sql`
    select team, created_at, (
      select count(*)::int from webhook_trigger.runs r
      where r.team = t.team and r.status = 'queued' and r.admitted_at is null
    ) as queued
    from webhook_trigger.teams t`

  const team = Effect.fn("Repo.team")(function* (name: TeamName) {
    const [record] = yield* sql<TeamRecord>`${records} where team = ${name}`
    return record ?? (yield* new NotFound())
  }, bounded)

  const deleteTeam = Effect.fn("Repo.deleteTeam")(
    function* (team: TeamName) {
      // Whoever accepts a run or makes a webhook for the team has it locked, or waits here and finds it gone.
      const found = yield* sql`select 1 from webhook_trigger.teams where team = ${team} for update`
      if (found.length === 0) return yield* new NotFound()
      const [use] = yield* sql<{ readonly webhooks: number; readonly live_runs: number }>`
        select
          (select count(*)::int from webhook_trigger.webhooks where team = ${team}) as webhooks,
          (select count(*)::int from webhook_trigger.runs
            where team = ${team} and status = 'queued' and admitted_at is null)
          + (select count(*)::int from webhook_trigger.runs
            where team = ${team} and status in ('queued', 'running') and admitted_at is not null) as live_runs`
      if (use && use.webhooks + use.live_runs > 0) return yield* new TeamInUse({ team, ...use })
      yield* sql`
        delete from webhook_trigger.runs where team = ${team} and source = 'chat' and finished_at is not null`
      yield* sql`delete from webhook_trigger.teams where team = ${team}`
    },
    sql.withTransaction,
    bounded
  )

  return {
    createTeam,
    teams: bounded(sql<TeamRecord>`${records} order by team`).pipe(Effect.withSpan("Repo.teams")),
    team,
    deleteTeam
  }
})
