/** Sensitive actions, for which a session of the web UI needs a recent sign-in. */

import { Context, DateTime, Effect } from "effect"
import { rules } from "../../../src/api/access/Rules.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import { SessionStore } from "../../../src/repo/access/SessionStore.ts"
import { layerRepo } from "../../../src/testing.ts"
import { CookieJar } from "../../support/CookieJar.ts"
import { describe, expect, it } from "../../support/It.ts"
import { ada, startProvider } from "../../support/OpenIdProvider.ts"
import { refusal } from "../Client.ts"
import { adminKey, changed, start } from "../Server.ts"
import { hasSession, problemOf, signInAs, signInCookie, visit, visitProvider } from "./SignIn.ts"

const fresh = [403, "fresh_sign_in_required"] as const

/** Sessions that were begun a while ago. */
const repoWhere = (age: () => number) =>
  changed(layerRepo, (context) => {
    const store = Context.get(context, SessionStore)
    return Context.add(context, SessionStore, {
      ...store,
      createSession: (session, audit) => {
        const { authenticated_at } = session
        const earlier = authenticated_at && DateTime.subtract(authenticated_at, { minutes: age() })
        return store.createSession({ ...session, ...(earlier && { authenticated_at: earlier }) }, audit)
      }
    })
  })

const newKey = { name: "k", role: "viewer" }

describe("a sensitive action", () => {
  it("is one that shows a secret, or everything at once", () => {
    const sensitive = Object.entries(rules).flatMap(([group, endpoints]) =>
      Object.entries(endpoints).flatMap(([name, rule]) => (rule[2] === "fresh" ? [`${group}.${name}`] : []))
    )
    expect(sensitive).toStrictEqual([
      ...["leaderKeys.create", "webhooks.regenerate", "destinations.rotateSecret", "alertDestinations.rotateSecret"],
      ...["runs.exportCsv", "runs.exportJsonLines", "apiKeys.create", "audit.exportCsv", "audit.exportJsonLines"]
    ])
  })

  it.live("needs the key again ten minutes after signing in with it; programs with the key need not", function* () {
    let age = 11
    const { admin, http, origin, team, webhook } = yield* start({ repo: repoWhere(() => age) })
    const { id } = yield* webhook(yield* team("ops"))
    const destination = { url: "https://127.0.0.1/hook" }
    const { destination: created } = (yield* admin("POST", `/api/webhooks/${id}/destinations`, { body: destination }))
      .json
    const signIn = Effect.map(http("POST", "/api/session", { body: { key: adminKey } }), ({ headers }) => ({
      ...{ cookie: headers.get("set-cookie")!.split(";")[0]!, origin }
    }))
    const actions = [
      ["POST", "/api/keys", newKey],
      ["POST", "/api/teams/ops/leader-keys", { name: "k" }],
      ["POST", `/api/webhooks/${id}/token`, undefined],
      ["POST", `/api/webhooks/${id}/destinations/${created.id}/secret`, undefined],
      ["GET", "/api/runs/export.csv", undefined],
      ["GET", "/api/runs/export.jsonl", undefined]
    ] as const
    const statuses = (headers: Record<string, string>) =>
      Effect.forEach(actions, ([method, path, body]) =>
        Effect.map(http(method, path, { headers, ...(body && { body }) }), ({ json, status }) => json?.code ?? status)
      )
    const old = yield* signIn
    expect((yield* http("GET", "/api/session", { headers: old })).json.recent).toBe(false)
    expect(yield* statuses(old)).toStrictEqual(actions.map(() => fresh[1]))
    // Anything else goes on as before, and what is not allowed at all stays so.
    expect((yield* http("GET", `/api/webhooks/${id}`, { headers: old })).status).toBe(200)
    expect(
      (yield* http("POST", `/api/webhooks/${id}/runs`, { headers: old, body: { variables: { text: "x" } } })).status
    ).toBe(202)
    age = 9
    const again = yield* signIn
    expect((yield* http("GET", "/api/session", { headers: again })).json.recent).toBe(true)
    for (const status of yield* statuses(again)) expect(status).toBeLessThan(300)
    for (const status of yield* statuses({ authorization: `Bearer ${adminKey}` })) expect(status).toBeLessThan(300)
    age = 11
    const { key } = (yield* admin("POST", "/api/keys", { body: { ...newKey, teams: ["ops"], role: "viewer" } })).json
    const viewer = yield* http("POST", "/api/session", { body: { key } })
    const headers = { cookie: viewer.headers.get("set-cookie")!.split(";")[0]!, origin }
    expect(refusal(yield* http("POST", "/api/keys", { headers, body: newKey }))).toStrictEqual([403, "forbidden"])
    expect(refusal(yield* http("GET", "/api/runs/export.csv", { headers }))).toStrictEqual(fresh)
  })

  it.live("needs a person to sign in at the provider again, who is asked even if signed in there", function* () {
    const provider = yield* startProvider()
    const { http, origin } = yield* start({ oidc: provider.settings() })
    provider.allow(origin)
    const createKey = (jar: CookieJar) =>
      http("POST", "/api/keys", { headers: { cookie: jar.header(origin), origin }, body: newKey })
    const { headers, jar } = yield* signInAs(provider, origin, ada)
    // The provider did not say when the person signed in: it may have been days ago.
    expect(refusal(yield* createKey(jar))).toStrictEqual(fresh)
    expect((yield* visit(origin, jar, "?fresh=true&to=/keys")).url.href).toBe(`${origin}/keys`)
    expect(provider.signIns()).toBe(2)
    const created = yield* createKey(jar)
    expect([created.status, created.json.api_key.created_by]).toStrictEqual([201, "Ada Lovelace"])
    // The session from before has ended with it.
    expect((yield* http("GET", "/api/access", { headers })).status).toBe(401)
  })

  it.live("believes only the signed time of the provider, whatever the browser does", function* () {
    const provider = yield* startProvider()
    const roles = [{ group: "platform-admins", role: "admin" as const, teams: [TeamName.make("ops")] }]
    const { http, origin } = yield* start({ oidc: provider.settings({ roles }) })
    provider.allow(origin)
    provider.person = ada
    const exportWith = (jar: CookieJar) =>
      http("GET", "/api/runs/export.csv", { headers: { cookie: jar.header(origin) } })
    const answerWith = (more: (now: number) => object, change: object = {}) =>
      Effect.gen(function* () {
        const jar = new CookieJar()
        const callback = yield* visitProvider(origin, jar, "?fresh=true")
        const cookies = jar.of(origin)
        const pending = JSON.parse(Buffer.from(cookies.get(signInCookie)!, "base64url").toString())
        const changed = JSON.stringify({ ...pending, ...change })
        cookies.set(signInCookie, Buffer.from(changed).toString("base64url"))
        provider.intercept = (request, response) => {
          if (request.url !== "/token") return false
          const now = Math.floor(Date.now() / 1_000)
          const claims = {
            ...{ iss: provider.issuer, sub: "ada-1", aud: "webhook-trigger", exp: now + 60, iat: now },
            ...{ nonce: pending.nonce, name: "Ada", email: "a@example.com", groups: ada.groups, ...more(now) }
          }
          const body = { access_token: "a", token_type: "Bearer", id_token: provider.sign(claims) }
          response.setHeader("content-type", "application/json").end(JSON.stringify(body))
          return true
        }
        const visited = yield* jar.go(callback.href, ({ pathname }) => pathname === "/" || pathname === "/sign-in")
        provider.intercept = undefined
        return { jar, visited }
      })
    const now = yield* answerWith((now) => ({ auth_time: now + 20 }))
    expect((yield* exportWith(now.jar)).status).toBe(200)
    const hourAgo = yield* answerWith((now) => ({ auth_time: now - 3_600 }))
    expect([problemOf(hourAgo.visited), hasSession(hourAgo.jar, origin)]).toStrictEqual(["not_recent", false])
    const unsaid = yield* answerWith(() => ({}))
    expect([problemOf(unsaid.visited), hasSession(unsaid.jar, origin)]).toStrictEqual(["not_recent", false])
    // Somebody at the browser turns the request for a fresh sign-in into an ordinary one.
    for (const more of [() => ({}), (now: number) => ({ auth_time: now - 3_600 })]) {
      const { jar } = yield* answerWith(more, { fresh: false })
      expect(hasSession(jar, origin)).toBe(true)
      expect(refusal(yield* exportWith(jar))).toStrictEqual(fresh)
    }
  })
})
