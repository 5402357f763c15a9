/** Who calls: a key, or a person with an access token of the OpenID provider. */
import { Effect, Option, Redacted } from "effect"
import type { HttpServerRequest } from "effect/http"
import { type Grant, ofStarter } from "../../domain/access/Grant.ts"
import { personName } from "../../domain/access/PersonName.ts"
import { mayDo } from "../../domain/access/Roles.ts"
import { Unauthorized } from "../../domain/Errors.ts"
import type { Actor } from "../../domain/webhook/Approvers.ts"
import { ApiKeys } from "../../engine/access/ApiKeys.ts"
import { Origin } from "../../engine/access/Audit.ts"
import * as AccessTokens from "../../engine/access/oidc/AccessTokens.ts"
import { OidcProvider } from "../../engine/access/oidc/Provider.ts"
import { Sessions } from "../../engine/access/Sessions.ts"
import { keyWorks } from "../access/ActorStreams.ts"
import * as Auth from "../access/Auth.ts"
import { lacksRole } from "../access/Authorization.ts"
import { bearerOf } from "../access/Bearer.ts"
import { KeyCheck } from "../access/KeyCheck.ts"
import { clientAddress } from "../request/ClientAddress.ts"
import * as RequestFacts from "../request/RequestFacts.ts"
import { originOf } from "../request/RequestOrigin.ts"
import { TrustedProxies } from "../request/TrustedProxies.ts"
import * as ProtectedResource from "./ProtectedResource.ts"
import type { Caller } from "./Runs.ts"

type Request = HttpServerRequest.HttpServerRequest

const callerWith = (grant: Grant, by: Actor, works: Effect.Effect<boolean>) =>
  mayDo(grant.role, "call")
    ? Effect.succeed<Caller>({ id: by.id, by, grant: ofStarter(grant, by.id), works })
    : lacksRole(grant.role, "call")

export const make = Effect.gen(function* () {
  const { check } = yield* KeyCheck
  const starterOf = yield* Auth.makeStarter
  const actorOf = yield* Auth.makeActorOf
  const keys = yield* ApiKeys
  const sessions = yield* Sessions
  const proxies = yield* TrustedProxies
  const resource = yield* ProtectedResource.make
  const tokens = Option.map(Option.all([resource, yield* OidcProvider]), ([{ audience, settings }, provider]) =>
    AccessTokens.make(settings, provider, audience)
  )

  const byKey = (request: Request, key: string) =>
    Effect.flatMap(check(request, Redacted.make(key)), (checked) => {
      const actor = actorOf(checked)
      RequestFacts.add(request, Auth.factsOf(actor))
      const works = checked.key ? keyWorks(keys, checked.key.id) : Effect.succeed(true)
      return callerWith(
        actor.grant,
        starterOf(checked),
        Effect.orElseSucceed(works, () => false)
      )
    })

  const byToken = (request: Request, token: string, checked: AccessTokens.AccessToken) =>
    Effect.gen(function* () {
      const { person } = checked
      RequestFacts.add(request, { actor: "session", person_id: person.id, person_name: personName(person) })
      const from = {
        client_address: clientAddress(proxies, request),
        user_agent: request.headers["user-agent"] ?? ""
      }
      const find = sessions.ofAccessToken(Redacted.make(token), checked, from)
      const session = yield* find
      if (Option.isNone(session)) {
        return yield* new Unauthorized({ detail: "The access token's session was ended.", invalid_token: true })
      }
      RequestFacts.add(request, Auth.factsOf({ session: session.value }))
      const works = Effect.orElseSucceed(Effect.map(find, Option.isSome), () => false)
      return yield* callerWith(person, starterOf({ session: session.value }), works)
    }).pipe(Effect.provideService(Origin, originOf(proxies, request)))

  return (request: Request) =>
    Effect.suspend(() => {
      const bearer = bearerOf(request)
      if (bearer === undefined) {
        const more = Option.isSome(tokens) ? ", or an access token of the OpenID provider" : ""
        return new Unauthorized({ detail: `Send \`Authorization: Bearer <key>\`, with an API key${more}.` })
      }
      return Option.isSome(tokens) && AccessTokens.isTokenShaped(bearer)
        ? Effect.flatMap(tokens.value(bearer), (checked) => byToken(request, bearer, checked))
        : byKey(request, bearer)
    }).pipe(
      Effect.catchTag("Unauthorized", ({ _tag: _, ...refusal }) =>
        Effect.fail(
          new Unauthorized({
            ...{ detail: refusal.detail, ...(refusal.invalid_token && { invalid_token: true as const }) },
            ...Option.match(resource, {
              onNone: () => ({}),
              onSome: ({ metadataUrlFor }) => ({ resource_metadata: metadataUrlFor(request) })
            })
          })
        )
      )
    )
})
