/** Access tokens that the OpenID provider issues for this server, as JWTs (RFC 9068). */
import { Clock, DateTime, Duration, Effect, Option, Result } from "effect"
import type * as Jose from "jose"
import type { PersonWithGrant } from "../../../domain/access/Person.ts"
import { Forbidden, Unauthorized, Unavailable } from "../../../domain/Errors.ts"
import { storable } from "../../../domain/StorableText.ts"
import type { OidcSettings } from "./OidcSettings.ts"
import { isSubject, type Provider, personOf } from "./Provider.ts"

/** Loaded by the first token: most servers have no provider. */
const load = Effect.promise(() => import("jose"))

/** In milliseconds, for the request for the provider's keys. */
const timeout = 10_000

/** In milliseconds: the provider's keys are not asked for again within this time. */
const failureAge = 2_000

/** Signatures that only the provider can make. */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]

/** Access tokens by their type (RFC 9068, 2.1). */
const types: ReadonlyArray<unknown> = ["at+jwt", "application/at+jwt"]
/** Access tokens of many providers have the type of all JWTs, or none. So have ID tokens. */
const anyTypes: ReadonlyArray<unknown> = ["jwt", undefined]

/** Claims of ID tokens only (OpenID Connect Core 1.0, 2 and 3.3.2.11). */
const ofIdTokens = ["nonce", "at_hash", "c_hash"]
/** Claims of access tokens only: RFC 9068, 2.2, and `scp` of Entra ID and Okta. An access token has one of them. */
const ofAccessTokens = ["scope", "scp", "client_id"]

const isAccessToken = (type: unknown, claims: Jose.JWTPayload): boolean => {
  const name = typeof type === "string" ? type.toLowerCase() : type
  if (types.includes(name)) return true
  const has = (claim: string) => claims[claim] !== undefined
  return anyTypes.includes(name) && ofAccessTokens.some(has) && !ofIdTokens.some(has)
}

/** How far the provider's clock may be ahead, in milliseconds. */
const maxAhead = 60_000

const maxClient = 256

/** A token that was checked. */
export interface AccessToken {
  readonly person: PersonWithGrant
  /** The client that it was issued to. */
  readonly oauth_client: string
  /** Not used after this time. */
  readonly expires_at: DateTime.Utc
}

/** Whether a bearer token looks like a JWT of the provider. Our keys do not. */
export const isTokenShaped = (text: string): boolean => /^eyJ[\w-]*\.[\w-]+\.[\w-]+$/.test(text)

/** The content of a token, without the signature: other texts can be valid signatures of the same. */
export const signedPartOf = (token: string): string => token.slice(0, token.lastIndexOf("."))

const invalid = (detail: string) => new Unauthorized({ detail, invalid_token: true })

const unreachable = new Unavailable({ what: "server", detail: "The OpenID provider cannot be reached." })

/** Errors of the library that are about the token, by their codes. With others, the provider's keys could not be read. */
const details = (audience: string): { readonly [code: string]: string } => {
  const wrong = "This is not a valid access token of the OpenID provider."
  return {
    ERR_JWT_EXPIRED: "The access token has expired.",
    ERR_JWT_CLAIM_VALIDATION_FAILED: `The access token is not for this server, whose audience is ${audience}.`,
    ERR_JWT_INVALID: wrong,
    ERR_JWS_INVALID: wrong,
    ERR_JWS_SIGNATURE_VERIFICATION_FAILED: wrong,
    ERR_JWKS_NO_MATCHING_KEY: wrong,
    ERR_JWKS_MULTIPLE_MATCHING_KEYS: wrong,
    ERR_JOSE_ALG_NOT_ALLOWED: wrong,
    ERR_JOSE_NOT_SUPPORTED: wrong
  }
}

/** Checks access tokens for this audience. Throws if ID tokens have it. */
export const make = (settings: OidcSettings, provider: Provider, audience: string) => {
  if (audience === settings.clientId) {
    throw new Error(`The audience of access tokens must differ from the client ID ${audience}, that of ID tokens`)
  }
  let known: { readonly uri: string; readonly keys: Jose.JWTVerifyGetKey } | undefined
  /** The last request for the provider's keys. Any token with an unknown key causes one. */
  let asked = { at: Number.NEGATIVE_INFINITY }
  let logged: object | undefined

  const keysAt = (jose: typeof Jose, uri: string) => {
    if (known?.uri !== uri) {
      const ask: Jose.FetchImplementation = (url, options) => {
        const at = performance.now()
        if (at - asked.at < failureAge) throw new Error("the provider was asked a moment ago")
        asked = { at }
        return fetch(url, options)
      }
      known = {
        uri,
        keys: jose.createRemoteJWKSet(new URL(uri), { timeoutDuration: timeout, [jose.customFetch]: ask })
      }
    }
    return known.keys
  }

  /** Logs a failure once, however many tokens meet it. */
  const unreachableBecause = (failure: object, message: string) =>
    Effect.suspend(() => {
      if (failure === logged) return unreachable
      logged = failure
      return Effect.andThen(Effect.logWarning(message), unreachable)
    })

  /** Checks signature, issuer, audience and time, then what the person's groups allow. */
  return (token: string): Effect.Effect<AccessToken, Forbidden | Unauthorized | Unavailable> =>
    Effect.gen(function* () {
      const jose = yield* load
      const { issuer, jwks_uri } = yield* provider.metadata
      if (jwks_uri === undefined) return yield* unreachable
      const now = yield* Clock.currentTimeMillis
      const { payload, protectedHeader } = yield* Effect.tryPromise({
        try: () =>
          jose.jwtVerify(token, keysAt(jose, jwks_uri), {
            ...{ algorithms, audience, issuer, currentDate: new Date(now) },
            requiredClaims: ["exp", "iat", "sub"]
          }),
        catch: (error) => error as { readonly code?: string; readonly message?: string }
      }).pipe(
        Effect.catch(({ code = "", message = "" }): Effect.Effect<never, Unauthorized | Unavailable> => {
          const detail = details(audience)[code]
          if (detail !== undefined) return invalid(detail)
          return unreachableBecause(asked, `The OpenID provider's keys cannot be read: ${message}`)
        })
      )
      const { azp, client_id, cnf, exp, iat, sub } = payload
      // A token that is bound to a key of its client is no bearer token (RFC 9449, 7.2).
      if (cnf !== undefined || !isAccessToken(protectedHeader.typ, payload) || !isSubject(sub)) {
        return yield* invalid("This kind of token cannot be used here.")
      }
      const [issued, expires] = [iat! * 1_000, exp! * 1_000]
      if (issued > now + maxAhead || Option.isNone(DateTime.make(expires))) {
        return yield* invalid("The access token's `iat` or `exp` is too late.")
      }
      const latest = Math.min(expires, issued + Duration.toMillis(settings.sessionLifetime))
      if (latest <= now) return yield* invalid("The access token has expired.")
      const person = personOf(settings, sub, payload)
      if (Result.isFailure(person)) return yield* new Forbidden({ detail: person.failure })
      const client = [client_id, azp].find((id) => typeof id === "string") ?? "unknown"
      return {
        person: person.success,
        oauth_client: storable(client as string).slice(0, maxClient),
        expires_at: DateTime.makeUnsafe(latest)
      }
    }).pipe(
      Effect.catchTag("SignInFailed", (failure) =>
        unreachableBecause(failure, `The OpenID provider cannot be used: ${failure.detail}`)
      )
    )
}
