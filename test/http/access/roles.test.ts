/** Every endpoint with a key and with a person's session of every role. */

import { Context, Effect } from "effect"
import { Unavailable } from "../../../src/domain/Errors.ts"
import { ApiKeyStore } from "../../../src/repo/access/ApiKeyStore.ts"
import { layerRepo } from "../../../src/testing.ts"
import { CookieJar } from "../../support/CookieJar.ts"
import { describe, expect, it } from "../../support/It.ts"
import { startProvider } from "../../support/OpenIdProvider.ts"
import { refusal } from "../Client.ts"
import { changed, start } from "../Server.ts"
import { bearer, type Endpoint, managementEndpoints, nameOf, pathWith, statusOf } from "./Endpoints.ts"
import { visit } from "./SignIn.ts"

const readers = ["viewer", "operator", "editor", "auditor", "admin"] as const
const roles = ["caller", ...readers] as const
type Role = (typeof roles)[number]

/** What not exactly the readers may do. Said here again, so that a change of the server's table is noticed. */
const restricted: { readonly [endpoint: string]: ReadonlyArray<Role> } = Object.fromEntries(
  (
    [
      [
        roles,
        [
          "GET /api/access",
          "GET /api/runs",
          "GET /api/runs/:run_id",
          "GET /api/runs/:run_id/events",
          "GET /api/runs/:run_id/files",
          "GET /api/runs/:run_id/files/:file_id"
        ]
      ],
      [
        ["caller", "operator", "editor", "admin"],
        ["POST /api/webhooks/:id/runs", "POST /api/runs/:run_id/cancel"]
      ],
      [
        ["operator", "editor", "admin"],
        [
          "POST /api/teams/:team/pause",
          "POST /api/teams/:team/resume",
          "POST /api/teams/:team/release",
          "POST /api/teams/:team/messages",
          "POST /api/teams/:team/cancel-queued",
          "POST /api/threads/:thread_id/reset",
          "POST /api/runs/:run_id/reply",
          "POST /api/webhooks/:id/cancel-queued",
          "POST /api/webhooks/:id/resume",
          "POST /api/webhooks/:id/destinations/:destination_id/resend",
          "POST /api/webhooks/:id/deliveries/:delivery_id/resend",
          "POST /api/alerts/destinations/:destination_id/resend",
          "POST /api/alerts/deliveries/:delivery_id/resend",
          "POST /api/runs/cancel",
          "POST /api/runs/:run_id/approval",
          "POST /api/runs/:run_id/start",
          "POST /api/runs/:run_id/replay",
          "POST /api/runs/replay"
        ]
      ],
      [
        ["editor", "admin"],
        [
          "POST /api/webhooks",
          "PATCH /api/webhooks/:id",
          "POST /api/webhooks/:id/duplicate",
          "POST /api/webhooks/:id/templates/:version/restore",
          "DELETE /api/webhooks/:id",
          "POST /api/webhooks/:id/token",
          "DELETE /api/webhooks/:id/old-token",
          "POST /api/webhooks/:id/destinations",
          "PATCH /api/webhooks/:id/destinations/:destination_id",
          "DELETE /api/webhooks/:id/destinations/:destination_id",
          "POST /api/webhooks/:id/destinations/:destination_id/secret",
          "POST /api/webhooks/:id/destinations/:destination_id/test",
          "POST /api/alerts/rules",
          "PATCH /api/alerts/rules/:rule_id",
          "DELETE /api/alerts/rules/:rule_id",
          "POST /api/alerts/destinations",
          "PATCH /api/alerts/destinations/:destination_id",
          "DELETE /api/alerts/destinations/:destination_id",
          "POST /api/alerts/destinations/:destination_id/secret",
          "POST /api/alerts/destinations/:destination_id/test"
        ]
      ],
      [
        ["auditor", "admin"],
        ["GET /api/audit", "GET /api/audit/export.csv", "GET /api/audit/export.jsonl"]
      ],
      [
        ["admin"],
        [
          "POST /api/teams",
          "DELETE /api/teams/:team",
          "GET /api/teams/:team/leader-keys",
          "POST /api/teams/:team/leader-keys",
          "DELETE /api/teams/:team/leader-keys/:id",
          "GET /api/keys",
          "POST /api/keys",
          "DELETE /api/keys/:id",
          "GET /api/sessions",
          "DELETE /api/sessions/:id",
          "DELETE /api/sessions"
        ]
      ]
    ] as ReadonlyArray<readonly [ReadonlyArray<Role>, ReadonlyArray<string>]>
  ).flatMap(([allowed, endpoints]) => endpoints.map((endpoint) => [endpoint, allowed] as const))
)

const allowedFor = (endpoint: string): ReadonlyArray<Role> => restricted[endpoint] ?? readers

/** They change nothing. */
const harmless = [
  // As a dry run.
  "PUT /api/config",
  "POST /api/webhooks/:id/preview",
  "POST /api/templates/preview"
]

/** A server, and what the requests of a role have to prove it. */
const withKeys = Effect.map(start(), ({ admin, origin }) => ({
  origin,
  roles,
  headersFor: (role: Role) =>
    Effect.map(admin("POST", "/api/keys", { body: { name: role, role } }), ({ json }) => bearer(json.key))
}))

const withPeople = Effect.gen(function* () {
  const provider = yield* startProvider()
  const groups = readers.map((role) => ({ group: `${role}s`, role }))
  const { origin } = yield* start({ oidc: provider.settings({ roles: groups }) })
  provider.allow(origin)
  const headersFor = (role: Role) =>
    Effect.gen(function* () {
      const jar = new CookieJar()
      provider.person = { id: role, name: role, groups: [`${role}s`] }
      yield* visit(origin, jar, "?fresh=true")
      return { cookie: jar.header(origin), origin }
    })
  return { origin, roles: readers, headersFor }
})

/** It ends the session that the walk uses. */
const endsAllSessions = (endpoint: Endpoint) => nameOf(endpoint) === "DELETE /api/sessions"
const inOrder = [...managementEndpoints].sort((a, b) => Number(endsAllSessions(a)) - Number(endsAllSessions(b)))

describe("roles", () => {
  it.live.each([
    ["keys", withKeys],
    ["people who have signed in", withPeople]
  ] as const)("allow each endpoint to the %s whose role includes it, and to no other", ([, server]) =>
    Effect.gen(function* () {
      const { headersFor, origin, roles } = yield* server
      for (const role of roles) {
        const headers = yield* headersFor(role)
        for (const endpoint of inOrder) {
          const at = nameOf(endpoint)
          const allowed = allowedFor(at).includes(role)
          const query = at === "PUT /api/config" ? "?dry_run=true" : ""
          const request = { ...endpoint, path: `${pathWith(endpoint.path)}${query}` }
          const { code, detail, status } = yield* statusOf(origin, request, headers)
          expect(status, `${role} ${at}: ${detail}`).not.toBe(401)
          expect([code === "forbidden", status === 403], `${role} ${at}: ${detail}`).toStrictEqual([!allowed, !allowed])
          if (!allowed) {
            const [least] = allowedFor(at)
            expect(detail, at).toBe(`This needs the role \`${least}\`. Your role is \`${role}\`.`)
          }
        }
      }
    })
  )
})

describe("the table of roles", () => {
  it("allows changes to no role that only reads", () => {
    const names = managementEndpoints.map(nameOf)
    expect(Object.keys(restricted).filter((endpoint) => !names.includes(endpoint))).toStrictEqual([])
    for (const name of names.filter((each) => !each.startsWith("GET ") && !harmless.includes(each))) {
      expect(restricted[name], name).toBeDefined()
      expect(restricted[name], name).not.toContain("viewer")
      expect(restricted[name], name).not.toContain("auditor")
    }
  })
})

describe("API keys", () => {
  it.live("are shown once, listed with their last use, and named in the audit log", function* () {
    const { admin, http, team } = yield* start()
    yield* team("ops")
    const created = yield* admin("POST", "/api/keys", { body: { name: " ci-deploy ", role: "editor" } })
    const { api_key, key } = created.json
    expect(key).toMatch(/^whp_[0-9A-Za-z]{49}$/)
    expect(api_key).toMatchObject({ name: "ci-deploy", role: "editor", created_by: "admin key" })
    const headers = { authorization: `Bearer ${key}` }
    const body = { name: "n", team: "ops", prompt_template: "x" }
    const webhook = (yield* http("POST", "/api/webhooks", { body, headers })).json.webhook
    const listed = yield* admin("GET", "/api/keys")
    expect(listed.text).not.toContain(key)
    expect(listed.json.data).toStrictEqual([{ ...api_key, last_used_at: expect.any(String) }])
    const [event] = (yield* admin("GET", "/api/audit?action=webhook.created")).json.data
    expect(event).toMatchObject({ actor: "api_key", key_id: api_key.id, key_name: "ci-deploy", object: webhook.id })
    const [creation] = (yield* admin("GET", `/api/audit?object=${api_key.id}`)).json.data
    expect(creation).toMatchObject({
      action: "api_key.created",
      actor: "admin_key",
      after: { name: "ci-deploy", role: "editor", hint: api_key.hint }
    })
    const [version] = (yield* admin("GET", `/api/webhooks/${webhook.id}/templates`)).json.data
    expect(version).toMatchObject({ actor: "api_key", key_name: "ci-deploy" })
  })

  it.live("work while their use cannot be recorded", function* () {
    const repo = changed(layerRepo, (context) =>
      Context.add(context, ApiKeyStore, {
        ...Context.get(context, ApiKeyStore),
        recordApiKeyUse: () => new Unavailable({ what: "database", detail: "It is read-only." })
      })
    )
    const { admin, http } = yield* start({ repo })
    const { key } = (yield* admin("POST", "/api/keys", { body: { name: "a viewer", role: "viewer" } })).json
    const headers = { authorization: `Bearer ${key}` }
    expect((yield* http("GET", "/api/webhooks", { headers })).status).toBe(200)
    expect((yield* admin("GET", "/api/keys")).json.data[0].last_used_at).toBeUndefined()
  })

  it.live("record their use once, although many first requests come at once", function* () {
    let recorded = 0
    const repo = changed(layerRepo, (context) => {
      const store = Context.get(context, ApiKeyStore)
      const recordApiKeyUse: typeof store.recordApiKeyUse = (id, at) => {
        recorded++
        return Effect.andThen(Effect.yieldNow, store.recordApiKeyUse(id, at))
      }
      return Context.add(context, ApiKeyStore, { ...store, recordApiKeyUse })
    })
    const { admin, http } = yield* start({ repo })
    const { key } = (yield* admin("POST", "/api/keys", { body: { name: "a viewer", role: "viewer" } })).json
    const request = http("GET", "/api/access", { headers: { authorization: `Bearer ${key}` } })
    yield* Effect.replicateEffect(request, 50, { concurrency: "unbounded" })
    expect(recorded).toBe(1)
  })

  it.live("are refused with every fault of their draft", function* () {
    const { admin } = yield* start()
    const faultsOf = (body: object) =>
      Effect.map(admin("POST", "/api/keys", { body }), (answer) => {
        expect(refusal(answer)).toStrictEqual([422, "invalid"])
        return answer.json.errors.map(({ pointer }: { pointer: string }) => pointer)
      })
    expect(yield* faultsOf({ role: "root", teams: [], expires_at: "x", key: "y" })).toStrictEqual(
      expect.arrayContaining(["/name", "/role", "/teams", "/expires_at", "/key"])
    )
    const past = { name: "n", role: "auditor", teams: ["none"], expires_at: "2020-01-01T00:00:00Z" }
    expect(yield* faultsOf(past)).toStrictEqual(["/expires_at", "/teams", "/teams/0"])
  })

  it.live("say what they may do", function* () {
    const { admin, http, team } = yield* start()
    yield* team("ops")
    expect((yield* admin("GET", "/api/access")).json).toStrictEqual({ role: "admin" })
    const expires_at = "2999-01-01T00:00:00.000Z"
    const draft = { name: "Rosa", role: "viewer", teams: ["ops", "ops"], expires_at }
    const { key } = (yield* admin("POST", "/api/keys", { body: draft })).json
    expect((yield* http("GET", "/api/access", { headers: { authorization: `Bearer ${key}` } })).json).toStrictEqual({
      ...{ key_name: "Rosa", role: "viewer", teams: ["ops"], expires_at }
    })
  })

  it.live("and their sessions are refused on every server by the next request after they were revoked", function* () {
    const one = yield* start()
    const two = yield* start({ repo: one.repo })
    const { api_key, key } = (yield* one.admin("POST", "/api/keys", { body: { name: "n", role: "admin" } })).json
    const headers = { authorization: `Bearer ${key}` }
    const signedIn = yield* two.http("POST", "/api/session", { body: { key } })
    const cookie = signedIn.headers.get("set-cookie")!.split("; ")[0]!
    const asked = [
      () => one.http("GET", "/api/webhooks", { headers }),
      () => two.http("GET", "/api/webhooks", { headers }),
      () => one.http("GET", "/api/webhooks", { headers: { cookie } }),
      () => two.http("GET", "/api/webhooks", { headers: { cookie } })
    ]
    for (const ask of asked) expect((yield* ask()).status).toBe(200)
    const [session] = (yield* one.admin("GET", "/api/sessions")).json.data
    expect(session).toMatchObject({ api_key_id: api_key.id, key_name: "n" })
    expect((yield* one.admin("DELETE", `/api/keys/${api_key.id}`)).status).toBe(204)
    for (const ask of asked) expect(refusal(yield* ask())).toStrictEqual([401, "unauthorized"])
    expect((yield* asked[0]!()).json.detail).toBe("This API key was revoked.")
    expect((yield* one.admin("GET", "/api/sessions")).json.data).toStrictEqual([])
    expect(refusal(yield* one.admin("DELETE", `/api/keys/${api_key.id}`))).toStrictEqual([404, "not_found"])
    expect((yield* two.http("POST", "/api/session", { body: { key } })).status).toBe(401)
    expect((yield* one.admin("GET", "/api/keys")).json.data[0].revoked_at).toBeDefined()
  })

  it.live("and their sessions end when they expire", function* () {
    const { admin, http, repoInAnHour } = yield* start()
    const expires_at = new Date(Date.now() + 1_800_000).toISOString()
    const { key } = (yield* admin("POST", "/api/keys", { body: { name: "n", role: "admin", expires_at } })).json
    const headers = { authorization: `Bearer ${key}` }
    expect((yield* http("GET", "/api/webhooks", { headers })).status).toBe(200)
    const signedIn = yield* http("POST", "/api/session", { body: { key } })
    expect(signedIn.json.expires_at).toBe(expires_at)
    const cookie = signedIn.headers.get("set-cookie")!.split("; ")[0]!
    expect((yield* http("GET", "/api/webhooks", { headers: { cookie } })).status).toBe(200)
    const later = yield* start({ repo: repoInAnHour })
    const expired = yield* later.http("GET", "/api/webhooks", { headers })
    expect([expired.status, expired.json.detail]).toEqual([401, "This API key has expired."])
    expect((yield* later.http("GET", "/api/webhooks", { headers: { cookie } })).status).toBe(401)
  })

  it.live("are guessed as slowly as the admin key", function* () {
    const { admin, http } = yield* start()
    const { key } = (yield* admin("POST", "/api/keys", { body: { name: "n", role: "admin" } })).json
    // Another server of the same database would know it; this one has no such key, but its checksum is right.
    const other = yield* start()
    const guess = other.http("GET", "/api/webhooks", { headers: { authorization: `Bearer ${key}` } })
    const statuses = (yield* Effect.replicateEffect(guess, 12)).map(({ status }) => status)
    expect(statuses.slice(0, 10)).toStrictEqual(Array(10).fill(401))
    expect(statuses.at(-1)).toBe(429)
    expect((yield* http("GET", "/api/webhooks", { headers: { authorization: `Bearer ${key}x` } })).status).toBe(401)
  })
})
