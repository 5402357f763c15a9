/** The OpenID provider: authorization code flow with PKCE (OpenID Connect Core 1.0; RFC 7636; RFC 9700). */
import { Clock, Context, Data, DateTime, Duration, Effect, Layer, Option, Redacted, Result, Semaphore } from "effect"
import type * as Client from "openid-client"
import type { PersonWithGrant } from "../../../domain/access/Person.ts"
import { mayDo } from "../../../domain/access/Roles.ts"
import type { SignInProblem } from "../../../domain/access/SignInProblem.ts"
import { storable } from "../../../domain/StorableText.ts"
import { isRecent, recentFor } from "../RecentSignIn.ts"
import { grantOf, groupsIn, hasTooManyGroups, needsGroups } from "./GroupRoles.ts"
import { Oidc, type OidcSettings } from "./OidcSettings.ts"

/** Loaded by the first sign-in: most servers have no provider. */
const load = Effect.promise(() => import("openid-client"))

/** In seconds, for each request to the provider. */
const timeout = 10

/** The provider's metadata and keys are read again after this time. */
const metadataAge = Duration.toMillis("1 hour")
/** After a failure, the provider is not asked again for this time. */
const failureAge = Duration.toMillis("2 seconds")

/** Maximum number of responses of the provider that are checked at a time. */
const mostRequests = 32
/** Further ones wait; beyond this many they are refused. */
const mostWaiting = 100

/** Longer texts of a person are cut. */
const maxText = 256

/** An ID token that is longer is not stored, so the provider asks the person before it signs them out. */
const maxIdToken = 16_384

/** The data that the browser keeps while the person is at the provider. */
interface Transaction {
  readonly state: string
  readonly nonce: string
  /** The verifier of PKCE. */
  readonly verifier: string
  /** Whether the person was asked to sign in again, even if signed in at the provider. */
  readonly fresh: boolean
}

/** A person who has signed in, with what their groups allow. */
export interface SignedInPerson {
  readonly person: PersonWithGrant
  /** When they signed in at the provider; absent: it did not say. */
  readonly authenticated_at?: DateTime.Utc
  readonly id_token?: string
}

/** `detail`, for the log, has no code, token or secret. */
class SignInFailed extends Data.TaggedError("SignInFailed")<{
  readonly problem: SignInProblem
  readonly detail: string
}> {}

export interface Provider {
  /** The provider's address for a new sign-in. */
  readonly begin: (
    redirectUri: string,
    fresh: boolean
  ) => Effect.Effect<{ readonly url: string; readonly transaction: Transaction }, SignInFailed>
  /** Checks the provider's response, and redeems its code. */
  readonly finish: (
    redirectUri: string,
    response: URLSearchParams,
    transaction: Transaction
  ) => Effect.Effect<SignedInPerson, SignInFailed>
  /** Fails unless the provider answers, and knows the client: it must refuse a code that it did not issue for that reason. */
  readonly examine: Effect.Effect<void, SignInFailed>
  /** The provider's metadata, read again every hour. */
  readonly metadata: Effect.Effect<Client.ServerMetadata, SignInFailed>
  /** The provider's address that signs the person out there, too; none: it has none, or cannot be reached. */
  readonly signOutUrl: (idToken: string | undefined, redirectUri: string) => Effect.Effect<Option.Option<string>>
}

const printable = (text: unknown): string =>
  String(text)
    .replaceAll(/[^\x20-\x7e]/g, "?")
    .slice(0, 200)

/** Never with the error's cause, which has the parameters of the request. */
const detailOf = (error: unknown): string => {
  const { code, error_description, message, status, ...rest } = error as {
    readonly [name in "code" | "error" | "error_description" | "message" | "status"]?: unknown
  }
  return [message, code, status, rest.error ?? (error as { error?: unknown }).error, error_description]
    .filter((part) => part !== undefined && part !== "")
    .map(printable)
    .join(", ")
}

const problemOf = (client: typeof Client, error: unknown): SignInProblem => {
  if (error instanceof client.AuthorizationResponseError) {
    return error.error === "access_denied" ? "denied" : "provider_error"
  }
  // The code was used before, or is another client's.
  if (error instanceof client.ResponseBodyError) return error.error === "invalid_grant" ? "invalid" : "provider_error"
  const { code } = error as { readonly code?: unknown }
  switch (code) {
    case "OAUTH_JWT_TIMESTAMP_CHECK_FAILED":
    case "OAUTH_INVALID_RESPONSE":
    case "OAUTH_JWT_CLAIM_COMPARISON_FAILED":
    case "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED":
      return "invalid"
    case "OAUTH_WWW_AUTHENTICATE_CHALLENGE":
      return "provider_error"
    default:
      return "provider_unavailable"
  }
}

/** The client of the provider's metadata. */
const discover = (client: typeof Client, settings: OidcSettings) => {
  const { clientAuthentication, clientId, clientSecret, issuer } = settings
  const secret = Redacted.value(Option.getOrElse(clientSecret, () => Redacted.make("")))
  const authentications: { readonly [name in typeof clientAuthentication]: () => Client.ClientAuth } = {
    client_secret_basic: () => client.ClientSecretBasic(secret),
    client_secret_post: () => client.ClientSecretPost(secret),
    none: client.None
  }
  return client.discovery(new URL(issuer), clientId, {}, authentications[clientAuthentication](), {
    timeout,
    execute: [
      // Not only the connection's certificate, but also the ID token's signature is checked.
      client.enableNonRepudiationChecks,
      // The settings allow `http:` on this machine only.
      ...(new URL(issuer).protocol === "http:" ? [client.allowInsecureRequests] : [])
    ]
  })
}

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? storable(value).slice(0, maxText) : undefined

type Claims = { readonly [name: string]: unknown }

/** Maximum length of a person's ID (OpenID Connect Core 1.0, 2). */
const maxSubject = 255

/** Anything else could be the ID of several people. */
export const isSubject = (sub: unknown): sub is string =>
  typeof sub === "string" && sub.trim() !== "" && sub.length <= maxSubject

/** The person with this ID, as the provider's claims show them, with what their groups allow; or why they may do nothing. */
export const personOf = (
  { groupsClaim, roles }: OidcSettings,
  sub: string,
  claims: Claims
): Result.Result<PersonWithGrant, string> => {
  if (needsGroups(roles) && hasTooManyGroups(claims, groupsClaim)) {
    return Result.fail(
      `The token has no claim ${groupsClaim}, as the person is in too many groups. At the provider, limit the claim to the groups that are assigned to this application (Entra ID: "Groups assigned to the application"), or use app roles, with OIDC_GROUPS_CLAIM=roles`
    )
  }
  const grant = grantOf(roles, groupsIn(claims, groupsClaim) ?? [])
  if (Option.isNone(grant))
    return Result.fail(`No group in the token's claim \`${groupsClaim}\` has a role on this server.`)
  const { role, teams } = grant.value
  const [name, email] = [textOf(claims.name) ?? textOf(claims.preferred_username), textOf(claims.email)]
  return Result.succeed({
    id: storable(sub),
    ...(name !== undefined && { name }),
    ...(email !== undefined && { email }),
    role,
    ...(teams && { teams })
  })
}

export const make = (settings: OidcSettings): Effect.Effect<Provider> =>
  Effect.gen(function* () {
    const one = yield* Semaphore.make(1)
    const requests = yield* Semaphore.make(mostRequests)
    let unfinished = 0
    const place = Effect.acquireRelease(
      Effect.suspend(() =>
        unfinished < mostRequests + mostWaiting
          ? Effect.sync(() => unfinished++)
          : new SignInFailed({ problem: "unavailable", detail: "too many sign-ins wait for the provider" })
      ),
      () => Effect.sync(() => unfinished--)
    )
    /** At most `mostRequests` at a time. */
    const inTurn = <A>(effect: Effect.Effect<A, SignInFailed>) =>
      Effect.scoped(Effect.andThen(place, requests.withPermits(1)(effect)))
    let known: { readonly config: Client.Configuration; readonly at: number } | undefined
    let failed: { readonly failure: SignInFailed; readonly at: number } | undefined

    const attempt = <A>(client: typeof Client, request: () => Promise<A>) =>
      Effect.tryPromise({
        try: request,
        catch: (error) => new SignInFailed({ problem: problemOf(client, error), detail: detailOf(error) })
      })

    /** Reads the metadata when it is first needed, and again if that failed. So the server starts without the provider. */
    const connect = Effect.gen(function* () {
      const client = yield* load
      const now = yield* Clock.currentTimeMillis
      if (known !== undefined && now - known.at < metadataAge) return { client, config: known.config }
      if (failed === undefined || now - failed.at >= failureAge) {
        const found = yield* Effect.result(attempt(client, () => discover(client, settings)))
        const at = yield* Clock.currentTimeMillis
        if (found._tag === "Success") {
          known = { config: found.success, at }
          failed = undefined
          return { client, config: known.config }
        }
        failed = { failure: new SignInFailed({ ...found.failure, problem: "provider_unavailable" }), at }
      }
      return known === undefined ? yield* failed.failure : { client, config: known.config }
    }).pipe(one.withPermits(1))

    const begin: Provider["begin"] = (redirect_uri, fresh) =>
      Effect.gen(function* () {
        const { client, config } = yield* connect
        const transaction = {
          state: client.randomState(),
          nonce: client.randomNonce(),
          verifier: client.randomPKCECodeVerifier(),
          fresh
        }
        const code_challenge = yield* Effect.promise(() => client.calculatePKCECodeChallenge(transaction.verifier))
        const { nonce, state } = transaction
        const url = client.buildAuthorizationUrl(config, {
          ...{ redirect_uri, scope: settings.scopes, state, nonce },
          ...{ code_challenge, code_challenge_method: "S256" },
          ...(fresh && { prompt: "login", max_age: String(Duration.toSeconds(recentFor)) })
        })
        return { url: url.href, transaction }
      })

    /**
     * The claims of the ID token, and of the provider's user information for those that are not in it. That may fail as long as
     * the groups are known: Entra ID refuses access tokens that are for another server.
     */
    const claimsOf = (
      client: typeof Client,
      config: Client.Configuration,
      tokens: Client.TokenEndpointResponse,
      idToken: Client.IDToken
    ) =>
      Effect.gen(function* () {
        const hasGroups =
          groupsIn(idToken, settings.groupsClaim) !== undefined || hasTooManyGroups(idToken, settings.groupsClaim)
        const isComplete = hasGroups && idToken.name !== undefined && idToken.email !== undefined
        if (isComplete || config.serverMetadata().userinfo_endpoint === undefined) return idToken
        const more = yield* attempt(client, () => client.fetchUserInfo(config, tokens.access_token, idToken.sub)).pipe(
          Effect.tapError(({ detail }) =>
            Effect.logWarning(`The OpenID provider's UserInfo cannot be read, only the ID token: ${detail}`)
          ),
          Effect.catchIf(
            () => hasGroups || !needsGroups(settings.roles),
            () => Effect.succeed({})
          )
        )
        return { ...more, ...idToken }
      })

    const finish: Provider["finish"] = (redirectUri, response, { fresh, nonce, state, verifier }) =>
      Effect.gen(function* () {
        const { client, config } = yield* connect
        const tokens = yield* attempt(client, () =>
          client.authorizationCodeGrant(config, new URL(`?${response}`, redirectUri), {
            ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
          })
        )
        const idToken = tokens.claims()!
        if (!isSubject(idToken.sub)) {
          return yield* new SignInFailed({ problem: "invalid", detail: `sub is "${printable(idToken.sub)}"` })
        }
        const now = yield* DateTime.now
        const { auth_time } = idToken
        // The provider's clock may be ahead.
        const authenticated = auth_time !== undefined && {
          authenticated_at: DateTime.min(DateTime.makeUnsafe(auth_time * 1_000), now)
        }
        if (fresh && !(authenticated && isRecent(authenticated, now))) {
          return yield* new SignInFailed({ problem: "not_recent", detail: `auth_time is ${printable(auth_time)}` })
        }
        const claims: Claims = yield* claimsOf(client, config, tokens, idToken)
        const person = personOf(settings, idToken.sub, claims)
        if (Result.isFailure(person) || !mayDo(person.success.role, "read")) {
          const because = Result.isFailure(person) ? person.failure : "The role caller does not allow the web UI."
          return yield* new SignInFailed({
            problem: "no_role",
            detail: `${printable(idToken.sub)} has no role for the web UI: ${because}`
          })
        }
        return {
          person: person.success,
          ...authenticated,
          ...(config.serverMetadata().end_session_endpoint !== undefined &&
            tokens.id_token !== undefined &&
            tokens.id_token.length <= maxIdToken && { id_token: tokens.id_token })
        }
      }).pipe(inTurn)

    const examine: Provider["examine"] = Effect.gen(function* () {
      const { client, config } = yield* connect
      const parameters = {
        ...{ code: "made-up-by-doctor", redirect_uri: settings.issuer },
        code_verifier: client.randomPKCECodeVerifier()
      }
      yield* attempt(client, () => client.genericGrantRequest(config, "authorization_code", parameters)).pipe(
        Effect.asVoid,
        Effect.catchIf(
          ({ problem }) => problem === "invalid",
          () => Effect.void
        )
      )
    })

    const signOutUrl: Provider["signOutUrl"] = (idToken, post_logout_redirect_uri) =>
      Effect.gen(function* () {
        const { client, config } = yield* connect
        if (config.serverMetadata().end_session_endpoint === undefined) return Option.none()
        const parameters = { post_logout_redirect_uri, ...(idToken !== undefined && { id_token_hint: idToken }) }
        return Option.some(client.buildEndSessionUrl(config, parameters).href)
      }).pipe(Effect.orElseSucceed(() => Option.none<string>()))

    const metadata = Effect.map(connect, ({ config }): Client.ServerMetadata => config.serverMetadata())

    return { begin, finish, examine, metadata, signOutUrl }
  })

/** The provider of the settings, if there is one. */
export class OidcProvider extends Context.Service<OidcProvider, Option.Option<Provider>>()(
  "webhook-trigger/OidcProvider"
) {
  static readonly layer: Layer.Layer<OidcProvider> = Layer.effect(
    OidcProvider,
    Effect.flatMap(Oidc, (settings) => Effect.transposeOption(Option.map(settings, make)))
  )
}
