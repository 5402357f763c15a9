import { Context, DateTime, Effect, Fiber, Layer, Option, Redacted } from "effect"
import { makeSessionId } from "../../../src/domain/Id.ts"
import { AdminKey } from "../../../src/engine/access/AdminKey.ts"
import { ApiKeys } from "../../../src/engine/access/ApiKeys.ts"
import { mostSessions, mostSessionsOfApiKey, type NewSession, Sessions } from "../../../src/engine/access/Sessions.ts"
import { SessionStore } from "../../../src/repo/access/SessionStore.ts"
import { advance, layerRepo } from "../../../src/testing.ts"
import { describe, expect, it } from "../../support/It.ts"
import { type call, refusal } from "../Client.ts"
import { adminKey, start } from "../Server.ts"

const path = "/api/session"

/** Signs in like a browser; returns the cookie and its attributes. */
const signIn = (http: ReturnType<typeof call>, headers: Record<string, string> = {}) =>
  Effect.map(http("POST", path, { body: { key: adminKey }, headers }), ({ status, headers }) => {
    expect(status).toBe(200)
    const [cookie, ...attributes] = headers.get("set-cookie")!.split("; ")
    return { cookie: cookie!, attributes }
  })

const encode = (bytes: Uint8Array, as: "hex" | "base64" | "base64url") => Buffer.from(bytes).toString(as)

describe("the session of the web UI", () => {
  it.live("is a cookie that scripts cannot read and other sites cannot send", function* () {
    const { http, origin } = yield* start()
    const { cookie, attributes } = yield* signIn(http, { origin })
    expect(cookie).toMatch(/^webhook_trigger_session=whs_[\w-]{43}$/)
    expect(attributes).toStrictEqual(expect.arrayContaining(["HttpOnly", "SameSite=Strict", "Path=/"]))
    expect(attributes).not.toContain("Secure")
    const { json } = yield* http("GET", path, { headers: { cookie } })
    expect(json.signed_in).toBe(true)
    expect((yield* http("GET", "/api/webhooks", { headers: { cookie } })).status).toBe(200)
    expect((yield* http("GET", path)).json).toStrictEqual({ signed_in: false })
  })

  it.live("is sent over TLS only, when there is TLS", function* () {
    const proxied = yield* start({ trustedProxies: ["127.0.0.1"] })
    const throughProxy = yield* signIn(proxied.http, { "x-forwarded-proto": "https" })
    expect(throughProxy.attributes).toContain("Secure")
    const direct = yield* signIn((yield* start()).http, { "x-forwarded-proto": "https" })
    expect(direct.attributes).not.toContain("Secure")
    const named = yield* start({ publicUrl: "https://hooks.example.com" })
    const { attributes, cookie } = yield* signIn(named.http)
    expect(attributes).toContain("Secure")
    // By its prefix the browser refuses it from another host of the same site.
    expect(cookie).toMatch(/^__Host-webhook_trigger_session=/)
    expect((yield* named.http("GET", "/api/webhooks", { headers: { cookie } })).status).toBe(200)
    const planted = cookie.replace("__Host-", "")
    expect((yield* named.http("GET", "/api/webhooks", { headers: { cookie: planted } })).status).toBe(401)
  })

  it.live("is not begun on a page without TLS when it needs TLS, and the answer says where to sign in", function* () {
    const { http } = yield* start({ publicUrl: "https://hooks.example.com/agents", trustedProxies: ["127.0.0.1"] })
    const signInAt = (origin: string) =>
      http("POST", path, { body: { key: adminKey }, headers: { origin, "sec-fetch-site": "same-origin" } })
    const refused = yield* signInAt("http://hooks.example.com")
    expect(refusal(refused)).toStrictEqual([403, "forbidden"])
    expect(refused.json.detail).toContain("Open https://hooks.example.com/agents to sign in.")
    expect(refused.headers.getSetCookie()).toStrictEqual([])
    for (const origin of ["https://hooks.example.com", "http://localhost:8080"]) {
      expect((yield* signInAt(origin)).status).toBe(200)
    }
  })

  it.live("cannot be used by a page of another site, whatever headers that page sends", function* () {
    const { http, origin, team } = yield* start()
    yield* team("ops")
    const { cookie } = yield* signIn(http)
    const attempt = (headers: Record<string, string>) =>
      http("POST", "/api/teams", { body: { team: "theirs" }, headers: { cookie, ...headers } })
    for (const headers of [
      {},
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site", origin: "https://evil.example" },
      { "sec-fetch-site": "same-site", origin },
      { "sec-fetch-site": "none" }
    ]) {
      expect(refusal(yield* attempt(headers))).toStrictEqual([401, "unauthorized"])
    }
    expect((yield* attempt({ origin })).status).toBe(201)
    const remove = { cookie, "sec-fetch-site": "same-origin" }
    expect((yield* http("DELETE", "/api/teams/theirs", { headers: remove })).status).toBe(204)
    expect(
      refusal(yield* http("POST", path, { body: { key: adminKey }, headers: { origin: "https://evil.example" } }))
    ).toStrictEqual([401, "unauthorized"])
    expect(refusal(yield* http("DELETE", path, { headers: { cookie, origin: "https://evil.example" } }))).toStrictEqual(
      [401, "unauthorized"]
    )
  })

  it.live("cannot be forged, not even with all that is stored", function* () {
    const { http, context } = yield* start()
    const { cookie } = yield* signIn(http)
    const [name, value] = cookie.split("=") as [string, string]
    const [row] = yield* Context.get(context, SessionStore).sessions
    const stored = Object.values(row!).map((field) => (field instanceof Uint8Array ? field : String(field)))
    const texts = stored.flatMap((field) =>
      typeof field === "string" ? field : (["hex", "base64", "base64url"] as const).map((as) => encode(field, as))
    )
    expect(JSON.stringify(texts)).not.toContain(value.slice(4))
    for (const forged of [
      "",
      value.slice(1),
      `${value}=`,
      `${value.slice(0, -1)}${value.endsWith("A") ? "B" : "A"}`,
      value.toLowerCase(),
      ...texts,
      ...texts.map((text) => `whs_${text}`)
    ]) {
      const headers = { cookie: `${name}=${encodeURIComponent(forged)}` }
      expect((yield* http("GET", path, { headers })).json, forged).toStrictEqual({ signed_in: false })
      expect((yield* http("GET", "/api/webhooks", { headers })).status, forged).toBe(401)
    }
  })

  it.live(
    "is valid on every replica, also on one that is started later, and ends on all of them with signing out",
    function* () {
      const one = yield* start()
      const { cookie } = yield* signIn(one.http)
      const two = yield* start({ repo: one.repo })
      expect((yield* two.http("GET", "/api/webhooks", { headers: { cookie } })).status).toBe(200)
      const answer = yield* one.http("DELETE", path, { headers: { cookie, origin: one.origin } })
      expect(answer.status).toBe(204)
      expect(answer.headers.get("set-cookie")!).toMatch(/^webhook_trigger_session=; Max-Age=0/)
      for (const { http } of [one, two]) {
        expect((yield* http("GET", "/api/webhooks", { headers: { cookie } })).status).toBe(401)
        expect((yield* http("GET", path, { headers: { cookie } })).json).toStrictEqual({ signed_in: false })
      }
    }
  )

  it.live("ends with the admin key that it was begun with, and is not listed with another", function* () {
    const before = yield* start()
    const { cookie } = yield* signIn(before.http)
    const after = yield* start({ repo: before.repo, adminKey: "another-admin-key-for-tests" })
    const headers = { authorization: "Bearer another-admin-key-for-tests" }
    expect((yield* after.http("GET", "/api/webhooks", { headers: { cookie } })).status).toBe(401)
    expect((yield* after.http("GET", "/api/sessions", { headers })).json.data).toStrictEqual([])
    // The next to sign in removes it, so that no server with the old key accepts it either.
    yield* after.http("POST", path, { body: { key: "another-admin-key-for-tests" } })
    expect((yield* before.http("GET", "/api/webhooks", { headers: { cookie } })).status).toBe(401)
  })

  it.live("is replaced by signing in again", function* () {
    const { http } = yield* start()
    const first = yield* signIn(http)
    const second = yield* signIn(http, { cookie: first.cookie })
    expect(second.cookie).not.toBe(first.cookie)
    expect((yield* http("GET", "/api/webhooks", { headers: { cookie: first.cookie } })).status).toBe(401)
    expect((yield* http("GET", "/api/webhooks", { headers: { cookie: second.cookie } })).status).toBe(200)
  })

  it.live("is answered 503, not signed out, while the database is out of reach", function* () {
    const { faults, http } = yield* start()
    const { cookie } = yield* signIn(http)
    faults.add("database")
    const answer = yield* http("GET", path, { headers: { cookie } })
    expect(refusal(answer)).toStrictEqual([503, "unavailable"])
  })
})

describe("sessions", () => {
  it.live("are listed with who began them, and ended one by one", function* () {
    const { admin, http, origin } = yield* start({ trustedProxies: ["127.0.0.1"] })
    const mine = yield* signIn(http, { "user-agent": "Mine/1.0" })
    const theirs = yield* signIn(http, { "user-agent": "Theirs/1.0", "x-forwarded-for": "203.0.113.7" })
    const { data: json } = (yield* http("GET", "/api/sessions", { headers: { cookie: mine.cookie } })).json
    expect(json).toStrictEqual([
      expect.objectContaining({ user_agent: "Theirs/1.0", client_address: "203.0.113.7", is_current: false }),
      expect.objectContaining({ user_agent: "Mine/1.0", client_address: "127.0.0.1", is_current: true })
    ])
    const shownTo = Object.keys(json[0])
    expect(shownTo.sort()).toStrictEqual(
      [
        ...["id", "created_at", "authenticated_at", "last_used_at", "expires_at"],
        ...["client_address", "user_agent", "is_current"]
      ].sort()
    )
    const headers = { cookie: mine.cookie, origin }
    expect((yield* http("DELETE", `/api/sessions/${json[0].id}`, { headers })).status).toBe(204)
    expect((yield* http("GET", "/api/webhooks", { headers: { cookie: theirs.cookie } })).status).toBe(401)
    expect((yield* http("GET", "/api/webhooks", { headers })).status).toBe(200)
    for (const id of [json[0].id, "no-id"]) {
      expect(refusal(yield* admin("DELETE", `/api/sessions/${id}`))).toStrictEqual([404, "not_found"])
    }
    expect((yield* admin("GET", "/api/sessions")).json.data).toHaveLength(1)
    expect((yield* http("GET", "/api/sessions")).status).toBe(401)
  })

  it.live("can all be ended at once", function* () {
    const { admin, http } = yield* start()
    const cookies = yield* Effect.replicateEffect(signIn(http), 3)
    expect((yield* admin("DELETE", "/api/sessions")).status).toBe(204)
    for (const { cookie } of cookies) {
      expect((yield* http("GET", "/api/webhooks", { headers: { cookie } })).status).toBe(401)
    }
    expect((yield* admin("GET", "/api/sessions")).json.data).toStrictEqual([])
  })

  it.live("of an API key are limited, and end only for newer ones of the same key", function* () {
    const { admin, http } = yield* start()
    const begin = (key: string) =>
      Effect.map(http("POST", path, { body: { key } }), ({ headers }) => headers.get("set-cookie")!.split("; ")[0]!)
    const newKey = (name: string) =>
      Effect.map(admin("POST", "/api/keys", { body: { name, role: "viewer" } }), ({ json }) => json.key as string)
    const [mine, theirs] = [yield* newKey("mine"), yield* newKey("theirs")]
    const [first, ofAdmin, ofOther] = [yield* begin(mine), yield* begin(adminKey), yield* begin(theirs)]
    for (let n = 0; n < mostSessionsOfApiKey; n++) yield* begin(mine)
    const answered = (cookie: string) =>
      Effect.map(http("GET", "/api/webhooks", { headers: { cookie } }), ({ status }) => status)
    expect([yield* answered(first), yield* answered(ofAdmin), yield* answered(ofOther)]).toStrictEqual([401, 200, 200])
    expect((yield* admin("GET", "/api/sessions")).json.data).toHaveLength(mostSessionsOfApiKey + 2)
  })

  it.live("that are ended get no more events", function* () {
    const { admin, http, origin, team } = yield* start()
    const { cookie } = yield* signIn(http)
    const response = yield* Effect.promise(() => fetch(`${origin}/api/events`, { headers: { cookie } }))
    const received = yield* Effect.forkChild(Effect.promise(() => response.text()))
    yield* admin("DELETE", "/api/sessions")
    const webhook = { name: "a webhook", team: yield* team("ops"), prompt_template: "hello" }
    yield* admin("POST", "/api/webhooks", { body: webhook })
    expect(yield* Fiber.join(received)).not.toContain("event: change")
  })
})

/** The sessions of two servers, on one repo whose calls are counted. */
const counted = Effect.gen(function* () {
  const repo = yield* Layer.build(layerRepo)
  const store = Context.get(repo, SessionStore)
  let reads = 0
  const layer = Sessions.layer.pipe(
    Layer.provide(AdminKey.layerGiven(Redacted.make(adminKey))),
    Layer.provide(ApiKeys.layer),
    Layer.provide(
      Layer.succeed(SessionStore, {
        ...store,
        sessionsByToken: (hashes) => {
          reads++
          return store.sessionsByToken(hashes)
        }
      })
    ),
    Layer.provide(Layer.succeedContext(repo))
  )
  const sessions = Effect.map(Layer.build(layer), Context.get(Sessions))
  const keys = Context.get(yield* Layer.build(Layer.provide(ApiKeys.layer, Layer.succeedContext(repo))), ApiKeys)
  return { keys, store, one: yield* sessions, two: yield* sessions, reads: () => reads }
})

const from = { client_address: "127.0.0.1", user_agent: "" }

describe("a session in time", () => {
  it.effect("ends when it was not used for twelve hours, and after seven days at the latest", function* () {
    const { one } = yield* counted
    const [unused, used] = [yield* one.begin(from), yield* one.begin(from)]
    const isOpen = ({ token }: NewSession) => Effect.map(one.find(Redacted.value(token)), Option.isSome)
    yield* advance("11 hours")
    expect(yield* isOpen(used)).toBe(true)
    yield* advance("61 minutes")
    expect([yield* isOpen(unused), yield* isOpen(used)]).toStrictEqual([false, true])
    for (let hours = 18; hours < 7 * 24; hours += 6) {
      yield* advance("6 hours")
      expect(yield* isOpen(used), `after ${hours} hours`).toBe(true)
    }
    yield* advance("6 hours")
    expect(yield* isOpen(used)).toBe(false)
    expect(yield* one.list).toStrictEqual([])
  })

  it.effect("is read for each request, so one that was ended is not found by the next one", function* () {
    const { one, reads, two } = yield* counted
    const { session, token } = yield* one.begin(from)
    const find = Effect.map(two.find(Redacted.value(token)), Option.isSome)
    expect([yield* find, yield* find]).toStrictEqual([true, true])
    expect(reads()).toBe(2)
    yield* one.end(session.id)
    expect(yield* find).toBe(false)
  })

  it.effect(
    "is one of a thousand with the admin key: for more of these, those used longest ago are ended",
    function* () {
      const { keys, one, store } = yield* counted
      const oldest = yield* one.begin(from)
      const [row] = yield* store.sessions
      yield* advance("1 minute")
      const last_used_at = yield* DateTime.now
      for (let n = 1; n < mostSessions; n++) {
        const token_hash = new TextEncoder().encode(`token ${n}`)
        yield* store.createSession({ ...row!, id: yield* makeSessionId, token_hash, last_used_at })
      }
      yield* one.begin(from)
      expect(yield* one.list).toHaveLength(mostSessions)
      expect(Option.isNone(yield* one.find(Redacted.value(oldest.token)))).toBe(true)
      const { api_key } = yield* keys.create({ name: "a viewer", role: "viewer" })
      yield* one.begin(from, api_key)
      expect(yield* one.list).toHaveLength(mostSessions + 1)
    }
  )
})
