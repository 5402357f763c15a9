import { type Context, Effect } from "effect"
import { type GrantLimits, includesTeam, includesWebhook } from "../../../domain/access/Grant.ts"
import type { RunId } from "../../../domain/Id.ts"
import type { RunRow } from "../../../domain/run/Run.ts"
import type { TeamName } from "../../../domain/Team.ts"
import { OwnerStore } from "../../access/OwnerStore.ts"
import type { Tables } from "../Tables.ts"

/** Whether a run belongs to these teams alone. */
export const isRunOf = (
  { webhooks }: Pick<Tables, "webhooks">,
  { team, webhook_id }: Pick<RunRow, "team" | "webhook_id">,
  teams: ReadonlyArray<TeamName> | undefined
): boolean => {
  if (teams === undefined) return true
  const others = webhook_id === undefined ? team : webhooks.get(webhook_id)?.team
  return teams.includes(team) && others !== undefined && teams.includes(others)
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
        return thread !== undefined && includesTeam(limits, thread.team) && limits.triggered_by === undefined
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
