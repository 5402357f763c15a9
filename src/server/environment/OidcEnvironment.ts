/** The settings of signing in with OpenID Connect. `docs/reference/settings.md` explains every variable. */
import { Duration, Option, type Redacted, Schema } from "effect"
import { type Role, roleNames } from "../../domain/access/Roles.ts"
import { isLoopback } from "../../domain/Loopback.ts"
import { TeamName } from "../../domain/Team.ts"
import type { GroupRole } from "../../engine/access/oidc/GroupRoles.ts"
import type { ClientAuthentication, OidcSettings } from "../../engine/access/oidc/OidcSettings.ts"
import {
  duration,
  type Format,
  oneOf,
  optional,
  secret,
  text,
  type Values,
  withDefault
} from "../../settings/EnvironmentVariable.ts"
import { fromText } from "../../settings/Quantity.ts"
import type * as LoadSettings from "./LoadSettings.ts"

/** As the provider's metadata names it. With another path, the library would not compare it. */
const issuer: Format<string> = {
  accepts:
    "takes the provider's issuer URL, such as `https://login.example.com/realms/staff`; `http` is allowed only for this machine",
  schema: Schema.String.pipe(
    Schema.check(
      Schema.makeFilter((text) => {
        if (!URL.canParse(text) || text.includes("/.well-known/")) return false
        const { hash, hostname, password, protocol, search, username } = new URL(text)
        if (hash + search + username + password !== "") return false
        return protocol === "https:" || (protocol === "http:" && isLoopback(hostname))
      })
    )
  )
}

const areScopes = (text: string): boolean => /^[\x21-\x7e]+( +[\x21-\x7e]+)*$/.test(text)

const scopes: Format<string> = {
  accepts: "takes scopes separated by spaces, with `openid` among them",
  schema: Schema.String.pipe(
    Schema.check(Schema.makeFilter((text) => areScopes(text) && text.split(" ").includes("openid")))
  )
}

const mcpScopes: Format<string> = {
  accepts: "takes scopes separated by spaces",
  schema: Schema.String.pipe(Schema.check(Schema.makeFilter(areScopes)))
}

const isRole = (text: string | undefined): text is Role =>
  (roleNames as ReadonlyArray<string | undefined>).includes(text)

const decodeTeams = Schema.decodeOption(Schema.Array(TeamName))

/** `GROUP=ROLE TEAM …`. The last `=` counts, since groups of a directory contain some: `cn=ops,dc=example`. */
const roleOfLine = (line: string): Option.Option<GroupRole> => {
  const at = line.lastIndexOf("=")
  const group = line.slice(0, Math.max(at, 0)).trim()
  const [role, ...names] = line
    .slice(at + 1)
    .trim()
    .split(/[\s,]+/)
  if (group === "" || !isRole(role) || (role === "auditor" && names.length > 0)) return Option.none()
  return Option.map(decodeTeams(names), (teams) => ({ group, role, ...(teams.length > 0 && { teams }) }))
}

const groupRoles: Format<ReadonlyArray<GroupRole>> = {
  accepts: `takes \`GROUP=ROLE\` or \`GROUP=ROLE TEAM …\` on each line, with one of ${roleNames.join(", ")} (auditor without teams)`,
  schema: fromText(
    Schema.Any as Schema.Codec<ReadonlyArray<GroupRole>>,
    (text) =>
      Option.all(
        text
          .split("\n")
          .filter((line) => line.trim() !== "")
          .map(roleOfLine)
      ),
    (roles) => roles.map(({ group, role, teams = [] }) => `${group}=${[role, ...teams].join(" ")}`).join("\n")
  )
}

export const settings = {
  /** Default: people need keys. */
  oidcIssuer: optional("OIDC_ISSUER", issuer),
  oidcClientId: optional("OIDC_CLIENT_ID", text("the client ID from the provider")),
  oidcClientSecret: optional(
    "OIDC_CLIENT_SECRET",
    secret({ accepts: "takes the client secret from the provider", schema: Schema.String })
  ),
  /** Default: `client_secret_basic`, or `none` without a secret. */
  oidcClientAuthentication: optional(
    "OIDC_CLIENT_AUTH_METHOD",
    oneOf("client_secret_basic", "client_secret_post", "none")
  ),
  oidcScopes: withDefault("OIDC_SCOPES", scopes, "openid profile email"),
  oidcGroupsClaim: withDefault("OIDC_GROUPS_CLAIM", text("the name of a claim"), "groups"),
  oidcRoles: withDefault("OIDC_ROLES", groupRoles, []),
  oidcSessionLifetime: withDefault(
    "OIDC_SESSION_LIFETIME",
    duration("5 minutes", "7 days", "8 hours"),
    Duration.hours(12)
  ),
  /** On the button. */
  oidcProviderName: withDefault("OIDC_PROVIDER_NAME", text("the provider's name"), "single sign-on"),
  /** Default: the address of `/mcp` below `PUBLIC_URL`. */
  oidcMcpAudience: optional("OIDC_MCP_AUDIENCE", text("the audience of access tokens for /mcp")),
  /** Default: `OIDC_SCOPES`. */
  oidcMcpScopes: optional("OIDC_MCP_SCOPES", mcpScopes)
}

type OidcEnvironment = Values<typeof settings>

const authenticationOf = ({
  oidcClientAuthentication: given,
  oidcClientSecret: secret
}: OidcEnvironment): ClientAuthentication =>
  Option.getOrElse(given, () => (Option.isSome(secret) ? "client_secret_basic" : "none"))

/** The faults of settings that are missing beside the issuer, or need one. */
export const conflicts = (environment: OidcEnvironment): ReadonlyArray<LoadSettings.SettingFault> => {
  const { oidcClientId, oidcClientSecret, oidcIssuer, oidcMcpAudience, oidcMcpScopes, oidcRoles } = environment
  const fault = (name: string, accepts: string) => ({ name, accepts, given: "" })
  if (Option.isNone(oidcIssuer)) {
    const texts = [oidcClientId, Option.map(oidcClientSecret, () => ""), oidcMcpAudience, oidcMcpScopes]
    const isUsed = texts.some(Option.isSome) || oidcRoles.length > 0
    return isUsed ? [fault("OIDC_ISSUER", "must be set when other OIDC_ settings are")] : []
  }
  const needsSecret = authenticationOf(environment) !== "none"
  return [
    ...(Option.isNone(oidcClientId) ? [fault("OIDC_CLIENT_ID", "must be set when OIDC_ISSUER is")] : []),
    ...(needsSecret && Option.isNone(oidcClientSecret)
      ? [fault("OIDC_CLIENT_SECRET", "must be set for this OIDC_CLIENT_AUTH_METHOD")]
      : []),
    // ID tokens have this audience, and are for nobody else.
    ...(Option.isSome(oidcMcpAudience) && oidcMcpAudience.value === Option.getOrUndefined(oidcClientId)
      ? [fault("OIDC_MCP_AUDIENCE", "must differ from OIDC_CLIENT_ID, the audience of ID tokens")]
      : []),
    ...(oidcRoles.length === 0
      ? [
          fault(
            "OIDC_ROLES",
            "must have at least one line, such as `platform-admins=admin`, so that somebody can sign in"
          )
        ]
      : [])
  ]
}

/** None without an issuer. The settings have no conflicts. */
export const toSettings = (environment: OidcEnvironment): Option.Option<OidcSettings> =>
  Option.map(Option.all([environment.oidcIssuer, environment.oidcClientId]), ([issuer, clientId]) => {
    const clientAuthentication = authenticationOf(environment)
    const clientSecret: Option.Option<Redacted.Redacted> =
      clientAuthentication === "none" ? Option.none() : environment.oidcClientSecret
    return {
      ...{ issuer, clientId, clientSecret, clientAuthentication },
      scopes: environment.oidcScopes,
      groupsClaim: environment.oidcGroupsClaim,
      roles: environment.oidcRoles,
      sessionLifetime: environment.oidcSessionLifetime,
      providerName: environment.oidcProviderName,
      ...Option.match(environment.oidcMcpAudience, { onNone: () => ({}), onSome: (mcpAudience) => ({ mcpAudience }) }),
      ...Option.match(environment.oidcMcpScopes, { onNone: () => ({}), onSome: (mcpScopes) => ({ mcpScopes }) })
    }
  })
