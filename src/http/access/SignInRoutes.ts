/** Signing in to the web UI at the OpenID provider: browsers open these addresses. */
import { Clock, Effect, Layer, Option } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { callbackPath, signInPath } from "../../api/access/SignIn.ts"
import { pages } from "../../api/Pages.ts"
import { personName } from "../../domain/access/PersonName.ts"
import type { SignInProblem } from "../../domain/access/SignInProblem.ts"
import { NotFound } from "../../domain/Errors.ts"
import { OidcProvider, type Provider } from "../../engine/access/oidc/Provider.ts"
import * as Refusals from "../../engine/access/Refusals.ts"
import { hashOf, Sessions } from "../../engine/access/Sessions.ts"
import { clientAddress, networkOf } from "../request/ClientAddress.ts"
import { isExactly } from "../request/ExactPath.ts"
import { makeManagementOriginFor, makeOriginFor, managementUrl, PublicUrl } from "../request/PublicUrl.ts"
import * as RequestFacts from "../request/RequestFacts.ts"
import * as RequestLog from "../request/RequestLog.ts"
import { TrustedProxies } from "../request/TrustedProxies.ts"
import { below, UiPath } from "../request/UiPath.ts"
import * as Unmatched from "../request/Unmatched.ts"
import { KeyAttempts } from "./KeyAttempts.ts"
import * as SessionCookie from "./SessionCookie.ts"
import * as SignInCookie from "./SignInCookie.ts"

type Request = HttpServerRequest.HttpServerRequest

/** Excludes failures of the provider, and expired sign-ins. */
const isRefusal = (problem: SignInProblem) => ["denied", "invalid", "no_role", "not_recent"].includes(problem)

/** Not by `URL`, which would fail for a request with the whole URL of an invalid host. */
const queryOf = ({ url }: Request) => new URLSearchParams(url.includes("?") ? url.slice(url.indexOf("?") + 1) : "")

/** In the query of a sign-in that was sent to `PUBLIC_URL`. */
const redirected = "redirected"

const base = "http://localhost"

/** Characters of a page to return to, which is part of a cookie. */
const longestPage = 1_000

/** The page that a sign-in returns to, with its query: only one of the web UI, never another address. Else the home page. */
const returnPage = (given: string | null | undefined): string => {
  if (given === null || given === undefined || given.length > longestPage || !URL.canParse(given, base))
    return pages.home
  const { origin, pathname, search } = new URL(given, base)
  const isPage = Object.values(pages).some((page) => page !== pages.signIn && isExactly(page, pathname))
  return origin === base && isPage ? pathname + search : pages.home
}

const redirect = (location: string) => HttpServerResponse.empty({ status: 303, headers: { location } })

const make = (provider: Provider, path: string) =>
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const originFor = yield* makeManagementOriginFor
    const publicUrl = yield* managementUrl
    const requestOrigin = yield* Effect.provideService(makeOriginFor, PublicUrl, Option.none())
    const proxies = yield* TrustedProxies
    const sessionCookie = yield* SessionCookie.make
    const signInCookie = yield* SignInCookie.make
    /** Each response with a code is a request to the provider, so failed ones are limited like wrong keys. */
    const attempts = new KeyAttempts()
    const countRefused = yield* Refusals.make("sign_in.refused")

    const redirectUri = (request: Request) => `${originFor(request)}${path}${callbackPath}`
    const toPage = (request: Request, page: string) => redirect(`${originFor(request)}${path}${page}`)
    const explain = (request: Request, to: string, problem?: string) =>
      toPage(request, `${pages.signIn}?${new URLSearchParams({ ...(problem && { problem }), to })}`)

    /** Another site may neither sign anybody in, nor replace a session: the person presses the button there. */
    const isForeign = ({ headers }: Request) => !["same-origin", "none", undefined].includes(headers["sec-fetch-site"])

    /**
     * The provider leads back to `PUBLIC_URL`, where the cookie of another host, or of one without TLS, is not sent. A proxy may
     * hide that the browser is there already, so it is sent there once.
     */
    const isElsewhere = (request: Request, query: URLSearchParams) =>
      Option.exists(publicUrl, (url) => new URL(url).origin !== requestOrigin(request)) && !query.has(redirected)

    const begin = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const query = queryOf(request)
      const to = returnPage(query.get("to"))
      if (isElsewhere(request, query)) {
        const fresh = query.get("fresh") === "true" && { fresh: "true" }
        return redirect(
          `${originFor(request)}${path}${signInPath}?${new URLSearchParams({ to, ...fresh, [redirected]: "" })}`
        )
      }
      if (isForeign(request)) return explain(request, to)
      const fresh = query.get("fresh") === "true"
      const { transaction, url } = yield* provider.begin(redirectUri(request), fresh)
      const token = sessionCookie.of(request)
      const replaces = token === "" ? {} : { replaces: Buffer.from(hashOf(token)).toString("base64url") }
      return signInCookie.set(request, redirect(url), { ...transaction, to, ...replaces })
    })

    /** Finishes the request's own sign-in, which ends with it. */
    const finish = (request: Request, pending: SignInCookie.Pending, network: string) =>
      Effect.gen(function* () {
        const signedIn = yield* provider.finish(redirectUri(request), queryOf(request), pending)
        attempts.addRight("api", network)
        const { person } = signedIn
        const from = {
          client_address: clientAddress(proxies, request),
          user_agent: request.headers["user-agent"] ?? ""
        }
        RequestFacts.add(request, { actor: "session", person_id: person.id, person_name: personName(person) })
        // First, so that the replaced session never outlives this one.
        if (pending.replaces !== undefined) yield* sessions.endReplaced(Buffer.from(pending.replaces, "base64url"))
        const { session, token } = yield* sessions.beginFor(from, signedIn)
        RequestFacts.add(request, { session_id: session.id })
        return sessionCookie.set(request, toPage(request, returnPage(pending.to)), token)
      })

    const callback = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const address = clientAddress(proxies, request)
      const network = networkOf(address)
      const now = yield* Clock.currentTimeMillis
      const pending = signInCookie.of(request)
      const query = queryOf(request)
      // A response for another sign-in, or for none, does not end this one.
      if (Option.isNone(pending) || query.get("state") !== pending.value.state) {
        return explain(request, pages.home, "expired")
      }
      const to = returnPage(pending.value.to)
      if (!attempts.allows("api", network, now)) {
        yield* countRefused(address)
        return explain(request, to, "too_many")
      }
      // Counted before the provider answers: of simultaneous responses, each counts. After a sign-in the network is exempt.
      if (query.has("code")) attempts.addWrong(network, now)
      const response = yield* Effect.catchTags(finish(request, pending.value, network), {
        SignInFailed: ({ detail, problem }) =>
          Effect.gen(function* () {
            yield* Effect.logWarning(`Signing in at the OpenID provider failed (${problem}): ${detail}`)
            if (isRefusal(problem)) yield* countRefused(address)
            return explain(request, to, problem)
          }),
        Unavailable: () => Effect.succeed(explain(request, to, "unavailable"))
      })
      return signInCookie.remove(request, response)
    })

    const beginOrExplain = Effect.catchTag(begin, "SignInFailed", ({ detail, problem }) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        yield* Effect.logWarning(`The OpenID provider cannot be used: ${detail}`)
        return explain(request, returnPage(queryOf(request).get("to")), problem)
      })
    )

    return { begin: beginOrExplain, callback }
  })

const noProvider = {
  begin: Effect.fail(new NotFound()),
  callback: Effect.fail(new NotFound())
}

const routes = (path: string) => {
  const [beginAt, finishAt] = [below(path, signInPath), below(path, callbackPath)]
  return HttpRouter.addAll(
    Effect.gen(function* () {
      const provider = yield* OidcProvider
      const { begin, callback } = Option.isNone(provider) ? noProvider : yield* make(provider.value, path)
      return [HttpRouter.route("GET", beginAt, begin), HttpRouter.route("GET", finishAt, callback)]
    })
  ).pipe(
    Layer.provide(RequestLog.layer),
    Layer.merge(Unmatched.methodNotAllowed(Unmatched.onlyGet([beginAt, finishAt])))
  )
}

/** None without a web UI, whose pages they lead to. */
export const layer = Layer.unwrap(Effect.map(UiPath, Option.match({ onNone: () => Layer.empty, onSome: routes })))
