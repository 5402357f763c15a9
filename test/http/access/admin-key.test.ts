import { Duration, Effect, type Queue, Stream } from "effect"
import { burst, KeyAttempts, refillInterval } from "../../../src/http/access/KeyAttempts.ts"
import { type Change, ChangeFeed, subscribe } from "../../../src/repo/ChangeFeed.ts"
import { describe, expect, it } from "../../support/It.ts"
import { type call, refusal } from "../Client.ts"
import { adminKey, start } from "../Server.ts"

type Http = ReturnType<typeof call>

const signIn = (http: Http, key: unknown, headers = {}) => http("POST", "/api/session", { body: { key }, headers })
const bearer = (http: Http, key: string, headers = {}) =>
  http("GET", "/api/webhooks", { headers: { authorization: `Bearer ${key}`, ...headers } })

const from = (address: string) => ({ "x-forwarded-for": address })
const viewerHere = "203.0.113.8"

/** Waits for so many attempts from the addresses, which no other test uses: what a stopped server published may come late. */
const triedFrom = (changes: Queue.Dequeue<Change>, addresses: ReadonlyArray<string>, count: number) =>
  Stream.fromQueue(changes).pipe(
    Stream.filter((change) => change._tag === "KeyTried" && addresses.includes(change.attempt.split(",")[2] ?? "")),
    Stream.take(count),
    Stream.runDrain
  )

const wrong = [401, "unauthorized"]
const limited = [429, "too_many_attempts"]

const outcome = ({ status }: { readonly status: number }) => status
const count = (all: ReadonlyArray<number>, wanted: number) => all.filter((each) => each === wanted).length

describe("wrong admin keys from one address", () => {
  it.live(
    "are looked at ten at a time, however many come at once, for signing in and for programs together",
    function* () {
      const { http } = yield* start()
      const guesses = Array.from({ length: 300 }, (_, n) =>
        Effect.map(n % 2 === 0 ? signIn(http, `guess ${n}`) : bearer(http, `guess-${n}`), outcome)
      )
      const [took, statuses] = yield* Effect.timed(Effect.all(guesses, { concurrency: "unbounded" }))
      const lookedAt = count(statuses, 401)
      expect(lookedAt).toBeGreaterThanOrEqual(burst)
      expect(lookedAt).toBeLessThanOrEqual(burst + Math.floor(Duration.toMillis(took) / refillInterval))
      expect(count(statuses, 429)).toBe(300 - lookedAt)
      // So many may have taken long enough for one more.
      yield* Effect.repeat(bearer(http, "a-guess"), { until: ({ status }) => status === 429 })
      // Nothing of a key is looked at any more, not even whether it is right.
      const answer = yield* bearer(http, adminKey)
      expect(refusal(answer)).toStrictEqual(limited)
      expect(answer.headers.get("retry-after")).toBe("10")
      expect(refusal(yield* signIn(http, adminKey))).toStrictEqual(limited)
    }
  )

  it.live("are not counted when they are no keys at all", function* () {
    const { http } = yield* start()
    for (let n = 0; n < 2 * burst; n++) {
      expect(refusal(yield* signIn(http, 1))).toStrictEqual([422, "invalid"])
      expect(refusal(yield* http("GET", "/api/webhooks"))).toStrictEqual(wrong)
    }
    expect(refusal(yield* signIn(http, "a guess"))).toStrictEqual(wrong)
  })

  it.live("never make the right one refused from where it was right before", function* () {
    const { http } = yield* start()
    expect((yield* bearer(http, adminKey)).status).toBe(200)
    for (let n = 0; n < burst; n++) expect(refusal(yield* bearer(http, `guess-${n}`))).toStrictEqual(wrong)
    expect(refusal(yield* bearer(http, "a-guess"))).toStrictEqual(limited)
    expect(refusal(yield* signIn(http, "a guess"))).toStrictEqual(limited)
    expect((yield* bearer(http, adminKey)).status).toBe(200)
    expect((yield* signIn(http, adminKey)).status).toBe(200)
  })

  it.live(
    "stay limited where only an API key was right, on all replicas; that API key is never locked out",
    function* () {
      const one = yield* start({ trustedProxies: ["127.0.0.1"] })
      const two = yield* start({ trustedProxies: ["127.0.0.1"], repo: one.repo })
      const created = yield* one.admin("POST", "/api/keys", { body: { name: "a viewer", role: "viewer" } })
      const viewer: string = created.json.key
      const here = from(viewerHere)
      const changes = yield* Effect.flatMap(Effect.provide(ChangeFeed, one.repo), subscribe)
      expect((yield* bearer(one.http, viewer, here)).status).toBe(200)
      for (let n = 0; n < burst; n++) expect(refusal(yield* bearer(one.http, `guess-${n}`, here))).toStrictEqual(wrong)
      yield* triedFrom(changes, [viewerHere], 1 + burst)
      for (const { http } of [one, two]) {
        expect(refusal(yield* bearer(http, adminKey, here))).toStrictEqual(limited)
        expect(refusal(yield* signIn(http, adminKey, here))).toStrictEqual(limited)
        expect((yield* bearer(http, viewer, here)).status).toBe(200)
      }
    }
  )

  it.live("concern nobody else behind the same proxy", function* () {
    const { http } = yield* start({ trustedProxies: ["127.0.0.1"] })
    for (let n = 0; n < burst; n++) {
      // What the stranger claims for itself changes nothing.
      const headers = from(`10.0.0.${n}, 203.0.113.7`)
      expect(refusal(yield* signIn(http, `guess ${n}`, headers))).toStrictEqual(wrong)
    }
    expect(refusal(yield* signIn(http, adminKey, from("203.0.113.7")))).toStrictEqual(limited)
    expect((yield* signIn(http, adminKey, from("198.51.100.1"))).status).toBe(200)
    // Of IPv6 a whole network of 64 bits counts as one.
    for (let n = 0; n < burst; n++) {
      expect(refusal(yield* bearer(http, `guess-${n}`, from(`2001:db8:1:2::${n}`)))).toStrictEqual(wrong)
    }
    expect(refusal(yield* bearer(http, adminKey, from("2001:db8:1:2:ffff::")))).toStrictEqual(limited)
    expect((yield* bearer(http, adminKey, from("2001:db8:1:3::"))).status).toBe(200)
  })

  it.live("are counted by all replicas together, as right ones are remembered by all", function* () {
    const one = yield* start({ trustedProxies: ["127.0.0.1"] })
    const two = yield* start({ trustedProxies: ["127.0.0.1"], repo: one.repo })
    const [stranger, owner] = ["203.0.113.9", "198.51.100.9"] as const
    const changes = yield* Effect.flatMap(Effect.provide(ChangeFeed, one.repo), subscribe)
    yield* bearer(one.http, adminKey, from(owner))
    for (let n = 0; n < burst; n++) {
      yield* bearer(n % 2 === 0 ? one.http : two.http, `guess-${n}`, from(stranger))
      yield* bearer(one.http, `guess-${n}`, from(owner))
    }
    yield* triedFrom(changes, [stranger, owner], 1 + 2 * burst)
    for (const { http } of [one, two]) {
      expect(refusal(yield* bearer(http, adminKey, from(stranger)))).toStrictEqual(limited)
      expect((yield* bearer(http, adminKey, from(owner))).status).toBe(200)
    }
  })

  it("may be one more after each ten seconds, and ten again after a hundred", () => {
    const attempts = new KeyAttempts()
    const exhaust = (now: number) => {
      let wrong = 0
      for (; attempts.allows("admin", "203.0.113.7", now); wrong++) attempts.addWrong("203.0.113.7", now)
      return wrong
    }
    expect([exhaust(0), exhaust(9_999), exhaust(10_000), exhaust(35_000), exhaust(1_000_000)]).toStrictEqual([
      ...[burst, 0, 1, 2, burst]
    ])
    expect(attempts.allows("admin", "203.0.113.8", 0)).toBe(true)
  })
})
