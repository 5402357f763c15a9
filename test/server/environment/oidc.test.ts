import { Duration, Effect, Option, Redacted } from "effect"
import * as OidcEnvironment from "../../../src/server/environment/OidcEnvironment.ts"
import { describe, expect, it } from "../../support/It.ts"
import { faults, loaded } from "./Load.ts"

const least = {
  OIDC_ISSUER: "https://login.example.com/realms/staff",
  OIDC_CLIENT_ID: "hooks",
  OIDC_ROLES: "admins=admin"
}

const settingsOf = (variables: Record<string, string>) =>
  Effect.map(loaded(variables), (settings) => Option.getOrThrow(OidcEnvironment.toSettings(settings)))

describe("the settings of single sign-on", () => {
  it.effect("are none by default, and have the documented defaults with an issuer, a client and roles", function* () {
    expect(OidcEnvironment.toSettings(yield* loaded({}))).toEqual(Option.none())
    const { sessionLifetime, ...rest } = yield* settingsOf(least)
    expect(rest).toEqual({
      ...{ issuer: least.OIDC_ISSUER, clientId: "hooks", clientSecret: Option.none(), clientAuthentication: "none" },
      ...{ scopes: "openid profile email", groupsClaim: "groups", providerName: "single sign-on" },
      roles: [{ group: "admins", role: "admin" }]
    })
    expect(Duration.toHours(sessionLifetime)).toBe(12)
  })

  it.effect("are all read from their variables", function* () {
    const { clientSecret, sessionLifetime, ...rest } = yield* settingsOf({
      ...least,
      OIDC_ISSUER: "http://localhost:8081",
      OIDC_CLIENT_SECRET: "hunter2",
      OIDC_CLIENT_AUTH_METHOD: "client_secret_post",
      OIDC_SCOPES: "openid groups",
      OIDC_GROUPS_CLAIM: "realm_access.roles",
      OIDC_ROLES: " /a team/ops = operator \n\n cn=shop,dc=example=editor shop, checkout\n*=viewer\naudit=auditor",
      OIDC_SESSION_LIFETIME: "30 minutes",
      OIDC_PROVIDER_NAME: "Example",
      OIDC_MCP_AUDIENCE: "api://hooks",
      OIDC_MCP_SCOPES: "api://hooks/use openid"
    })
    expect(rest).toEqual({
      ...{ issuer: "http://localhost:8081", clientId: "hooks", clientAuthentication: "client_secret_post" },
      ...{ scopes: "openid groups", groupsClaim: "realm_access.roles", providerName: "Example" },
      ...{ mcpAudience: "api://hooks", mcpScopes: "api://hooks/use openid" },
      roles: [
        { group: "/a team/ops", role: "operator" },
        { group: "cn=shop,dc=example", role: "editor", teams: ["shop", "checkout"] },
        { group: "*", role: "viewer" },
        { group: "audit", role: "auditor" }
      ]
    })
    expect(Option.map(clientSecret, Redacted.value)).toEqual(Option.some("hunter2"))
    expect(Duration.toMinutes(sessionLifetime)).toBe(30)
    expect((yield* settingsOf({ ...least, OIDC_CLIENT_SECRET: "x" })).clientAuthentication).toBe("client_secret_basic")
  })

  it.effect("are refused if invalid, if something is missing, or without an issuer", function* () {
    const namesOf = (variables: Record<string, string>) =>
      Effect.map(faults(variables), (found) => found.map(({ name }) => name))
    for (const OIDC_ISSUER of [
      ...["http://login.example.com", "login.example.com", "https://u:p@login.example.com", "https://a.example/?x=1"],
      ...["https://a.example/.well-known/openid-configuration", "https://a.example/#x", "ftp://a.example"]
    ]) {
      expect(yield* namesOf({ ...least, OIDC_ISSUER }), OIDC_ISSUER).toEqual(["OIDC_ISSUER"])
    }
    for (const OIDC_ROLES of ["admins", "=admin", "admins=root", "a=auditor shop", "a=editor Not_A_Team", "a=Admin"]) {
      expect(yield* namesOf({ ...least, OIDC_ROLES }), OIDC_ROLES).toEqual(["OIDC_ROLES"])
    }
    expect(yield* namesOf({ ...least, OIDC_SCOPES: "profile", OIDC_SESSION_LIFETIME: "1 minute" })).toEqual([
      ...["OIDC_SCOPES", "OIDC_SESSION_LIFETIME"]
    ])
    expect(yield* namesOf({ OIDC_ISSUER: least.OIDC_ISSUER, OIDC_CLIENT_AUTH_METHOD: "client_secret_basic" })).toEqual([
      ...["OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "OIDC_ROLES"]
    ])
    expect(yield* namesOf({ ...least, OIDC_MCP_AUDIENCE: "hooks", OIDC_MCP_SCOPES: "é" })).toEqual(["OIDC_MCP_SCOPES"])
    // ID tokens would be access tokens.
    expect(yield* namesOf({ ...least, OIDC_MCP_AUDIENCE: "hooks" })).toEqual(["OIDC_MCP_AUDIENCE"])
    for (const name of [
      ...["OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "OIDC_ROLES"],
      ...["OIDC_MCP_AUDIENCE", "OIDC_MCP_SCOPES"]
    ]) {
      expect(yield* namesOf({ [name]: "a=admin" }), name).toEqual(["OIDC_ISSUER"])
    }
  })
})
