/** How people sign in with OpenID Connect. */
import { createHash } from "node:crypto"
import { Context, type Duration, Layer, Option, type Redacted } from "effect"
import type { GroupRole } from "./GroupRoles.ts"

/** How the server proves to the provider who it is (OpenID Connect Core 1.0, 9). */
export type ClientAuthentication = "client_secret_basic" | "client_secret_post" | "none"

export interface OidcSettings {
  /** The provider's issuer identifier. Its metadata is at `/.well-known/openid-configuration` below it. */
  readonly issuer: string
  readonly clientId: string
  /** Absent with the authentication `none`. */
  readonly clientSecret: Option.Option<Redacted.Redacted>
  readonly clientAuthentication: ClientAuthentication
  /** Separated by spaces. */
  readonly scopes: string
  /** The claim with the groups of a person. */
  readonly groupsClaim: string
  /** The permissions of groups. */
  readonly roles: ReadonlyArray<GroupRole>
  /** A session ends this long after signing in. */
  readonly sessionLifetime: Duration.Duration
  /** The provider's name, for people. */
  readonly providerName: string
  /** The audience of access tokens for `/mcp`. Absent: its address, if the server has a `PUBLIC_URL`. */
  readonly mcpAudience?: string
  /** The scopes that clients ask for in access tokens for `/mcp`, separated by spaces. Absent: as for signing in. */
  readonly mcpScopes?: string
}

/** The provider where people may sign in. Default: none, so they need keys. */
export class Oidc extends Context.Reference("webhook-trigger/Oidc", {
  defaultValue: () => Option.none<OidcSettings>()
}) {
  static readonly layer = (settings: Option.Option<OidcSettings>): Layer.Layer<never> => Layer.succeed(Oidc, settings)
}

/** A hash of the settings that decide who a person is and what they may do. Sessions begun with others are void. */
export const fingerprintOf = ({ clientId, groupsClaim, issuer, roles }: OidcSettings): Uint8Array =>
  new Uint8Array(
    createHash("sha256")
      .update(JSON.stringify(["webhook-trigger OpenID Connect", issuer, clientId, groupsClaim, roles]))
      .digest()
  )
