/** Applies a key's limits to its requests. For keys without limits, these change nothing. */
import { Effect } from "effect"
import { Actor } from "../../api/access/Auth.ts"
import { includesTeam, isLimited } from "../../domain/access/Grant.ts"
import { Forbidden, NotFound, type Unavailable } from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import { webhookIdOf } from "../../domain/ParsedId.ts"
import type { TeamName } from "../../domain/Team.ts"
import { OwnerStore } from "../../repo/access/OwnerStore.ts"

/** The actor's limits, for a query of runs. */
export const ofActor: Effect.Effect<
  { readonly owners?: ReadonlyArray<TeamName>; readonly triggered_by?: string },
  never,
  Actor
> = Effect.map(Actor, ({ grant: { teams, triggered_by } }) => ({
  ...(teams && { owners: teams }),
  ...(triggered_by !== undefined && { triggered_by })
}))

/** Leaves out what is of other teams. */
export const onlyOwned = <A extends { readonly team: TeamName }, E, R>(
  list: Effect.Effect<ReadonlyArray<A>, E, R>
): Effect.Effect<ReadonlyArray<A>, E, Actor | R> =>
  Effect.flatMap(Actor, ({ grant }) => Effect.map(list, (all) => all.filter(({ team }) => includesTeam(grant, team))))

export const make = Effect.map(OwnerStore, (store) => ({
  /** Leaves out what is of webhooks of other teams. */
  onlyOfOwnedWebhooks: <A extends { readonly webhook_id: WebhookId }, E, R>(
    list: Effect.Effect<ReadonlyArray<A>, E, R>
  ): Effect.Effect<ReadonlyArray<A>, E | Unavailable, Actor | R> =>
    Effect.gen(function* () {
      const { grant } = yield* Actor
      const all = yield* list
      if (grant.teams === undefined) return all
      const teams = yield* store.teamsOf(all.map(({ webhook_id }) => webhook_id))
      return all.filter(({ webhook_id }) => includesTeam(grant, teams.get(webhook_id) ?? ""))
    }),

  /** Fails unless the actor may use the webhook or the team that a request names. */
  check: ({
    team,
    webhook_id
  }: {
    readonly team?: TeamName | undefined
    readonly webhook_id?: WebhookId | undefined
  }) =>
    Effect.gen(function* () {
      const { grant } = yield* Actor
      if (!isLimited(grant)) return
      if (team !== undefined && !includesTeam(grant, team)) return yield* new NotFound()
      if (webhook_id === undefined || (yield* store.isOwned({ webhook_id }, grant))) return
      return yield* new NotFound()
    }),

  /** Fails if the webhook's history is also of a team that the actor may not use: deleting the one deletes the other. */
  checkDeletion: (id: string) =>
    Effect.gen(function* () {
      const { grant } = yield* Actor
      if (grant.teams === undefined) return
      if (yield* store.hasOthersRuns(yield* webhookIdOf(id), grant.teams)) return yield* hasOthersRuns
    }),

  /** Whether the actor may use one of these runs. */
  isAllowed: (ids: ReadonlyArray<RunId>): Effect.Effect<(id: RunId) => boolean, Unavailable, Actor> =>
    Effect.gen(function* () {
      const { grant } = yield* Actor
      if (!isLimited(grant)) return (_id: RunId) => true
      const owned = yield* store.ownedRuns(ids, grant)
      return (id: RunId) => owned.has(id)
    })
}))

const hasOthersRuns = new Forbidden({
  detail: "The webhook has runs of another team, which would be deleted. This needs access to that team, too."
})
