/**
 * `/mcp` as a protected resource of OAuth 2.0: which provider issues access tokens for it (RFC 9728). Only with a provider,
 * and an audience that no request can choose.
 */
import { Effect, Layer, Option } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { NotFound } from "../../domain/Errors.ts"
import { Oidc, type OidcSettings } from "../../engine/access/oidc/OidcSettings.ts"
import { makeManagementOriginFor, managementUrl } from "../request/PublicUrl.ts"
import * as RequestLog from "../request/RequestLog.ts"
import * as Unmatched from "../request/Unmatched.ts"
import * as AllowedOrigins from "./AllowedOrigins.ts"

export const path = "/mcp"

const wellKnown = "/.well-known/oauth-protected-resource"

type Request = HttpServerRequest.HttpServerRequest

interface ProtectedResource {
  readonly settings: OidcSettings
  /** The audience that access tokens must have. */
  readonly audience: string
  /** Its address, for the sender of a request. */
  readonly urlFor: (request: Request) => string
  /** The address of its metadata. */
  readonly metadataUrlFor: (request: Request) => string
}

/** None: access tokens are not accepted. */
export const make: Effect.Effect<Option.Option<ProtectedResource>> = Effect.gen(function* () {
  const originFor = yield* makeManagementOriginFor
  const ownUrl = Option.map(yield* managementUrl, (url) => `${url}${path}`)
  return Option.flatMap(yield* Oidc, (settings) =>
    Option.map(
      Option.orElse(Option.fromNullishOr(settings.mcpAudience), () => ownUrl),
      (audience) => ({
        ...{ settings, audience },
        urlFor: (request) => `${originFor(request)}${path}`,
        metadataUrlFor: (request) => `${originFor(request)}${wellKnown}${path}`
      })
    )
  )
})

const metadata = Effect.map(
  make,
  Option.match({
    onNone: () => new NotFound(),
    onSome: ({ settings: { issuer, mcpScopes, scopes }, urlFor }) =>
      Effect.map(HttpServerRequest.HttpServerRequest, (request) =>
        HttpServerResponse.jsonUnsafe(
          {
            resource: urlFor(request),
            authorization_servers: [issuer],
            scopes_supported: (mcpScopes ?? scopes).split(/ +/),
            bearer_methods_supported: ["header"],
            resource_name: "Webhook Trigger Service"
          },
          // Without `PUBLIC_URL`, the request's `Host` is part of it.
          { headers: { "cache-control": "no-store" } }
        )
      )
  })
)

const paths = [wellKnown, `${wellKnown}${path}`] as const

export const layer = Layer.unwrap(
  Effect.map(AllowedOrigins.make, ({ allow, isUsed }) => {
    const methods = isUsed ? (["GET", "OPTIONS"] as const) : (["GET"] as const)
    const routes = Effect.map(metadata, (handler) =>
      paths.flatMap((path) => methods.map((method) => HttpRouter.route(method, path, allow(handler))))
    )
    return Layer.merge(
      Layer.provide(HttpRouter.addAll(routes), RequestLog.layer),
      Unmatched.methodNotAllowed(new Map(paths.map((path) => [path, new Set<string>(methods)])))
    )
  })
)
