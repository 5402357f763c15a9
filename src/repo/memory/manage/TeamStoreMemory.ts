import { type Context, DateTime, Effect } from "effect"
import { NotFound, TeamExists, TeamInUse } from "../../../domain/Errors.ts"
import { isFinal, isUnreleased, runStatuses } from "../../../domain/run/RunStatus.ts"
import type { TeamName, TeamWork } from "../../../domain/Team.ts"
import { TeamStore } from "../../manage/TeamStore.ts"
import {
  by,
  change,
  isAfter,
  isInFlight,
  isWaiting,
  orNotFound,
  type StoredRun,
  type StoredTeam,
  type Tables
} from "../Tables.ts"

/** Runs that still collect others have no place yet. */
const placeOf = ({ place }: StoredRun): number => place ?? Number.MAX_SAFE_INTEGER

export const makeTeamStore = (tables: Tables): Context.Tag.Service<TeamStore> => {
  const { apiKeys, audit, databaseTime, leaderKeys, notify, remove, teams, threads, webhooks, where } = tables
  const queuedOf = (team: TeamName) => where((row) => row.team === team && isWaiting(row))
  const workOf = (team: TeamName): ReadonlyArray<TeamWork> => {
    const unreleased = where((row) => row.team === team && isUnreleased(row)).slice(0, 3)
    const hasAnsweredAfter = (at: DateTime.Utc) =>
      where(
        ({ finished_at, status, ...row }) =>
          row.team === team &&
          isFinal(status) &&
          runStatuses[status].answered &&
          !!finished_at &&
          isAfter(finished_at, at)
      ).length > 0
    const unconfirmed = where(
      ({ released_at, ...row }) =>
        row.team === team && row.unconfirmed === true && !!released_at && !hasAnsweredAfter(released_at)
    ).slice(0, 3)
    const live = where((row) => row.team === team && isInFlight(row)).slice(0, 1)
    return [...unreleased, ...unconfirmed, ...live]
      .sort((a, b) => a.seq - b.seq)
      .map(({ row: { admitted_at, released_at, run_id, sent_at, started_at, status, stop_at } }) => ({
        run_id,
        status,
        since: started_at ?? sent_at ?? admitted_at!,
        ...(stop_at && { stop_at }),
        ...(released_at && { released_at })
      }))
  }
  const teamRecord = (team: TeamName, { created_at, paused_at }: StoredTeam) => {
    const at_work = workOf(team)
    return {
      team,
      queued: queuedOf(team).length,
      created_at,
      ...(at_work.length > 0 && { at_work }),
      ...(paused_at && { paused_at })
    }
  }

  return TeamStore.of({
    oldestQueued: Effect.sync(
      () =>
        new Map(
          [...teams.keys()].flatMap((team) => {
            const [oldest] = [...queuedOf(team)].sort((a, b) => placeOf(a) - placeOf(b))
            return oldest === undefined ? [] : [[team, oldest.row.accepted_at] as const]
          })
        )
    ),
    createTeam: (team, at, draft) =>
      Effect.suspend(() => {
        if (teams.has(team)) return new TeamExists({ team })
        teams.set(team, { created_at: at })
        audit.write(draft, { object: team })
        return Effect.succeed(teamRecord(team, { created_at: at }))
      }),
    teams: Effect.sync(() => [...teams].map((team) => teamRecord(...team)).sort(by(({ team }) => team))),
    team: (team) =>
      orNotFound(
        () => teams.get(team),
        (stored) => teamRecord(team, stored)
      ),
    pauseTeam: (team, paused_at, draft) =>
      orNotFound(
        () => teams.get(team),
        (stored) => {
          if (stored.paused_at) return teamRecord(team, stored)
          const paused = { ...stored, paused_at }
          teams.set(team, paused)
          audit.write(draft, { object: team })
          return teamRecord(team, paused)
        }
      ),
    resumeTeam: (team, resumed_at, draft) =>
      orNotFound(
        () => teams.get(team),
        (stored) => {
          const { created_at } = stored
          if (!stored.paused_at) return teamRecord(team, stored)
          const resumed = { created_at, resumed_at }
          teams.set(team, resumed)
          audit.write(draft, { object: team })
          notify({ _tag: "RunAccepted", team })
          return teamRecord(team, resumed)
        }
      ),
    releaseTeam: (team, released_at, draft) =>
      orNotFound(
        () => teams.get(team),
        () => {
          const released = where((row) => row.team === team && isUnreleased(row))
          for (const run of released) {
            change(run, { released_at, unconfirmed: true })
            notify({ _tag: "RunEnded", run_id: run.row.run_id })
          }
          const ids = released.map(({ row }) => row.run_id)
          if (ids.length > 0) audit.write(draft, { object: team, after: { released: ids } })
          return ids
        }
      ),
    deleteTeam: (team, draft) =>
      Effect.flatMap(databaseTime, (now): Effect.Effect<void, NotFound | TeamInUse> => {
        if (!teams.has(team)) return new NotFound()
        const pointing = [...webhooks.values()].filter((webhook) => webhook.team === team).length
        const live_runs = where((row) => row.team === team && (!isFinal(row.status) || isUnreleased(row))).length
        if (pointing + live_runs > 0) return new TeamInUse({ team, webhooks: pointing, live_runs })
        remove((row) => row.team === team && row.source === "chat")
        for (const thread of threads.values()) {
          if (thread.team === team) threads.set(thread.id, { ended_at: DateTime.unsafeMake(now), ...thread })
        }
        for (const key of apiKeys.values()) {
          if (!key.teams?.includes(team)) continue
          const others = key.teams.filter((name) => name !== team)
          const revoked_at = DateTime.unsafeMake(now)
          apiKeys.set(key.id, others.length > 0 ? { ...key, teams: others } : { revoked_at, ...key })
        }
        for (const key of leaderKeys.values()) if (key.team === team) leaderKeys.delete(key.id)
        tables.httpLeaders.delete(team)
        teams.delete(team)
        audit.write(draft, { object: team })
        return Effect.void
      })
  })
}
