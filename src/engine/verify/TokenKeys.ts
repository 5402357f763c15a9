import { Clock, Context, Effect, Layer } from "effect"
import type * as Jose from "jose"
import { Unavailable } from "../../domain/Errors.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import { Poster } from "../egress/Poster.ts"
import type { CheckedToken } from "./RequestLookup.ts"
import type { NeedsToken } from "./Tokens.ts"

const load = Effect.promise(() => import("jose"))

/** The maximum size of a provider's keys, in bytes. Google's have about 2,000. */
const maxKeys = 100_000

/** Webhooks may name any provider, so what is known of them is bounded. */
const maxProviders = 100

/** The signatures with a public key that providers use. */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]

const unreachable = (detail: string) =>
  new Unavailable({ what: "server", detail: `The keys of the token's issuer cannot be read: ${detail}` })

/** Errors of the library that are about the token. Others are about the keys. */
const aboutToken =
  /^ERR_(?:JWT_|JWS_|JOSE_ALG_NOT_ALLOWED|JOSE_NOT_SUPPORTED|JWKS_NO_MATCHING_KEY|JWKS_MULTIPLE_MATCHING_KEYS)/

/** Checks callers' tokens with the keys that their issuers publish. */
export class TokenKeys extends Context.Service<
  TokenKeys,
  {
    /** Tries the keys of the issuer on the token, at this moment. */
    readonly check: (needed: NeedsToken) => Effect.Effect<CheckedToken, Unavailable>
  }
>()("webhook-trigger/TokenKeys") {
  static readonly layer: Layer.Layer<TokenKeys, never, Poster> = Layer.effect(
    TokenKeys,
    Effect.gen(function* () {
      const { post } = yield* Poster
      const known = new RecentMap<string, Jose.JWTVerifyGetKey>(maxProviders)

      /** The library reads the keys again for an unknown one, and at most every 30 seconds. */
      const keysAt = (jose: typeof Jose, url: string): Jose.JWTVerifyGetKey => {
        const before = known.get(url)
        if (before !== undefined) return before
        const ask: Jose.FetchImplementation = () =>
          Effect.runPromise(
            Effect.matchEffect(post({ method: "GET", url, headers: {}, read: maxKeys }), {
              onSuccess: ({ http_status, text = "" }) => Effect.succeed(new Response(text, { status: http_status })),
              onFailure: ({ reason }) => Effect.die(new Error(reason))
            })
          )
        const keys = jose.createRemoteJWKSet(new URL(url), { [jose.customFetch]: ask })
        known.set(url, keys)
        return keys
      }

      return TokenKeys.of({
        check: Effect.fn("TokenKeys.check")(function* ({ of: { audience, issuers, jwks }, token }) {
          const jose = yield* load
          const now = yield* Clock.currentTimeMillis
          const expected = { algorithms, audience, issuer: [...issuers], currentDate: new Date(now) }
          return yield* Effect.tryPromise({
            try: () => jose.jwtVerify(token, keysAt(jose, jwks), { ...expected, requiredClaims: ["exp"] }),
            catch: (error) => error as { readonly code?: string; readonly message?: string }
          }).pipe(
            Effect.map(({ payload }): CheckedToken => ({ token, claims: payload })),
            Effect.catch(({ code = "", message = "" }): Effect.Effect<CheckedToken, Unavailable> => {
              if (!aboutToken.test(code)) return Effect.fail(unreachable(message))
              return Effect.succeed({ token, isExpired: code === "ERR_JWT_EXPIRED" })
            })
          )
        })
      })
    })
  )
}
