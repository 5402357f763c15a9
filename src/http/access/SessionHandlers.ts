import { DateTime, Effect, Option, Redacted, Schema } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { SessionState, SignedOut, SignIn } from "../../api/access/Session.ts"
import { pages } from "../../api/Pages.ts"
import { mayDo } from "../../domain/access/Roles.ts"
import { Forbidden, Unauthorized } from "../../domain/Errors.ts"
import { validate } from "../../domain/Validation.ts"
import { Oidc } from "../../engine/access/oidc/OidcSettings.ts"
import { OidcProvider } from "../../engine/access/oidc/Provider.ts"
import { isRecent } from "../../engine/access/RecentSignIn.ts"
import { Sessions } from "../../engine/access/Sessions.ts"
import { isOfLink, SignInLink } from "../../engine/access/SignInLink.ts"
import * as Body from "../request/Body.ts"
import { clientAddress } from "../request/ClientAddress.ts"
import { refusing } from "../request/Handlers.ts"
import { makeManagementOriginFor } from "../request/PublicUrl.ts"
import * as RequestFacts from "../request/RequestFacts.ts"
import { TrustedProxies } from "../request/TrustedProxies.ts"
import { below, UiPath } from "../request/UiPath.ts"
import { accessOf, factsOf } from "./Auth.ts"
import { lacksRole } from "./Authorization.ts"
import { KeyCheck } from "./KeyCheck.ts"
import * as SessionCookie from "./SessionCookie.ts"

const decodeSignIn = validate(SignIn)
const encodeState = Schema.encodeSync(SessionState)
const encodeSignedOut = Schema.encodeSync(SignedOut)

/** Longer than any key. */
const maxBody = 4096

const foreignPage = new Unauthorized({ detail: "Sign in and out from the server's own pages only." })

const withoutTls = (address: string) =>
  new Forbidden({
    detail: `Open ${address} to sign in. This page has no TLS, so the browser would not keep the session.`
  })

export const layer = HttpApiBuilder.group(Api, "session", (handlers) =>
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const cookie = yield* SessionCookie.make
    const proxies = yield* TrustedProxies
    const { check } = yield* KeyCheck
    const link = yield* SignInLink
    const originFor = yield* makeManagementOriginFor
    const provider = yield* OidcProvider
    const uiPath = yield* UiPath
    const inUi = Option.match(Option.zipRight(uiPath, yield* Oidc), {
      onNone: () => ({}),
      onSome: ({ providerName }) => ({ provider: providerName })
    })

    /**
     * Some tools send neither header. A page of another site always sends one, and may not sign in even with the key.
     */
    const isForeign = (request: HttpServerRequest.HttpServerRequest) =>
      (request.headers.origin ?? request.headers["sec-fetch-site"]) !== undefined && !cookie.isSameOrigin(request)

    const checkForSignIn = (request: HttpServerRequest.HttpServerRequest, key: Redacted.Redacted) =>
      isOfLink(key) ? link.use(key) : check(request, key)

    /** Ends the request's session, if any, and returns it. */
    const end = (request: HttpServerRequest.HttpServerRequest) =>
      Effect.gen(function* () {
        const found = yield* sessions.find(cookie.of(request))
        if (Option.isNone(found)) return undefined
        const { session } = found.value
        RequestFacts.add(request, factsOf(found.value))
        yield* Effect.catchTag(sessions.end(session.id), "NotFound", () => Effect.void)
        return session
      })

    /** The provider's address that signs the person out there, too. */
    const signOutAt = (request: HttpServerRequest.HttpServerRequest, idToken: string | undefined) =>
      Option.match(Option.all([provider, uiPath]), {
        onNone: () => Effect.succeed(Option.none<string>()),
        onSome: ([{ signOutUrl }, path]) => signOutUrl(idToken, `${originFor(request)}${below(path, pages.signIn)}`)
      })

    return refusing(handlers)
      .handleRaw("show", ({ request }) =>
        Effect.gen(function* () {
          const session = yield* sessions.find(cookie.of(request))
          const now = yield* DateTime.now
          return HttpServerResponse.jsonUnsafe(
            encodeState(
              Option.match(session, {
                onNone: () => ({ signed_in: false, ...inUi }),
                onSome: (found) => ({
                  ...{ signed_in: true, expires_at: found.session.expires_at, access: accessOf(found) },
                  recent: isRecent(found.session, now),
                  ...inUi
                })
              })
            )
          )
        })
      )
      .handleRaw("signIn", ({ request }) =>
        Effect.gen(function* () {
          if (isForeign(request)) return yield* foreignPage
          if (cookie.isLost(request)) return yield* withoutTls(originFor(request))
          const { key } = yield* Effect.flatMap(Body.readObject(request, maxBody), decodeSignIn)
          const checked = yield* checkForSignIn(request, Redacted.make(key))
          RequestFacts.add(request, factsOf(checked))
          if (!mayDo(accessOf(checked).role, "read")) {
            return yield* lacksRole(accessOf(checked).role, "read")
          }
          const from = {
            client_address: clientAddress(proxies, request),
            user_agent: request.headers["user-agent"] ?? ""
          }
          yield* end(request)
          const { session, token } = yield* sessions.begin(from, checked.key)
          const state = encodeState({
            ...{ signed_in: true, expires_at: session.expires_at, access: accessOf(checked), recent: true },
            ...inUi
          })
          return cookie.set(request, HttpServerResponse.jsonUnsafe(state), token)
        })
      )
      .handleRaw("signOut", ({ request }) =>
        Effect.gen(function* () {
          if (isForeign(request)) return yield* foreignPage
          const idToken = yield* sessions.idTokenOf(cookie.of(request))
          const session = yield* end(request)
          const url = session?.person === undefined ? Option.none() : yield* signOutAt(request, idToken)
          const response = Option.match(url, {
            onNone: () => HttpServerResponse.empty({ status: 204 }),
            onSome: (provider_url) => HttpServerResponse.jsonUnsafe(encodeSignedOut({ provider_url }))
          })
          return cookie.remove(request, response)
        })
      )
  })
)
