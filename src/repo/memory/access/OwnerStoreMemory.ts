import { type Context, type DateTime, Effect } from "effect"
import { type GrantLimits, includesTeam, includesWebhook } from "../../../domain/access/Grant.ts"
import type { RunId } from "../../../domain/Id.ts"
import type { RunRow } from "../../../domain/run/Run.ts"
import type { TeamName } from "../../../domain/Team.ts"
import { OwnerStore } from "../../access/OwnerStore.ts"
import { isAfter, type Tables } from "../Tables.ts"

/** Whether what began then belongs to the team of this name, and not to a deleted one that had the name before. */
export const isOfCurrentTeam = ({ teams }: Pick<Tables, "teams">, team: TeamName, began: DateTime.Utc): boolean => {
  const current = teams.get(team)
  return current === undefined || !isAfter(current.created_at, began)
}

/** Whether a run belongs to these teams alone. */
export const isRunOf = (
  tables: Pick<Tables, "teams" | "webhooks">,
  { accepted_at, team, webhook_id }: Pick<RunRow, "accepted_at" | "team" | "webhook_id">,
  teams: ReadonlyArray<TeamName> | undefined
): boolean => {
  if (teams === undefined) return true
  const others = webhook_id === undefined ? team : tables.webhooks.get(webhook_id)?.team
  return (
    teams.includes(team) && isOfCurrentTeam(tables, team, accepted_at) && others !== undefined && teams.includes(others)
  )
}

export const makeOwnerStore = (tables: Tables): Context.Tag.Service<OwnerStore> => {
  const { find, threads, webhooks, where } = tables
  const isOwnRun = (id: RunId, { teams, triggered_by }: GrantLimits) => {
    const row = find(id)?.row
    return (
      row !== undefined &&
      isRunOf(tables, row, teams) &&
      (triggered_by === undefined || row.triggered_by === triggered_by)
    )
  }
  return OwnerStore.of({
    isOwned: (object, limits) =>
      Effect.sync(() => {
        if ("run_id" in object) return isOwnRun(object.run_id, limits)
        if ("webhook_id" in object) {
          const webhook = webhooks.get(object.webhook_id)
          return webhook !== undefined && includesWebhook(limits, webhook)
        }
        const thread = threads.get(object.thread_id)
        return (
          thread !== undefined &&
          (limits.teams === undefined ||
            (includesTeam(limits, thread.team) && isOfCurrentTeam(tables, thread.team, thread.created_at))) &&
          limits.triggered_by === undefined
        )
      }),
    hasOthersRuns: (id, teams) =>
      Effect.sync(
        () =>
          webhooks.get(id)?.moved_at !== undefined &&
          where((row) => row.webhook_id === id && !teams.includes(row.team)).length > 0
      ),
    ownedRuns: (ids, limits) => Effect.sync(() => new Set(ids.filter((id) => isOwnRun(id, limits)))),
    teamsOf: (ids) =>
      Effect.sync(
        () =>
          new Map(
            ids.flatMap((id) => {
              const webhook = webhooks.get(id)
              return webhook ? [[id, webhook.team] as const] : []
            })
          )
      )
  })
}
