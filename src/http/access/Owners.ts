/** Keeps the requests of a key that is limited to teams to what is of these teams. For other keys, these change nothing. */
import { Effect } from "effect"
import { Actor } from "../../api/access/Auth.ts"
import { includesTeam } from "../../domain/access/Grant.ts"
import { NotFound, type Unavailable } from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { OwnerStore } from "../../repo/access/OwnerStore.ts"

/** The teams that the actor is limited to, for a query. */
export const ofActor: Effect.Effect<{ readonly owners?: ReadonlyArray<TeamName> }, never, Actor> = Effect.map(
  Actor,
  ({ grant: { teams } }) => (teams === undefined ? {} : { owners: teams })
)

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
      if (grant.teams === undefined) return
      if (team !== undefined && !includesTeam(grant, team)) return yield* new NotFound()
      if (webhook_id === undefined || (yield* store.isOwned({ webhook_id }, grant.teams))) return
      return yield* new NotFound()
    }),

  /** Whether the actor may use one of these runs. */
  isAllowed: (ids: ReadonlyArray<RunId>): Effect.Effect<(id: RunId) => boolean, Unavailable, Actor> =>
    Effect.gen(function* () {
      const { grant } = yield* Actor
      if (grant.teams === undefined) return (_id: RunId) => true
      const owned = yield* store.ownedRuns(ids, grant.teams)
      return (id: RunId) => owned.has(id)
    })
}))
