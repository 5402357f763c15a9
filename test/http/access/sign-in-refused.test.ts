/** Sign-ins that fail, by accident or by an attacker. */
import { generateKeyPairSync, sign } from "node:crypto"
import { Cause, Context, Effect, Fiber, Logger } from "effect"
import { Unavailable } from "../../../src/domain/Errors.ts"
import { SessionStore } from "../../../src/repo/access/SessionStore.ts"
import { layerRepo } from "../../../src/testing.ts"
import { CookieJar } from "../../support/CookieJar.ts"
import { describe, expect, it } from "../../support/It.ts"
import { ada, type OpenIdProvider, startProvider } from "../../support/OpenIdProvider.ts"
import { repeatUntil } from "../../support/Until.ts"
import { changed, start } from "../Server.ts"
import {
  callbackPath,
  hasSession,
  problemOf,
  signInAs,
  signInCookie,
  signInPath,
  visit,
  visitProvider
} from "./SignIn.ts"

const startWith = (provider: OpenIdProvider) =>
  Effect.tap(start({ oidc: provider.settings() }), ({ origin }) =>
    Effect.sync(() => {
      provider.allow(origin)
      provider.person = ada
    })
  )

const isPage = ({ pathname }: URL) => pathname === "/sign-in" || pathname === "/"

/** The problem after the callback was opened, in which nothing of the provider's response is repeated. */
const problemAt = (jar: CookieJar, callback: URL | string) =>
  Effect.map(jar.go(String(callback), isPage), ({ headers, text, url }) => {
    expect(text).toBe("")
    expect(headers.get("cache-control")).toBe("no-store")
    expect([...url.searchParams.keys()].sort()).toStrictEqual(["problem", "to"])
    expect(hasSession(jar, url.origin)).toBe(false)
    return problemOf({ url })
  })

/** What the browser keeps, changed by somebody who can write cookies. */
const change = (jar: CookieJar, origin: string, fields: object) => {
  const cookies = jar.of(origin)
  const pending = JSON.parse(Buffer.from(cookies.get(signInCookie)!, "base64url").toString())
  cookies.set(signInCookie, Buffer.from(JSON.stringify({ ...pending, ...fields })).toString("base64url"))
}

const with_ = (url: URL, parameters: Record<string, string | undefined>) => {
  const changed = new URL(url)
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) changed.searchParams.delete(name)
    else changed.searchParams.set(name, value)
  }
  return changed
}

const other = "A".repeat(43)

/** The problem after a response that the provider did not give, for a sign-in that was not begun. */
const madeUp = (provider: OpenIdProvider, origin: string, parameters: Record<string, string> = { code: "made-up" }) =>
  Effect.gen(function* () {
    const jar = new CookieJar()
    const state = "S".repeat(43)
    const pending = { state, nonce: state, verifier: state, fresh: false, to: "/" }
    jar.of(origin).set(signInCookie, Buffer.from(JSON.stringify(pending)).toString("base64url"))
    const query = new URLSearchParams({ state, iss: provider.issuer, ...parameters })
    return yield* problemAt(jar, `${origin}${callbackPath}?${query}`)
  })

describe("a sign-in at the OpenID provider", () => {
  it.live("is refused without the cookie that began it, with another state, and when it is repeated", function* () {
    const provider = yield* startProvider()
    const { origin } = yield* startWith(provider)
    const jar = new CookieJar()
    const callback = yield* visitProvider(origin, jar)
    expect(yield* problemAt(new CookieJar(), callback)).toBe("expired")
    for (const state of [undefined, "", other]) {
      expect(yield* problemAt(jar, with_(callback, { state })), state).toBe("expired")
    }
    for (const broken of ["", "x", "e30", Buffer.from('{"state":1}').toString("base64url")]) {
      const broke = new CookieJar()
      broke.of(origin).set(signInCookie, broken)
      expect(yield* problemAt(broke, callback), broken).toBe("expired")
    }
    // None of these has ended the sign-in, which now succeeds, once.
    const cookie = jar.of(origin).get(signInCookie)!
    expect((yield* jar.go(callback.href, isPage)).url.href).toBe(`${origin}/`)
    expect(hasSession(jar, origin)).toBe(true)
    expect(yield* problemAt(new CookieJar(), callback)).toBe("expired")
    const thief = new CookieJar()
    thief.of(origin).set(signInCookie, cookie)
    expect(yield* problemAt(thief, callback)).toBe("invalid")
  })

  it.live("is refused if the response is for another sign-in, or from another provider", function* () {
    const provider = yield* startProvider()
    const { origin } = yield* startWith(provider)
    const attempt = (fields: object, parameters: Record<string, string | undefined>) =>
      Effect.gen(function* () {
        const jar = new CookieJar()
        const callback = yield* visitProvider(origin, jar)
        change(jar, origin, fields)
        return yield* problemAt(jar, with_(callback, parameters))
      })
    expect(yield* attempt({ nonce: other }, {})).toBe("invalid")
    expect(yield* attempt({ verifier: other }, {})).toBe("invalid")
    expect(yield* attempt({}, { code: "another-code" })).toBe("invalid")
    expect(yield* attempt({}, { code: undefined })).toBe("invalid")
    expect(yield* attempt({}, { iss: "https://evil.example" })).toBe("invalid")
    expect(yield* attempt({}, { iss: undefined })).toBe("invalid")
    // The code of another browser's sign-in: the attacker's, who wants the victim to act as them.
    const attacker = new CookieJar()
    const theirs = yield* visitProvider(origin, attacker)
    expect(yield* attempt({}, { code: theirs.searchParams.get("code")! })).toBe("invalid")
    const twice = yield* Effect.gen(function* () {
      const jar = new CookieJar()
      const callback = yield* visitProvider(origin, jar)
      callback.searchParams.append("code", "second")
      return yield* problemAt(jar, callback)
    })
    expect(twice).toBe("invalid")
  })

  it.live("is an audit event if it is refused, but not if it took too long", function* () {
    const provider = yield* startProvider()
    const { admin, origin } = yield* startWith(provider)
    const callback = yield* visitProvider(origin, new CookieJar())
    expect(yield* problemAt(new CookieJar(), callback)).toBe("expired")
    expect(yield* madeUp(provider, origin)).toBe("invalid")
    const audited = Effect.map(admin("GET", "/api/audit"), ({ json }): ReadonlyArray<any> => json.data)
    const events = yield* repeatUntil(audited, (all) => all.length > 0)
    expect(events).toEqual([
      expect.objectContaining({
        action: "sign_in.refused",
        actor: "unknown",
        client_address: "127.0.0.1",
        attempts: 1
      })
    ])
  })

  it.live("is refused to an address with many invalid responses, without asking the provider", function* () {
    const provider = yield* startProvider()
    const { origin } = yield* startWith(provider)
    let asked = 0
    provider.intercept = (request) => {
      if (request.url === "/token") asked++
      return false
    }
    const problems = yield* Effect.replicateEffect(madeUp(provider, origin), 14)
    expect(problems.slice(0, 10)).toStrictEqual(Array(10).fill("invalid"))
    expect(problems.at(-1)).toBe("too_many")
    expect(asked).toBe(problems.filter((problem) => problem === "invalid").length)
  })

  it.live(
    "is refused to an address with many responses at the same time, and with many that the provider fails",
    function* () {
      const provider = yield* startProvider()
      let asked = 0
      provider.intercept = (request, response) => {
        if (request.url !== "/token") return false
        asked++
        setTimeout(() => response.writeHead(500).end(), 200)
        return true
      }
      const { origin } = yield* startWith(provider)
      const together = yield* Effect.all(
        Array.from({ length: 30 }, () => madeUp(provider, origin)),
        { concurrency: "unbounded" }
      )
      expect(together.filter((problem) => problem === "too_many").length).toBeGreaterThanOrEqual(19)
      expect(asked).toBe(together.filter((problem) => problem !== "too_many").length)
      const another = yield* startWith(provider)
      const problems = yield* Effect.replicateEffect(madeUp(provider, another.origin), 13)
      expect(problems.at(-1)).toBe("too_many")
    }
  )

  it.live(
    "is not refused for the failures of others where somebody has signed in, or for responses without a code",
    function* () {
      const provider = yield* startProvider()
      const { origin } = yield* startWith(provider)
      const withoutCode = yield* Effect.replicateEffect(madeUp(provider, origin, { error: "access_denied" }), 14)
      expect(new Set(withoutCode)).toStrictEqual(new Set(["denied"]))
      yield* signInAs(provider, origin, ada)
      const failed = yield* Effect.replicateEffect(madeUp(provider, origin), 14)
      expect(new Set(failed)).toStrictEqual(new Set(["invalid"]))
      yield* signInAs(provider, origin, ada)
    }
  )

  it.live("is refused at once while too many others wait for the provider", function* () {
    const provider = yield* startProvider()
    const { origin } = yield* startWith(provider)
    yield* signInAs(provider, origin, ada)
    const held: Array<() => void> = []
    let isHeld = true
    provider.intercept = (request, response) => {
      if (request.url !== "/token") return false
      const refuse = () => response.writeHead(500).end()
      if (isHeld) held.push(refuse)
      else refuse()
      return true
    }
    const problems: Array<string | null> = []
    const attempt = Effect.map(madeUp(provider, origin), (problem) => problems.push(problem))
    const attempts = yield* Effect.forkChild(
      Effect.all(
        Array.from({ length: 140 }, () => attempt),
        { concurrency: "unbounded" }
      )
    )
    yield* repeatUntil(
      Effect.sync(() => problems.length),
      (answered) => answered === 8
    )
    expect(new Set(problems)).toStrictEqual(new Set(["unavailable"]))
    isHeld = false
    for (const refuse of held) refuse()
    yield* Fiber.join(attempts)
    expect(problems.filter((problem) => problem === "unavailable")).toHaveLength(8)
  })

  it.live("begins no session while the one that it replaces cannot be ended", function* () {
    const provider = yield* startProvider()
    let isBroken = false
    const repo = changed(layerRepo, (context) => {
      const store = Context.get(context, SessionStore)
      return Context.add(context, SessionStore, {
        ...store,
        endSessions: (ids, audit) =>
          isBroken
            ? new Unavailable({ what: "database", detail: "The database is out of reach." })
            : store.endSessions(ids, audit)
      })
    })
    const { admin, origin } = yield* start({ oidc: provider.settings(), repo })
    provider.allow(origin)
    const { jar } = yield* signInAs(provider, origin, ada)
    const sessions = Effect.map(admin("GET", "/api/sessions"), ({ json }) => json.data)
    const before = yield* sessions
    isBroken = true
    expect(problemOf(yield* visit(origin, jar))).toBe("unavailable")
    expect(yield* sessions).toStrictEqual(before)
    isBroken = false
    yield* signInAs(provider, origin, ada, jar)
    const [after, ...others] = yield* sessions
    expect([after.id === before[0].id, others]).toStrictEqual([false, []])
  })

  it.live("is refused if the ID token is not signed with the provider's key, or not for this client", function* () {
    const provider = yield* startProvider()
    const { origin } = yield* startWith(provider)
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
    const attempt = (forge: (claims: object, header: object) => string) =>
      Effect.gen(function* () {
        const jar = new CookieJar()
        const callback = yield* visitProvider(origin, jar)
        const { nonce } = JSON.parse(Buffer.from(jar.of(origin).get(signInCookie)!, "base64url").toString())
        const now = Math.floor(Date.now() / 1_000)
        const claims = { iss: provider.issuer, sub: "ada-1", aud: "webhook-trigger", exp: now + 60, iat: now, nonce }
        provider.intercept = (request, response) => {
          if (request.url !== "/token") return false
          const id_token = forge({ ...claims, groups: ["platform-admins"] }, { alg: "RS256", kid: "test" })
          const body = { access_token: "a", token_type: "Bearer", id_token }
          response.setHeader("content-type", "application/json").end(JSON.stringify(body))
          return true
        }
        const problem = yield* problemAt(jar, callback)
        provider.intercept = undefined
        return problem
      })
    const signed = (claims: object, header: object) => {
      const text = `${part(header)}.${part(claims)}`
      return `${text}.${sign("sha256", Buffer.from(text), privateKey).toString("base64url")}`
    }
    expect(yield* attempt(signed)).toBe("invalid")
    expect(yield* attempt((claims) => `${part({ alg: "none" })}.${part(claims)}.`)).toMatch(
      /^(invalid|provider_unavailable)$/
    )
    expect(yield* attempt((claims, header) => signed({ ...claims, aud: "another" }, header))).toBe("invalid")
    expect(yield* attempt((claims, header) => signed({ ...claims, iss: "https://evil.example" }, header))).toBe(
      "invalid"
    )
    expect(yield* attempt((claims, header) => signed({ ...claims, exp: 1 }, header))).toBe("invalid")
    expect(yield* attempt(() => "no token")).toBe("invalid")
    for (const sub of ["", " ", "x".repeat(256)]) {
      expect(yield* attempt((claims) => provider.sign({ ...claims, sub }))).toBe("invalid")
    }
  })

  it.live("explains the provider's errors in its own words", function* () {
    const provider = yield* startProvider()
    const { origin } = yield* startWith(provider)
    for (const [error, problem] of [
      ["access_denied", "denied"],
      ["server_error", "provider_error"],
      ["temporarily_unavailable", "provider_error"],
      ["<script>", "provider_error"]
    ] as const) {
      provider.refusal = { error, error_description: "<script>alert(1)</script> call 555-0100" }
      const jar = new CookieJar()
      expect(problemOf(yield* visit(origin, jar)), error).toBe(problem)
      expect(jar.of(origin).size).toBe(0)
    }
    // An error for another sign-in does not end this one.
    provider.refusal = undefined
    const jar = new CookieJar()
    const callback = yield* visitProvider(origin, jar)
    const forged = with_(callback, { code: undefined, error: "access_denied", state: other })
    expect(yield* problemAt(jar, forged)).toBe("expired")
    expect((yield* jar.go(callback.href, isPage)).url.href).toBe(`${origin}/`)
  })

  it.live("explains a wrong secret and unusable metadata, and logs which", () => {
    const logs: Array<string> = []
    const logger = Logger.make((entry) => {
      logs.push(`${Logger.formatLogFmt.log(entry)} ${Cause.pretty(entry.cause)}`)
    })
    return Effect.gen(function* () {
      const provider = yield* startProvider()
      const { origin } = yield* startWith(provider)
      const jar = new CookieJar()
      const callback = yield* visitProvider(origin, jar)
      provider.intercept = (request, response) => {
        if (request.url !== "/token") return false
        response.writeHead(401, { "content-type": "application/json" })
        response.end(JSON.stringify({ error: "invalid_client", error_description: "client authentication failed" }))
        return true
      }
      expect(yield* problemAt(jar, callback)).toBe("provider_error")
      provider.intercept = undefined
      const wrong = yield* start({ oidc: provider.settings({ issuer: `${provider.issuer}/another` }) })
      expect(problemOf(yield* visit(wrong.origin, new CookieJar()))).toBe("provider_unavailable")
      const done = yield* visitProvider(origin, new CookieJar())
      const text = logs.join("\n")
      expect(text).toMatch(/\(provider_error\).*invalid_client/)
      expect(text).toContain("The OpenID provider cannot be used")
      for (const secret of [
        callback.searchParams.get("code"),
        callback.searchParams.get("state"),
        "code=",
        "client/+"
      ]) {
        expect(text).not.toContain(secret)
      }
      expect(text).not.toContain(done.searchParams.get("code"))
    }).pipe(Effect.provide(Logger.layer([logger])))
  })

  it.live("never leads to an address outside the web UI", function* () {
    const provider = yield* startProvider()
    const { origin } = yield* startWith(provider)
    const outside = [
      ...["https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example", "/\t/evil.example"],
      ...["http:evil.example", "javascript:alert(1)", "data:text/html,x", "/..//evil.example", "/%2f/evil.example"],
      ...["https://evil.example/webhooks", "http://localhost@evil.example/", "@evil.example", ".evil.example"],
      ...[
        "/api/session",
        "/sign-in?problem=denied",
        signInPath,
        callbackPath,
        "/metrics",
        "/webhooks/a%0d%0aSet-Cookie:x"
      ],
      ...["/webhooks/../../evil", `/runs?${"x".repeat(2_000)}`, "http://localhost/api", "/nowhere"]
    ]
    for (const to of outside) {
      const jar = new CookieJar()
      const asked = yield* visit(origin, jar, `?to=${encodeURIComponent(to)}`)
      expect(asked.url.href, to).toBe(`${origin}/`)
      const changed = new CookieJar()
      const callback = yield* visitProvider(origin, changed)
      change(changed, origin, { to })
      expect((yield* changed.go(callback.href, ({ pathname }) => pathname !== callbackPath)).url.href, to).toBe(
        `${origin}/`
      )
    }
  })

  it.live("is not begun by a page of another site, and does not end the sessions of others", function* () {
    const provider = yield* startProvider()
    const { admin, http, origin } = yield* startWith(provider)
    for (const site of ["cross-site", "same-site"]) {
      const begun = yield* http("GET", `${signInPath}?to=/runs`, { headers: { "sec-fetch-site": site } })
      expect([begun.status, begun.headers.get("location")]).toStrictEqual([303, `${origin}/sign-in?to=%2Fruns`])
      expect(begun.headers.get("set-cookie")).toBeNull()
    }
    const victim = yield* signInAs(provider, origin, { ...ada, id: "victim" })
    const [{ id }] = (yield* admin("GET", "/api/sessions")).json.data
    for (const replaces of [id, Buffer.from(id).toString("base64url"), other]) {
      const jar = new CookieJar()
      const callback = yield* visitProvider(origin, jar)
      change(jar, origin, { replaces })
      yield* jar.go(callback.href, isPage)
    }
    expect((yield* http("GET", "/api/access", { headers: victim.headers })).status).toBe(200)
  })

  it.live("does not keep a session that somebody else has planted", function* () {
    const provider = yield* startProvider()
    const { http, origin } = yield* startWith(provider)
    const planted = yield* signInAs(provider, origin, { ...ada, id: "attacker" })
    const victim = new CookieJar()
    victim.of(origin).set("webhook_trigger_session", planted.jar.of(origin).get("webhook_trigger_session")!)
    const { headers } = yield* signInAs(provider, origin, ada, victim)
    expect(headers.cookie).not.toBe(planted.headers.cookie)
    expect((yield* http("GET", "/api/access", { headers })).json.person.id).toBe("ada-1")
    expect((yield* http("GET", "/api/access", { headers: planted.headers })).status).toBe(401)
  })
})
