/** How providers say who is in which group, and what they say when they do not. */
import type { ServerResponse } from "node:http"
import { Effect, Logger, Result } from "effect"
import { TeamName } from "../../../../src/domain/Team.ts"
import type { GroupRole } from "../../../../src/engine/access/oidc/GroupRoles.ts"
import * as Provider from "../../../../src/engine/access/oidc/Provider.ts"
import { describe, expect, it } from "../../../support/It.ts"
import { type OpenIdProvider, startProvider } from "../../../support/OpenIdProvider.ts"

const redirectUri = "http://127.0.0.1/sign-in/callback"

const roles: ReadonlyArray<GroupRole> = [
  { group: "platform-admins", role: "admin" },
  { group: "shop", role: "editor", teams: [TeamName.make("shop")] }
]
const withEverybody: ReadonlyArray<GroupRole> = [...roles, { group: "*", role: "viewer" }]

type Answer = object | ((response: ServerResponse) => void)

const json = (response: ServerResponse, status: number, body: object) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))

/** What becomes of a sign-in: the access, or the problem. The provider's ID token and user information have these claims. */
const signIn = (
  provider: OpenIdProvider,
  idToken: object,
  userInfo: Answer,
  settings: Parameters<OpenIdProvider["settings"]>[0] = {}
) =>
  Effect.gen(function* () {
    const { begin, finish } = yield* Provider.make(provider.settings({ roles, ...settings }))
    const { transaction } = yield* begin(redirectUri, false)
    const { nonce, state } = transaction
    const now = Math.floor(Date.now() / 1_000)
    const standard = { iss: provider.issuer, sub: "ada-1", aud: "webhook-trigger", exp: now + 60, iat: now, nonce }
    let asked = 0
    provider.intercept = (request, response) => {
      if (request.url === "/token") {
        const id_token = provider.sign({ ...standard, ...idToken })
        json(response, 200, { access_token: "a-token", token_type: "Bearer", id_token })
        return true
      }
      if (request.url !== "/me") return false
      asked++
      if (typeof userInfo === "function") userInfo(response)
      else json(response, 200, { sub: "ada-1", ...userInfo })
      return true
    }
    const answer = new URLSearchParams({ code: "a-code", state, iss: provider.issuer })
    const ended = yield* Effect.result(finish(redirectUri, answer, transaction))
    provider.intercept = undefined
    if (Result.isSuccess(ended)) return { asked, ...ended.success.person }
    yield* Effect.logWarning(ended.failure.detail)
    return { asked, problem: ended.failure.problem }
  })

const logged = <A, E, R>(effect: Effect.Effect<A, E, R>) => {
  const lines: Array<string> = []
  const logger = Logger.make((entry) => void lines.push(Logger.formatLogFmt.log(entry)))
  return Effect.map(Effect.provide(effect, Logger.layer([logger])), (found) => ({
    ...found,
    log: lines.join("\n")
  }))
}

const broken: Readonly<Record<string, Answer>> = {
  "401": (response) =>
    response
      .writeHead(401, { "www-authenticate": 'Bearer error="invalid_token", error_description="Wrong audience."' })
      .end(),
  "403": (response) => json(response, 403, { error: "insufficient_scope" }),
  "500": (response) => response.writeHead(500).end("<html>"),
  "a page": (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
  "another person's": { sub: "eve-1", name: "Eve" },
  "no answer": (response) => void response.destroy()
}

describe("a sign-in at a provider", () => {
  it.live("uses the ID token alone if it has the groups and UserInfo fails, and logs that", function* () {
    const provider = yield* startProvider()
    for (const [what, userInfo] of Object.entries(broken)) {
      const found = yield* logged(signIn(provider, { groups: ["platform-admins"] }, userInfo))
      expect(found, what).toMatchObject({ asked: 1, id: "ada-1", role: "admin" })
      expect(found, what).not.toHaveProperty("name")
      expect(found.log, what).toContain("UserInfo cannot be read, only the ID token:")
      expect(found.log, what).not.toContain("a-token")
    }
  })

  it.live("does not guess the groups: without them in the ID token, a failing UserInfo ends it", function* () {
    const provider = yield* startProvider()
    // Nobody becomes one of everybody by that.
    for (const settings of [{}, { roles: withEverybody }]) {
      expect(yield* signIn(provider, {}, broken["401"]!, settings)).toMatchObject({ problem: "provider_error" })
      expect(yield* signIn(provider, {}, broken["500"]!, settings)).toMatchObject({
        problem: expect.stringMatching(/^provider_/)
      })
    }
    // No line asks for groups.
    const everybody = { roles: [{ group: "*", role: "viewer" }] as const }
    expect(yield* signIn(provider, {}, broken["401"]!, everybody)).toMatchObject({ role: "viewer" })
    // The provider answers, and there are none.
    expect(yield* signIn(provider, {}, {}, { roles: withEverybody })).toMatchObject({ role: "viewer" })
    expect(yield* signIn(provider, {}, {})).toMatchObject({ problem: "no_role" })
  })

  it.live("finds roles that are members of an object, as ZITADEL's are, in both answers", function* () {
    const provider = yield* startProvider()
    const groupsClaim = "urn:zitadel:iam:org:project:roles"
    const zitadel = { [groupsClaim]: { shop: { "2857": "acme.zitadel.cloud" }, other: { "2857": "acme" } } }
    const access = { role: "editor", teams: ["shop"] }
    expect(yield* signIn(provider, zitadel, {}, { groupsClaim })).toMatchObject(access)
    expect(yield* signIn(provider, {}, zitadel, { groupsClaim })).toMatchObject(access)
    const others = [{}, { shop: true }, { shop: null }, { shop: ["2857"] }, { Shop: { "2857": "acme" } }]
    for (const value of others) {
      const refused = yield* signIn(provider, { [groupsClaim]: value }, {}, { groupsClaim })
      expect(refused, JSON.stringify(value)).toMatchObject({ problem: "no_role" })
    }
  })

  it.live("follows a path, as to Keycloak's roles, also of a client with dots in its name", function* () {
    const provider = yield* startProvider()
    const claims = {
      realm_access: { roles: ["platform-admins"] },
      resource_access: { "web.app": { roles: ["shop"] } }
    }
    expect(yield* signIn(provider, claims, {}, { groupsClaim: "realm_access.roles" })).toMatchObject({
      role: "admin"
    })
    expect(yield* signIn(provider, claims, {}, { groupsClaim: "resource_access.web.app.roles" })).toMatchObject({
      role: "editor",
      teams: ["shop"]
    })
    for (const groupsClaim of ["realm_access", "realm_access.roles.0", "resource_access.web.roles", "__proto__.x"]) {
      expect(yield* signIn(provider, claims, {}, { groupsClaim }), groupsClaim).toMatchObject({ problem: "no_role" })
    }
  })

  it.live("with too many groups for the token, as in Entra ID, is refused, and the log says what to do", function* () {
    const provider = yield* startProvider()
    const elsewhere = { src1: { endpoint: "https://graph.windows.net/t/users/u/getMemberObjects" } }
    const tokens = [
      { _claim_names: { groups: "src1" }, _claim_sources: elsewhere },
      { hasgroups: true },
      { hasgroups: "true" }
    ]
    for (const idToken of tokens) {
      const found = yield* logged(signIn(provider, idToken, broken["401"]!, { roles: withEverybody }))
      expect(found, JSON.stringify(idToken)).toMatchObject({ problem: "no_role" })
      expect(found.log).toMatch(/too many groups.*Groups assigned to the application.*OIDC_GROUPS_CLAIM=roles/)
    }
    // Another claim decides, and is there.
    const claims = { ...tokens[0], roles: ["shop"] }
    expect(yield* signIn(provider, claims, {}, { groupsClaim: "roles" })).toMatchObject({
      role: "editor"
    })
  })
})
