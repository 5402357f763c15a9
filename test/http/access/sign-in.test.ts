/** Signing in to the web UI at an OpenID provider. */

import { Context, Duration, Effect } from "effect"
import type { Role } from "../../../src/domain/access/Roles.ts"
import type { SessionRow } from "../../../src/domain/access/Session.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import type { GroupRole } from "../../../src/engine/access/oidc/GroupRoles.ts"
import { SessionStore } from "../../../src/repo/access/SessionStore.ts"
import { layerRepo } from "../../../src/testing.ts"
import { CookieJar } from "../../support/CookieJar.ts"
import { describe, expect, it } from "../../support/It.ts"
import { ada, type OpenIdProvider, startProvider } from "../../support/OpenIdProvider.ts"
import { repeatUntil } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { adminKey, changed, type Options, start } from "../Server.ts"
import { hasSession, problemOf, signInAs, signInPath, visit, visitProvider } from "./SignIn.ts"

/** A server whose people sign in at the provider. */
const startWith = (
  provider: OpenIdProvider,
  options: Options = {},
  more: Parameters<OpenIdProvider["settings"]>[0] = {}
) =>
  Effect.tap(start({ oidc: provider.settings(more), ...options }), ({ origin }) =>
    Effect.sync(() => provider.allow(origin))
  )

const line = (group: string, role: Role, ...teams: ReadonlyArray<string>): GroupRole => ({
  ...{ group, role },
  ...(teams.length > 0 && { teams: teams.map((team) => TeamName.make(team)) })
})

describe("signing in at the OpenID provider", () => {
  it.live("begins a session of the person, who is shown, listed and named in the audit log", function* () {
    const provider = yield* startProvider()
    const { admin, http, origin } = yield* startWith(provider)
    expect((yield* http("GET", "/api/session")).json).toStrictEqual({ signed_in: false, provider: "Example" })
    const { headers } = yield* signInAs(provider, origin, ada)
    const person = { id: "ada-1", name: "Ada Lovelace", email: "ada@example.com" }
    const access = { person, role: "admin" }
    expect((yield* http("GET", "/api/session", { headers })).json).toMatchObject({ signed_in: true, access })
    expect((yield* http("GET", "/api/access", { headers })).json).toStrictEqual(access)
    const [session] = (yield* http("GET", "/api/sessions", { headers })).json.data
    expect(session).toMatchObject({ person: { ...person, role: "admin" }, is_current: true })
    for (const hidden of ["sealed_id_token", "key_fingerprint", "token_hash", "api_key_id"]) {
      expect(session).not.toHaveProperty(hidden)
    }
    const create = http("POST", "/api/teams", { body: { team: "ops" }, headers: { ...headers, origin } })
    expect((yield* create).status).toBe(201)
    const draft = { name: "w", team: "ops", prompt_template: "x" }
    const created = yield* http("POST", "/api/webhooks", { body: draft, headers: { ...headers, origin } })
    const by = { actor: "session", person_id: "ada-1", person_name: "Ada Lovelace", session_id: session.id }
    const events = (yield* admin("GET", "/api/audit")).json.data
    expect(events).toMatchObject([
      { action: "webhook.created", ...by },
      { action: "team.created", ...by },
      {
        action: "session.started",
        actor: "session",
        person_id: "ada-1",
        person_name: "Ada Lovelace",
        object: session.id
      }
    ])
    const [version] = (yield* admin("GET", `/api/webhooks/${created.json.webhook.id}/templates`)).json.data
    expect(version).toMatchObject({ actor: "session", person_name: "Ada Lovelace" })
  })

  it.live(
    "returns to the page that it began on, with cookies that neither scripts nor other sites can use",
    function* () {
      const provider = yield* startProvider()
      const { origin, port } = yield* startWith(provider)
      provider.person = ada
      const jar = new CookieJar()
      const { headers, url } = yield* visit(origin, jar, `?to=${encodeURIComponent("/runs?status=error&search=ä")}`)
      expect(url.href).toBe(`${origin}/runs?status=error&search=%C3%A4`)
      expect(headers.get("cache-control")).toBe("no-store")
      expect(headers.get("referrer-policy")).toBe("no-referrer")
      const [ofSession, ofSignIn] = headers.getSetCookie().sort()
      expect(ofSession).toMatch(/^webhook_trigger_session=whs_[\w-]{43};/)
      expect(ofSession).toContain("SameSite=Strict")
      expect(ofSignIn).toMatch(/^webhook_trigger_sign_in=; Max-Age=0/)
      const begun = yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}${signInPath}`, { redirect: "manual" }))
      expect(begun.headers.get("set-cookie")).toMatch(
        /^webhook_trigger_sign_in=[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/
      )
      const asked = new URL(begun.headers.get("location")!)
      expect(Object.fromEntries(asked.searchParams)).toStrictEqual({
        ...{ client_id: "webhook-trigger", response_type: "code", scope: "openid profile email" },
        ...{ redirect_uri: `${origin}/sign-in/callback`, code_challenge_method: "S256" },
        ...{ code_challenge: expect.any(String), state: expect.any(String), nonce: expect.any(String) }
      })
      const secure = yield* startWith(provider, { publicUrl: "https://hooks.example.com" })
      const overTls = yield* Effect.promise(() =>
        fetch(`${secure.origin}${signInPath}?redirected`, { redirect: "manual" })
      )
      expect(overTls.headers.get("set-cookie")).toMatch(
        /^__Host-webhook_trigger_sign_in=.*Path=\/; HttpOnly; Secure; SameSite=Lax$/
      )
    }
  )

  it.live("gives the role of the first line with a group of the person, and its teams of all lines", function* () {
    const provider = yield* startProvider()
    const roles = [
      line("cn=admins,dc=example", "admin"),
      line("shop", "editor", "shop", "checkout"),
      line("billing", "editor", "billing", "shop"),
      line("all-editors", "editor"),
      line("audit", "auditor"),
      line("on-call", "operator")
    ]
    const { http, origin } = yield* startWith(provider, {}, { roles })
    const cases: ReadonlyArray<readonly [groups: unknown, access: object | undefined]> = [
      [["cn=admins,dc=example", "shop"], { role: "admin" }],
      ["on-call", { role: "operator" }],
      [["other", "shop"], { role: "editor", teams: ["shop", "checkout"] }],
      [["on-call", "billing", "shop"], { role: "editor", teams: ["shop", "checkout", "billing"] }],
      [["billing", "all-editors"], { role: "editor" }],
      [["on-call", "audit"], { role: "auditor" }],
      [["Shop", "ADMIN", "admin", "__proto__"], undefined],
      [[], undefined],
      [undefined, undefined],
      [{ shop: true }, undefined],
      [[["shop"], 7, null], undefined],
      ["shop billing", undefined]
    ]
    for (const [groups, access] of cases) {
      provider.person = { ...ada, id: `of ${JSON.stringify(groups)}`, groups }
      const jar = new CookieJar()
      const done = yield* visit(origin, jar)
      const shown = yield* http("GET", "/api/session", { headers: { cookie: jar.header(origin) } })
      if (access === undefined) {
        expect(problemOf(done), JSON.stringify(groups)).toBe("no_role")
        expect(hasSession(jar, origin), JSON.stringify(groups)).toBe(false)
      } else {
        expect(shown.json.access, JSON.stringify(groups)).toStrictEqual({ ...access, person: expect.anything() })
      }
    }
  })

  it.live("keeps a person to the role and the teams, as the table of rules says", function* () {
    const provider = yield* startProvider()
    const roles = [line("shop", "operator", "shop")]
    const { admin, http, origin, team, webhook } = yield* startWith(provider, {}, { roles })
    const [mine, theirs] = [yield* webhook(yield* team("shop")), yield* webhook(yield* team("ops"))]
    const { headers } = yield* signInAs(provider, origin, { ...ada, groups: ["shop"] })
    const listed = (yield* http("GET", "/api/webhooks", { headers })).json.data
    expect(listed.map(({ id }: { id: string }) => id)).toStrictEqual([mine.id])
    const own = { ...headers, origin }
    expect(refusal(yield* http("GET", `/api/webhooks/${theirs.id}`, { headers }))).toStrictEqual([404, "not_found"])
    expect(
      (yield* http("POST", `/api/webhooks/${mine.id}/runs`, { body: { variables: { text: "x" } }, headers: own }))
        .status
    ).toBe(202)
    for (const [method, path] of [
      ["DELETE", `/api/webhooks/${mine.id}`],
      ["GET", "/api/keys"],
      ["GET", "/api/audit"],
      ["DELETE", "/api/sessions"]
    ] as const) {
      expect(refusal(yield* http(method, path, { headers: own })), path).toStrictEqual([403, "forbidden"])
    }
    expect((yield* admin("GET", "/api/webhooks")).json.data).toHaveLength(2)
  })

  it.live("asks for the groups again each time", function* () {
    const provider = yield* startProvider()
    const roles = [line("admins", "admin"), line("viewers", "viewer")]
    const { http, origin } = yield* startWith(provider, {}, { roles })
    const roleOf = (headers: Record<string, string>) =>
      Effect.map(http("GET", "/api/access", { headers }), ({ json, status }) => json.role ?? status)
    const first = yield* signInAs(provider, origin, { ...ada, groups: ["admins"] })
    expect(yield* roleOf(first.headers)).toBe("admin")
    const second = yield* signInAs(provider, origin, { ...ada, groups: ["viewers"] }, first.jar)
    expect(yield* roleOf(second.headers)).toBe("viewer")
    // The session that was replaced has ended.
    expect(yield* roleOf(first.headers)).toBe(401)
    provider.person = { ...ada, groups: [] }
    expect(problemOf(yield* visit(origin, second.jar))).toBe("no_role")
    expect(yield* roleOf(second.headers)).toBe("viewer")
  })

  it.live("finds groups in the user information, at a path of claims, and under a name with dots", function* () {
    const provider = yield* startProvider({ claimsInIdToken: false })
    const { http, origin } = yield* startWith(provider)
    const { headers } = yield* signInAs(provider, origin, ada)
    const { access } = (yield* http("GET", "/api/session", { headers })).json
    expect(access).toMatchObject({ role: "admin", person: { name: "Ada Lovelace", email: "ada@example.com" } })
    const nested = yield* startWith(provider, {}, { groupsClaim: "realm.roles" })
    const inRealm = { ...ada, id: "in a realm", groups: [], realm: { roles: ["platform-admins"] } }
    const other = yield* signInAs(provider, nested.origin, inRealm)
    expect((yield* nested.http("GET", "/api/access", { headers: other.headers })).json.role).toBe("admin")
    const everybody = yield* startWith(provider, {}, { roles: [line("*", "viewer")] })
    const third = yield* signInAs(provider, everybody.origin, { id: "nameless" })
    expect((yield* everybody.http("GET", "/api/access", { headers: third.headers })).json).toStrictEqual({
      ...{ role: "viewer", person: { id: "nameless" } }
    })
  })

  for (const clientAuthentication of ["client_secret_basic", "client_secret_post", "none"] as const) {
    it.live(`works with the client authentication ${clientAuthentication}`, function* () {
      const provider = yield* startProvider({ clientAuthentication })
      const { http, origin } = yield* startWith(provider)
      const { headers } = yield* signInAs(provider, origin, ada)
      expect((yield* http("GET", "/api/access", { headers })).status).toBe(200)
    })
  }

  it.live("that is begun on another host than `PUBLIC_URL`, or without its TLS, goes there first, once", function* () {
    const provider = yield* startProvider()
    const publicUrl = "https://hooks.test/agents"
    const { origin } = yield* start({ oidc: provider.settings(), publicUrl, trustedProxies: ["127.0.0.1"] })
    const begin = (query: string, headers: Record<string, string>) =>
      Effect.map(
        Effect.promise(() => fetch(`${origin}${signInPath}${query}`, { redirect: "manual", headers })),
        ({ headers }) => ({ cookies: headers.getSetCookie(), location: new URL(headers.get("location")!) })
      )
    const there = { "x-forwarded-host": "hooks.test", "x-forwarded-proto": "https" }
    for (const elsewhere of [
      { ...there, "x-forwarded-host": "other.test" },
      { ...there, "x-forwarded-proto": "http" }
    ]) {
      const { cookies, location } = yield* begin("?to=/runs&fresh=true", elsewhere)
      expect([cookies, location.href]).toStrictEqual([
        [],
        `${publicUrl}${signInPath}?to=%2Fruns&fresh=true&redirected=`
      ])
      // A proxy may hide which host it is.
      const again = yield* begin(location.search, elsewhere)
      expect([again.cookies.length, again.location.origin]).toStrictEqual([1, provider.issuer])
    }
    const begun = yield* begin("", there)
    expect([begun.cookies.length, begun.location.origin]).toStrictEqual([1, provider.issuer])
    expect(begun.location.searchParams.get("redirect_uri")).toBe(`${publicUrl}/sign-in/callback`)
  })

  it.live("can begin on one server and end on another", function* () {
    const provider = yield* startProvider()
    const publicUrl = "http://hooks.test"
    const one = yield* start({ oidc: provider.settings(), publicUrl })
    const two = yield* start({ oidc: provider.settings(), publicUrl, repo: one.repo })
    provider.allow(publicUrl)
    provider.person = ada
    const jar = new CookieJar()
    const callback = yield* visitProvider(one.origin, jar, "?redirected")
    expect(callback.origin).toBe(publicUrl)
    const cookie = jar.header(one.origin)
    const done = yield* two.http("GET", `${callback.pathname}${callback.search}`, { headers: { cookie } })
    expect([done.status, done.headers.get("location")]).toStrictEqual([303, `${publicUrl}/`])
    const session = done.headers.getSetCookie().find((each) => each.startsWith("webhook_trigger_session="))!
    const headers = { cookie: session.split(";")[0]! }
    for (const { http } of [one, two]) expect((yield* http("GET", "/api/access", { headers })).json.role).toBe("admin")
    expect((yield* one.http("DELETE", "/api/session", { headers: { ...headers, origin: one.origin } })).status).toBe(
      200
    )
    expect((yield* two.http("GET", "/api/access", { headers })).status).toBe(401)
  })

  it.live(
    "is explained while the provider is down, when keys still work, and works as soon as it is back",
    function* () {
      const provider = yield* startProvider()
      provider.isDown = true
      const { http, origin } = yield* startWith(provider)
      provider.person = ada
      const jar = new CookieJar()
      const refused = yield* visit(origin, jar, "?to=/runs")
      expect(problemOf(refused)).toBe("provider_unavailable")
      expect(refused.url.searchParams.get("to")).toBe("/runs")
      const withKey = yield* http("POST", "/api/session", { body: { key: adminKey } })
      const headers = { cookie: withKey.headers.get("set-cookie")!.split(";")[0]! }
      expect((yield* http("GET", "/api/access", { headers })).json).toStrictEqual({ role: "admin" })
      provider.isDown = false
      yield* repeatUntil(visit(origin, jar), ({ url }) => url.href === `${origin}/`)
      // It goes down while the person is there.
      const callback = yield* visitProvider(origin, new CookieJar())
      const second = new CookieJar()
      const pending = yield* visitProvider(origin, second)
      provider.isDown = true
      expect(problemOf(yield* second.go(pending.href, ({ pathname }) => pathname === "/sign-in"))).toBe(
        "provider_unavailable"
      )
      expect(callback.searchParams.get("code")).not.toBe(pending.searchParams.get("code"))
      // A person who has signed in needs the provider no more, and can sign out.
      const own = { cookie: jar.header(origin), origin }
      expect((yield* http("GET", "/api/access", { headers: own })).json.role).toBe("admin")
      expect([200, 204]).toContain((yield* http("DELETE", "/api/session", { headers: own })).status)
      expect((yield* http("GET", "/api/access", { headers: own })).status).toBe(401)
    }
  )

  it.live("ends with signing out at the provider too, so that the next person is asked", function* () {
    const provider = yield* startProvider()
    const stored: Array<SessionRow> = []
    const repo = changed(layerRepo, (context) => {
      const store = Context.get(context, SessionStore)
      return Context.add(context, SessionStore, {
        ...store,
        createSession: (row, audit) =>
          Effect.tap(store.createSession(row, audit), () => Effect.sync(() => stored.push(row)))
      })
    })
    const { http, origin } = yield* startWith(provider, { repo })
    const { headers, jar } = yield* signInAs(provider, origin, ada)
    // The provider's ID token, which it wants back, cannot be read in the database.
    expect(stored[0]?.sealed_id_token).toMatch(/^[0-9a-f]{8}\./)
    // Signed in at the provider, nobody is asked.
    yield* signInAs(provider, origin, ada, jar)
    expect(provider.signIns()).toBe(1)
    const signedOut = yield* http("DELETE", "/api/session", { headers: { cookie: jar.header(origin), origin } })
    expect(signedOut.status).toBe(200)
    expect(signedOut.headers.get("set-cookie")).toMatch(/^webhook_trigger_session=; Max-Age=0/)
    const at = new URL(signedOut.json.provider_url)
    expect(at.origin).toBe(provider.issuer)
    expect(at.searchParams.get("id_token_hint")).toMatch(/^ey/)
    expect(at.searchParams.get("post_logout_redirect_uri")).toBe(`${origin}/sign-in`)
    const page = yield* jar.go(at.href)
    expect([page.status, page.text]).toStrictEqual([200, expect.stringContaining("Yes, sign out")])
    expect((yield* http("GET", "/api/access", { headers })).status).toBe(401)
    const byKey = yield* http("POST", "/api/session", { body: { key: adminKey } })
    const cookie = byKey.headers.get("set-cookie")!.split(";")[0]!
    expect((yield* http("DELETE", "/api/session", { headers: { cookie, origin } })).status).toBe(204)
  })

  it.live("lasts for the lifetime in the settings, and ends when the settings change", function* () {
    const provider = yield* startProvider()
    const one = yield* startWith(provider, {}, { sessionLifetime: Duration.minutes(5) })
    const { headers } = yield* signInAs(provider, one.origin, ada)
    const { expires_at } = (yield* one.http("GET", "/api/session", { headers })).json
    const [session] = (yield* one.admin("GET", "/api/sessions")).json.data
    expect(Date.parse(expires_at) - Date.parse(session.created_at)).toBe(300_000)
    const statusWith = (options: Options) =>
      Effect.gen(function* () {
        const { http } = yield* start({ ...options, repo: one.repo })
        return (yield* http("GET", "/api/access", { headers })).status
      })
    expect(yield* statusWith({ oidc: provider.settings() })).toBe(200)
    expect(yield* statusWith({ oidc: provider.settings({ roles: [line("platform-admins", "viewer")] }) })).toBe(401)
    expect(yield* statusWith({ oidc: provider.settings({ issuer: "https://login.example.com" }) })).toBe(401)
    expect(yield* statusWith({})).toBe(401)
  })
})

describe("a server without a provider", () => {
  it.live("has neither its addresses nor a button", function* () {
    const { http } = yield* start()
    for (const path of ["/sign-in/provider", "/sign-in/callback?code=x&state=y"]) {
      expect(refusal(yield* http("GET", path))).toStrictEqual([404, "not_found"])
    }
    expect(refusal(yield* http("POST", "/sign-in/callback"))).toStrictEqual([405, "method_not_allowed"])
    expect((yield* http("GET", "/api/session")).json).toStrictEqual({ signed_in: false })
  })
})
