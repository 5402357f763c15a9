import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Layer, Option, Redacted, TestClock } from "effect"
import { AdminKey } from "../../src/engine/AdminKey.ts"
import { Sessions } from "../../src/http/Sessions.ts"
import { type call, refusal } from "./Client.ts"
import { adminKey, start } from "./Server.ts"

const path = "/api/session"

/** Signs in like a browser; returns the cookie and its attributes. */
const signIn = (http: ReturnType<typeof call>, headers: Record<string, string> = {}) =>
  Effect.map(http("POST", path, { body: { key: adminKey }, headers }), ({ status, headers }) => {
    expect(status).toBe(200)
    const [cookie, ...attributes] = headers.get("set-cookie")!.split("; ")
    return { cookie: cookie!, attributes }
  })

describe("the session of the web UI", () => {
  it.scopedLive("is a cookie that scripts cannot read and other sites cannot send", () =>
    Effect.gen(function* () {
      const { http, origin } = yield* start()
      const { cookie, attributes } = yield* signIn(http, { origin })
      expect(cookie).toMatch(/^webhook_trigger_session=v1\.\d+\./)
      expect(attributes).toStrictEqual(expect.arrayContaining(["HttpOnly", "SameSite=Strict", "Path=/"]))
      expect(attributes).not.toContain("Secure")
      const { json } = yield* http("GET", path, { headers: { cookie } })
      expect(json.signed_in).toBe(true)
      expect((yield* http("GET", "/api/webhooks", { headers: { cookie } })).status).toBe(200)
      expect((yield* http("GET", path)).json).toStrictEqual({ signed_in: false })
    })
  )

  it.scopedLive("is sent over TLS only, when there is TLS", () =>
    Effect.gen(function* () {
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
  )

  it.scopedLive("cannot be used by a page of another site, whatever headers that page sends", () =>
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
        expect(refusal(yield* attempt(headers))).toStrictEqual([401, "unauthorized"])
      }
      expect((yield* attempt({ origin })).status).toBe(201)
      const remove = { cookie, "sec-fetch-site": "same-origin" }
      expect((yield* http("DELETE", "/api/teams/theirs", { headers: remove })).status).toBe(204)
      expect(
        refusal(yield* http("POST", path, { body: { key: adminKey }, headers: { origin: "https://evil.example" } }))
      ).toStrictEqual([401, "unauthorized"])
      expect(
        refusal(yield* http("DELETE", path, { headers: { cookie, origin: "https://evil.example" } }))
      ).toStrictEqual([401, "unauthorized"])
    })
  )

  it.scopedLive("cannot be forged, prolonged, or taken over from a server with another key", () =>
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
        expect((yield* http("GET", path, { headers })).json, forged).toStrictEqual({ signed_in: false })
        expect((yield* http("GET", "/api/webhooks", { headers })).status, forged).toBe(401)
      }
    })
  )

  it.scopedLive("is valid on every replica with the same key", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* start(), yield* start()]
      const { cookie } = yield* signIn(one.http)
      expect((yield* two.http("GET", "/api/webhooks", { headers: { cookie } })).status).toBe(200)
    })
  )

  it.scopedLive("ends by signing out", () =>
    Effect.gen(function* () {
      const { http, origin } = yield* start()
      const { cookie } = yield* signIn(http)
      const answer = yield* http("DELETE", path, { headers: { cookie, origin } })
      expect(answer.status).toBe(204)
      expect(answer.headers.get("set-cookie")!).toMatch(/^webhook_trigger_session=; Max-Age=0/)
    })
  )

  it.effect("ends after twelve hours, and is renewed while it is in use", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const cookie = yield* sessions.start
      yield* TestClock.adjust("59 minutes")
      expect(Option.isNone(yield* sessions.renew(cookie.expires_at))).toBe(true)
      yield* TestClock.adjust("2 minutes")
      const renewed = yield* sessions.renew(cookie.expires_at)
      yield* TestClock.adjust(Duration.hours(11))
      expect(Option.isNone(yield* sessions.read(cookie.value))).toBe(true)
      expect(Option.isSome(yield* sessions.read(Option.getOrThrow(renewed).value))).toBe(true)
    }).pipe(Effect.provide(Layer.provide(Sessions.layer, AdminKey.layerGiven(Redacted.make(adminKey)))))
  )
})

describe("signing in", () => {
  it.scopedLive("refuses a wrong key, and after ten of them from one address even the right one", () =>
    Effect.gen(function* () {
      const { http } = yield* start()
      const attempt = (key: unknown) => http("POST", path, { body: { key } })
      expect(refusal(yield* attempt(1))).toStrictEqual([422, "invalid"])
      for (let i = 0; i < 10; i++) expect(refusal(yield* attempt(`wrong ${i}`))).toStrictEqual([401, "unauthorized"])
      const limited = yield* attempt(adminKey)
      expect(refusal(limited)).toStrictEqual([429, "too_many_attempts"])
      expect(limited.headers.get("retry-after")).toBe("10")
      // Open sessions and programs, which send the key itself, are not affected.
      expect((yield* http("GET", "/api/webhooks", { headers: { authorization: `Bearer ${adminKey}` } })).status).toBe(
        200
      )
    })
  )
})
