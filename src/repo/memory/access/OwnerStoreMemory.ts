import { type Context, Effect } from "effect"
import type { RunRow } from "../../../domain/run/Run.ts"
import type { TeamName } from "../../../domain/Team.ts"
import { OwnerStore } from "../../access/OwnerStore.ts"
import type { Tables } from "../Tables.ts"

/** Whether a run belongs to these teams alone. */
export const isRunOf = (
  { webhooks }: Pick<Tables, "webhooks">,
  { team, webhook_id }: Pick<RunRow, "team" | "webhook_id">,
  teams: ReadonlyArray<TeamName>
): boolean => {
  const others = webhook_id === undefined ? team : webhooks.get(webhook_id)?.team
  return teams.includes(team) && others !== undefined && teams.includes(others)
}

export const makeOwnerStore = (tables: Tables): Context.Tag.Service<OwnerStore> => {
  const { find, threads, webhooks } = tables
  return OwnerStore.of({
    isOwned: (object, teams) =>
      Effect.sync(() => {
        if ("run_id" in object) {
          const run = find(object.run_id)
          return run !== undefined && isRunOf(tables, run.row, teams)
        }
        const owner = "webhook_id" in object ? webhooks.get(object.webhook_id) : threads.get(object.thread_id)
        return owner !== undefined && teams.includes(owner.team)
      }),
    ownedRuns: (ids, teams) =>
      Effect.sync(
        () =>
          new Set(
            ids.filter((id) => {
              const run = find(id)
              return run !== undefined && isRunOf(tables, run.row, teams)
            })
          )
      ),
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
