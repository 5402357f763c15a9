/**
 * Authenticates management requests: a key, or a session of the web UI. Then checks what it may do. Both come before
 * anything else, even for unknown IDs.
 */
import { Effect, Layer, Option, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import type { Access } from "../../api/access/Access.ts"
import { Actor, Admin } from "../../api/access/Auth.ts"
import type { ApiKey } from "../../domain/access/ApiKey.ts"
import { everything, ofStarter } from "../../domain/access/Grant.ts"
import type { Person } from "../../domain/access/Person.ts"
import { personName } from "../../domain/access/PersonName.ts"
import type { Session } from "../../domain/access/Session.ts"
import { Unauthorized } from "../../domain/Errors.ts"
import type { Actor as Starter } from "../../domain/webhook/Approvers.ts"
import { nameOf, type OriginValues } from "../../engine/access/Audit.ts"
import { Oidc } from "../../engine/access/oidc/OidcSettings.ts"
import { Sessions } from "../../engine/access/Sessions.ts"
import type { OwnerStore } from "../../repo/access/OwnerStore.ts"
import * as Problems from "../request/Problems.ts"
import * as QueryCheck from "../request/QueryCheck.ts"
import * as RequestFacts from "../request/RequestFacts.ts"
import * as Authorization from "./Authorization.ts"
import { bearerOf } from "./Bearer.ts"
import { KeyCheck } from "./KeyCheck.ts"
import * as SessionCookie from "./SessionCookie.ts"

const refused = Effect.fail(
  Problems.of(new Unauthorized({ detail: "Send `Authorization: Bearer <key>`, with the admin key or an API key." }))
)

/** The key or session of a request. Without an API key and a person, it is the admin key's. */
interface Found {
  readonly key?: ApiKey
  readonly session?: Session
}

const grantOf = ({ key, session }: Found): Pick<Access, "role" | "teams" | "webhooks"> => {
  const limited = key ?? session?.person
  if (limited === undefined) return everything
  const { role, teams } = limited
  return { role, ...(teams && { teams }), ...(key?.webhooks && { webhooks: key.webhooks }) }
}

/**
 * The `triggered_by` of runs that the sender starts through `/mcp`, or with the role `caller`. A person's ID is only unique at
 * its provider, and another provider may be set later.
 */
const makeStarterOf = Effect.map(
  Oidc,
  (oidc) =>
    ({ key, session }: Found): string =>
      key?.id ??
      (session?.person === undefined
        ? "admin_key"
        : `person:${Option.match(oidc, { onNone: () => "", onSome: ({ issuer }) => `${issuer}#` })}${session.person.id}`)
)

/** As people see it. */
export const accessOf = (found: Found): Access => {
  const { key, session } = found
  return {
    ...grantOf(found),
    ...(key && { key_name: key.name }),
    ...(session?.person && { person: personOf(session.person) }),
    ...(key?.expires_at && { expires_at: key.expires_at })
  }
}

const personOf = ({ email, id, name }: Person): Person => ({
  id,
  ...(name !== undefined && { name }),
  ...(email !== undefined && { email })
})

/** The sender whose key or session was found. */
export const makeActorOf = Effect.map(
  makeStarterOf,
  (starterOf) => (found: Found) => Actor.of({ ...found, grant: ofStarter(grantOf(found), starterOf(found)) })
)

/** For the log, and for audit events. */
export const factsOf = (found: Found): RequestFacts.RequestFacts & Pick<OriginValues, "actor"> => {
  const { key, session } = found
  const { teams } = grantOf(found)
  const person = session?.person
  return {
    actor: session !== undefined ? "session" : key !== undefined ? "api_key" : "admin_key",
    ...(session && { session_id: session.id }),
    ...(key && { key_id: key.id, key_name: key.name }),
    ...(person && { person_id: person.id, person_name: personName(person) }),
    ...(teams && { teams })
  }
}

/** Safe methods change nothing. A page of another site may cause such a request, but cannot read the response. */
const isSafe = (method: string): boolean => method === "GET" || method === "HEAD"

/** The sender, for the rule of approvals. */
export const makeStarter = Effect.map(makeStarterOf, (starterOf) => (found: Found): Starter => {
  const { key, session: { person } = {} } = found
  return {
    ...{ id: starterOf(found), name: nameOf(factsOf(found)), role: grantOf(found).role },
    entries: [...(key ? [`key:${key.name}`] : []), ...(person ? [`person:${person.id}`] : [])]
  }
})

export const layer: Layer.Layer<Admin, never, KeyCheck | OwnerStore | Sessions> = Layer.effect(
  Admin,
  Effect.gen(function* () {
    const { check } = yield* KeyCheck
    const sessions = yield* Sessions
    const cookie = yield* SessionCookie.make

    const actorOf = yield* makeActorOf
    const authorize = yield* Authorization.make

    /** Browsers send the cookie without being asked, so the request's origin matters too. */
    const bySession = (request: HttpServerRequest.HttpServerRequest) =>
      Effect.gen(function* () {
        const found = yield* Effect.mapError(sessions.find(cookie.of(request)), Problems.of)
        if (Option.isNone(found)) return yield* refused
        if (!isSafe(request.method) && !cookie.isSameOrigin(request)) return yield* refused
        return actorOf(found.value)
      })

    const authenticate = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const given = bearerOf(request)
      const actor =
        given === undefined
          ? yield* bySession(request)
          : actorOf(yield* Effect.mapError(check(request, Redacted.make(given)), Problems.of))
      RequestFacts.add(request, factsOf(actor))
      return actor
    })

    /** Only for those who may know: what is wrong with the query. */
    const checked = authenticate.pipe(
      Effect.tap((actor) => Effect.mapError(authorize(actor), Problems.of)),
      Effect.tap(() => Effect.mapError(QueryCheck.check, Problems.of)),
      // Endpoints without parameters do not declare a 400, nor those without an object a 404.
      Effect.catchIf(
        (problem) => problem.status === 400 || problem.status === 404,
        (problem) => Effect.die(Problems.toResponse(problem))
      )
    )

    // The second is tried if the first has refused, and its refusal is the response, so it checks both.
    return Admin.of({
      key: () => refused,
      session: (handler) => Effect.flatMap(checked, (actor) => Effect.provideService(handler, Actor, actor))
    })
  })
)
