import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Option, Redacted, TestClock } from "effect"
import { AdminKey } from "../../src/engine/AdminKey.ts"
import { Sessions } from "../../src/http/Sessions.ts"
import { adminKey, call, refusal, start } from "./Server.ts"

const path = "/api/session"

/** Signs in as a browser does, and gives the cookie and what was said of it. */
const signIn = (http: ReturnType<typeof call>, headers: Record<string, string> = {}) =>
  Effect.map(http("POST", path, { body: { key: adminKey }, headers }), ({ status, headers }) => {
    assert.strictEqual(status, 200)
    const [cookie, ...attributes] = headers.get("set-cookie")!.split("; ")
    return { cookie: cookie!, attributes }
  })

describe("the session of the web UI", () => {
  it.scopedLive("is a cookie that scripts cannot read and other sites cannot send", () =>
    Effect.gen(function* () {
      const { http, origin } = yield* start()
      const { cookie, attributes } = yield* signIn(http, { origin })
      assert.match(cookie, /^webhook_trigger_session=v1\.\d+\./)
      assert.includeMembers(attributes, ["HttpOnly", "SameSite=Strict", "Path=/"])
      assert.notInclude(attributes, "Secure")
      const { json } = yield* http("GET", path, { headers: { cookie } })
      assert.isTrue(json.signed_in)
      assert.strictEqual((yield* http("GET", "/api/webhooks", { headers: { cookie } })).status, 200)
      assert.deepStrictEqual((yield* http("GET", path)).json, { signed_in: false })
    })
  )

  it.scopedLive("is not sent in the clear where there is TLS in front", () =>
    Effect.gen(function* () {
      const behind = yield* start()
      const proxied = yield* signIn(behind.http, { "x-forwarded-proto": "https" })
      assert.include(proxied.attributes, "Secure")
      const named = yield* start({ publicUrl: "https://hooks.example.com" })
      assert.include((yield* signIn(named.http)).attributes, "Secure")
    })
  )

  it.scopedLive("changes nothing for a page of another site, whatever that page sends along", () =>
    Effect.gen(function* () {
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
        assert.deepStrictEqual(refusal(yield* attempt(headers)), [401, "unauthorized"])
      }
      assert.strictEqual((yield* attempt({ origin })).status, 201)
      const remove = { cookie, "sec-fetch-site": "same-origin" }
      assert.strictEqual((yield* http("DELETE", "/api/teams/theirs", { headers: remove })).status, 204)
      assert.deepStrictEqual(
        refusal(yield* http("POST", path, { body: { key: adminKey }, headers: { origin: "https://evil.example" } })),
        [401, "unauthorized"]
      )
      assert.deepStrictEqual(
        refusal(yield* http("DELETE", path, { headers: { cookie, origin: "https://evil.example" } })),
        [401, "unauthorized"]
      )
    })
  )

  it.scopedLive("cannot be made up, prolonged, or brought from a server with another key", () =>
    Effect.gen(function* () {
      const { http } = yield* start()
      const { cookie } = yield* signIn(http)
      const [name, value] = cookie.split("=") as [string, string]
      const [version, expires, signature] = value.split(".") as [string, string, string]
      for (const forged of [
        "",
        "v1",
        `${version}.${Number(expires) + 1}.${signature}`,
        `${version}.${expires}.${signature.slice(1)}`,
        `${version}.${expires}.`,
        `v2.${expires}.${signature}`,
        `${version}.0${expires}.${signature}`,
        `${value}.`,
        "v1.NaN.x"
      ]) {
        const headers = { cookie: `${name}=${forged}` }
        assert.deepStrictEqual((yield* http("GET", path, { headers })).json, { signed_in: false }, forged)
        assert.strictEqual((yield* http("GET", "/api/webhooks", { headers })).status, 401, forged)
      }
    })
  )

  it.scopedLive("holds on every replica with the same key", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* start(), yield* start()]
      const { cookie } = yield* signIn(one.http)
      assert.strictEqual((yield* two.http("GET", "/api/webhooks", { headers: { cookie } })).status, 200)
    })
  )

  it.scopedLive("ends by signing out", () =>
    Effect.gen(function* () {
      const { http, origin } = yield* start()
      const { cookie } = yield* signIn(http)
      const answer = yield* http("DELETE", path, { headers: { cookie, origin } })
      assert.strictEqual(answer.status, 204)
      assert.match(answer.headers.get("set-cookie")!, /^webhook_trigger_session=; Max-Age=0/)
    })
  )

  it.effect("ends after twelve hours, and is renewed while it is used", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const ticket = yield* sessions.start
      yield* TestClock.adjust("59 minutes")
      assert.isTrue(Option.isNone(yield* sessions.renew(ticket.expires_at)))
      yield* TestClock.adjust("2 minutes")
      const renewed = yield* sessions.renew(ticket.expires_at)
      yield* TestClock.adjust(Duration.hours(11))
      assert.isTrue(Option.isNone(yield* sessions.read(ticket.value)))
      assert.isTrue(Option.isSome(yield* sessions.read(Option.getOrThrow(renewed).value)))
    }).pipe(Effect.provide(Layer.provide(Sessions.layer, AdminKey.layerGiven(Redacted.make(adminKey)))))
  )
})

describe("signing in", () => {
  it.scopedLive("refuses a wrong key, and after ten of them from one address even the right one", () =>
    Effect.gen(function* () {
      const { http } = yield* start()
      const attempt = (key: unknown) => http("POST", path, { body: { key } })
      assert.deepStrictEqual(refusal(yield* attempt(1)), [422, "invalid"])
      for (let i = 0; i < 10; i++) assert.deepStrictEqual(refusal(yield* attempt(`wrong ${i}`)), [401, "unauthorized"])
      const limited = yield* attempt(adminKey)
      assert.deepStrictEqual(refusal(limited), [429, "too_many_attempts"])
      assert.strictEqual(limited.headers.get("retry-after"), "10")
      // Whoever is in stays in, and programs send the key itself.
      assert.strictEqual(
        (yield* http("GET", "/api/webhooks", { headers: { authorization: `Bearer ${adminKey}` } })).status,
        200
      )
    })
  )
})
