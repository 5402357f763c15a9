/** Applies the rules of the endpoints (`api/access/Rules.ts`) to a request whose sender is known. */
import { DateTime, Effect, Option } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApi } from "effect/http-api"
import { Management } from "../../api/Api.ts"
import type { Actor } from "../../api/access/Auth.ts"
import { type Rule, ruleOf } from "../../api/access/Rules.ts"
import { includesTeam, isLimited } from "../../domain/access/Grant.ts"
import { leastRoleFor, mayDo, type Permission, type Role } from "../../domain/access/Roles.ts"
import { Forbidden, FreshSignInRequired, NotFound, type Unavailable } from "../../domain/Errors.ts"
import { runIdOf, threadIdOf, webhookIdOf } from "../../domain/ParsedId.ts"
import { isRecent } from "../../engine/access/RecentSignIn.ts"
import { type Owned, OwnerStore } from "../../repo/access/OwnerStore.ts"
import { endpointKey } from "../request/QueryCheck.ts"

/** By method and path. */
const byRoute = new Map<string, Rule>()
HttpApi.reflect(Management, {
  onGroup: () => {},
  onEndpoint: ({ endpoint: { identifier, method, path }, group }) => {
    const rule = ruleOf(group.identifier, identifier)
    if (rule !== undefined) byRoute.set(endpointKey(method, path), rule)
  }
})

export const lacksRole = (role: Role, permission: Permission) =>
  new Forbidden({ detail: `This needs the role \`${leastRoleFor(permission)}\`. Your role is \`${role}\`.` })

const needsAllTeams = new Forbidden({ detail: "This needs access to all teams. Yours is limited to certain teams." })

/** An endpoint without a rule is not part of the management, so nobody gets there. */
const noRule = new Forbidden({ detail: "Nobody may do this." })

/** The object in a request's path; undefined: none. */
const objectIn = (scope: Rule[1], params: { readonly [name: string]: string | undefined }) => {
  const { id = "", run_id = "", thread_id = "" } = params
  switch (scope) {
    case "webhook":
      return Effect.map(webhookIdOf(id), (webhook_id): Owned => ({ webhook_id }))
    case "run":
      return Effect.map(runIdOf(run_id), (run_id): Owned => ({ run_id }))
    case "thread":
      return Effect.map(threadIdOf(thread_id), (thread_id): Owned => ({ thread_id }))
    case "team":
    case "filtered":
    case "shared":
    case "server":
      return undefined
  }
}

/** Fails if the endpoint does not allow the request to this sender. */
export const make: Effect.Effect<
  (
    actor: Actor["Service"]
  ) => Effect.Effect<void, Forbidden | FreshSignInRequired | NotFound | Unavailable, HttpRouter.RouteContext>,
  never,
  OwnerStore
> = Effect.map(
  OwnerStore,
  ({ isOwned }) =>
    ({ grant, session }) =>
      Effect.gen(function* () {
        const { params, route } = yield* HttpRouter.RouteContext
        // Below a host's prefix, which is in the route's path.
        const path = route.path.slice(Option.getOrElse(route.prefix, () => "").length)
        const [permission, scope, sensitive] = byRoute.get(endpointKey(route.method, path)) ?? (yield* noRule)
        if (!mayDo(grant.role, permission)) return yield* lacksRole(grant.role, permission)
        if (isLimited(grant)) {
          if (scope === "server") return yield* needsAllTeams
          if (scope === "team" && !includesTeam(grant, params.team ?? "")) return yield* new NotFound()
          const object = objectIn(scope, params)
          if (object !== undefined && !(yield* isOwned(yield* object, grant))) return yield* new NotFound()
        }
        if (sensitive === undefined || session === undefined) return
        if (!isRecent(session, yield* DateTime.now)) return yield* new FreshSignInRequired()
      })
)
