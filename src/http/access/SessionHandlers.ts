import { HttpApiBuilder, type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Option, Redacted, Schema } from "effect"
import { Api } from "../../api/Api.ts"
import { SessionState, SignIn } from "../../api/Session.ts"
import { Unauthorized } from "../../domain/Errors.ts"
import { Sessions } from "../../engine/access/Sessions.ts"
import { validate } from "../../engine/manage/Validation.ts"
import * as Body from "../request/Body.ts"
import { clientAddress } from "../request/ClientAddress.ts"
import * as Problems from "../request/Problems.ts"
import * as RequestFacts from "../request/RequestFacts.ts"
import { TrustedProxies } from "../request/TrustedProxies.ts"
import { accessOf } from "./Auth.ts"
import { KeyCheck } from "./KeyCheck.ts"
import * as SessionCookie from "./SessionCookie.ts"

const decodeSignIn = validate(SignIn)
const encodeState = Schema.encodeSync(SessionState)

/** Longer than any key. */
const maxBody = 4096

const foreignPage = new Unauthorized({ detail: "Sign in and out from the server's own pages only." })

export const layer = HttpApiBuilder.group(Api, "session", (handlers) =>
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const cookie = yield* SessionCookie.make
    const proxies = yield* TrustedProxies
    const { check } = yield* KeyCheck

    /**
     * Some tools send neither header. A page of another site always sends one, and may not sign in even with the key.
     */
    const isForeign = (request: HttpServerRequest.HttpServerRequest) =>
      (request.headers.origin ?? request.headers["sec-fetch-site"]) !== undefined && !cookie.isSameOrigin(request)

    /** Ends the request's session, if any. */
    const end = (request: HttpServerRequest.HttpServerRequest) =>
      Effect.gen(function* () {
        const found = yield* sessions.find(cookie.of(request))
        if (Option.isNone(found)) return
        const { key, session } = found.value
        const { id } = session
        RequestFacts.add(request, {
          actor: "session",
          session_id: id,
          ...(key && { key_id: key.id, key_name: key.name })
        })
        yield* Effect.catchTag(sessions.end(id), "NotFound", () => Effect.void)
      })

    return handlers
      .handleRaw("show", ({ request }) =>
        Effect.gen(function* () {
          const session = yield* Effect.mapError(sessions.find(cookie.of(request)), Problems.of)
          return HttpServerResponse.unsafeJson(
            encodeState(
              Option.match(session, {
                onNone: () => ({ signed_in: false }),
                onSome: ({ key, session: { expires_at } }) => ({ signed_in: true, expires_at, access: accessOf(key) })
              })
            )
          )
        })
      )
      .handleRaw("signIn", ({ request }) =>
        Effect.gen(function* () {
          if (isForeign(request)) return yield* Effect.fail(Problems.of(foreignPage))
          const { key } = yield* Effect.flatMap(Body.readObject(request, maxBody), decodeSignIn).pipe(
            Effect.mapError(Problems.of)
          )
          const checked = yield* Effect.mapError(check(request, Redacted.make(key)), Problems.of)
          const from = {
            client_address: clientAddress(proxies, request),
            user_agent: request.headers["user-agent"] ?? ""
          }
          yield* Effect.mapError(end(request), Problems.of)
          RequestFacts.add(request, {
            actor: checked.key ? "api_key" : "admin_key",
            ...(checked.key && { key_id: checked.key.id, key_name: checked.key.name })
          })
          const { session, token } = yield* Effect.mapError(sessions.begin(from, checked.key), Problems.of)
          const state = encodeState({
            signed_in: true,
            expires_at: session.expires_at,
            access: accessOf(checked.key)
          })
          return cookie.set(request, HttpServerResponse.unsafeJson(state), token)
        })
      )
      .handleRaw("signOut", ({ request }) =>
        Effect.gen(function* () {
          if (isForeign(request)) return yield* Effect.fail(Problems.of(foreignPage))
          yield* Effect.mapError(end(request), Problems.of)
          return cookie.remove(request, HttpServerResponse.empty({ status: 204 }))
        })
      )
  })
)
