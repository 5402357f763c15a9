import { Effect } from "effect"
import { Webhook as StandardWebhook } from "standardwebhooks"
import { describe, expect, it } from "../../support/It.ts"
import { type Answer, type Received, receiver } from "../../support/Receiver.ts"
import { repeatUntil, untilEffect } from "../../support/Until.ts"
import { failing, hello, type Leader, start } from "../Server.ts"

/** A server and a webhook that allows callbacks below `/hooks/` of a receiver. */
const withCallbacks = (answer: Answer = 200, leader?: Leader, settings: object = {}) =>
  Effect.gen(function* () {
    const { port, received } = yield* receiver(answer)
    const server = yield* start()
    const hook = yield* server.webhook(yield* server.team("ops", leader), "{{text}}", settings)
    const path = `/api/webhooks/${hook.id}`
    const allowed = `http://127.0.0.1:${port}/hooks/`
    const created = yield* server.admin("POST", `${path}/destinations`, { body: { kind: "callback", url: allowed } })
    expect(created.status, created.text).toBe(201)
    const trigger = (callback: string, more = "") =>
      server.http("POST", `${hook.path}?callback_url=${encodeURIComponent(callback)}${more}`, { body: hello })
    const deliveries = (count: number): Effect.Effect<Array<any>> =>
      Effect.map(
        repeatUntil(
          server.admin("GET", `${path}/deliveries`),
          ({ json }) => json.data.filter((one: any) => one.attempts.length > 0).length >= count
        ),
        ({ json }) => json.data
      )
    return {
      ...{ ...server, hook, path, allowed, received, trigger, deliveries },
      secret: created.json.secret as string,
      destinationPath: `${path}/destinations/${created.json.destination.id}`
    }
  })

describe("callbacks of one run", () => {
  it.live("get a signed event at the URL that the caller named, and the run shows it", function* () {
    const { admin, allowed, deliveries, hook, http, received, secret, trigger } = yield* withCallbacks()
    yield* http("POST", `${hook.path}?wait=true`, { body: hello })
    const { json, status } = yield* trigger(`${allowed}42?job=7`)
    expect(status).toBe(202)
    const [delivery, ...others] = yield* deliveries(1)
    expect(others).toEqual([])
    expect(delivery).toMatchObject({ run_id: json.run_id, event: "run.succeeded", status: "delivered" })
    const [{ body, headers, path }] = received as [Received]
    expect(path).toBe("/hooks/42?job=7")
    const event: any = new StandardWebhook(secret).verify(body, headers as Record<string, string>)
    expect(event.data).toMatchObject({ run_id: json.run_id, status: "success" })
    const run = yield* admin("GET", `/api/runs/${json.run_id}`)
    expect(run.json.callback_url).toBe(`${allowed}42?job=7`)
  })

  it.live("stay with a replay and with retries, as the caller waits for the answer", function* () {
    const retries = { max_retries: 1, backoff_seconds: 1 }
    const { admin, allowed, deliveries, received, trigger } = yield* withCallbacks(200, failing, { retries })
    const { json } = yield* trigger(`${allowed}1`)
    yield* deliveries(2)
    yield* admin("POST", `/api/runs/${json.run_id}/replay`, { body: {} })
    yield* deliveries(3)
    expect(received.slice(0, 3).map(({ path }) => path)).toEqual(["/hooks/1", "/hooks/1", "/hooks/1"])
    const data = received.slice(0, 3).map(({ body }) => JSON.parse(body).data)
    expect(data).toMatchObject([{ run_id: json.run_id }, { retry_of: json.run_id }, { replay_of: json.run_id }])
  })

  it.live("are refused with the reason where the webhook does not allow them", function* () {
    const { admin, allowed, destinationPath, history, hook, http, trigger } = yield* withCallbacks()
    const { origin } = new URL(allowed)
    const wrong = [
      ...[`${origin}/other`, `${allowed}../other`, `${allowed}%2e%2e/other`, `${origin}.example.com/hooks/`],
      ...[`https${allowed.slice(4)}1`, `${origin}:80/hooks/1`, allowed.replace("127.0.0.1", "localhost")]
    ]
    const code = `%${hook.token.charCodeAt(9).toString(16)}`
    const tokens = ["%255f", "%255%66"].map(
      (sign) => `whk${sign}${hook.token.slice(4, 9)}${code}${hook.token.slice(10)}`
    )
    const encoded = tokens.map((token) => `${allowed}?then=/webhook/trigger/${token}`)
    for (const url of [`${allowed}${hook.token}`, ...encoded]) {
      const { json, status } = yield* trigger(url)
      expect({ url, status, detail: json.detail }).toMatchObject({ url, status: 400 })
      expect(json.detail).toContain("must not contain a token")
      expect(json.detail).not.toContain(hook.token)
    }
    for (const url of wrong) {
      const { json, status } = yield* trigger(url)
      expect({ url, status }).toEqual({ url, status: 400 })
      expect(json.detail).toMatch(/callback_url/)
    }
    for (const url of [
      "",
      "/hooks/1",
      `${allowed}#a`,
      allowed.replace("//", "//u:p@"),
      `${allowed}${"a".repeat(2000)}`
    ]) {
      expect((yield* trigger(url)).json.detail).toContain("must be a URL of at most 2,000 characters")
    }
    for (const way of [
      "..%2fother",
      "..%5Cother",
      "a/..;/other",
      ".;/",
      "%2e%2e;/other",
      "..%252fother",
      "%252e%252e/"
    ]) {
      const { json, status } = yield* trigger(`${allowed}${way}`)
      expect({ way, status, detail: json.detail }).toMatchObject({
        ...{ way, status: 400 },
        detail: expect.stringContaining("must have no encoded slash, backslash or dot, and no `..;` in its path")
      })
    }
    expect((yield* trigger(allowed, "&callback_url=x")).json.detail).toContain("may be given only once")
    yield* admin("PATCH", destinationPath, { body: { enabled: false } })
    expect((yield* trigger(allowed)).json.detail).toContain("allows no callbacks")
    expect(yield* history(hook.id)).toEqual([])
    const combined = yield* admin("PATCH", `/api/webhooks/${hook.id}`, {
      body: { coalesce: { key: "text", within: 9 } }
    })
    expect(combined.status).toBe(200)
    expect((yield* trigger(allowed)).json.detail).toContain("coalesce")
    expect((yield* http("POST", hook.path, { body: hello })).status).toBe(202)
  })

  it.live("are not sent once the destination no longer allows them, and one that is gone stops no other", function* () {
    const { admin, allowed, deliveries, destinationPath, path, trigger } = yield* withCallbacks(410)
    yield* trigger(`${allowed}gone`)
    const [gone] = yield* deliveries(1)
    expect(gone).toMatchObject({ status: "failed", attempts: [{ http_status: 410 }] })
    const { json } = yield* admin("GET", destinationPath)
    expect(json).toMatchObject({ enabled: true })
    expect(json.failing_since).toBeUndefined()
    yield* admin("PATCH", destinationPath, { body: { url: allowed.replace("hooks", "others") } })
    yield* admin("POST", `${path}/deliveries/${gone.id}/resend`)
    const [again] = yield* repeatUntil(deliveries(1), ([one]) => one.attempts.length === 2)
    expect(again.attempts[1].error).toBe("the destination no longer allows the run's callback_url")
  })

  it.live("of one caller that fail stop none of the others, and come again as their own answer asks", function* () {
    const busy: Answer = { status: 503, headers: { "retry-after": "7200" } }
    const answer: Answer = (response, { path }) => {
      const { headers, status } = path.endsWith("busy") ? (busy as { status: number; headers: any }) : { status: 200 }
      response.writeHead(status, headers).end()
    }
    const { admin, allowed, deliveries, destinationPath, trigger } = yield* withCallbacks(answer)
    yield* trigger(`${allowed}busy`)
    const [failed] = yield* deliveries(1)
    expect(failed).toMatchObject({ status: "pending", attempts: [{ http_status: 503 }] })
    const pause = Date.parse(failed.next_attempt_at) - Date.parse(failed.attempts[0].at)
    expect(pause).toBeGreaterThanOrEqual(7_200_000)
    const { enabled, failing_since, paused_until } = (yield* admin("GET", destinationPath)).json
    expect({ enabled, failing_since, paused_until }).toEqual({ enabled: true })
    yield* trigger(`${allowed}other`)
    const [other] = yield* deliveries(2)
    expect(other).toMatchObject({ status: "delivered" })
  })

  it.live("of one caller that never answers delay none of another", function* () {
    const answer: Answer = (response, { path }) => {
      if (!path.startsWith("/hooks/slow/")) response.writeHead(200).end()
    }
    const { allowed, received, trigger } = yield* withCallbacks(answer)
    const hanging = () => received.filter(({ path }) => path.startsWith("/hooks/slow/")).length
    yield* Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8], (n) => trigger(`${allowed}slow/${n}`, "&wait=true"))
    yield* untilEffect(
      "some attempts hang",
      Effect.sync(() => hanging() >= 2)
    )
    yield* trigger(`${allowed}other/1`)
    yield* untilEffect(
      "the other one has arrived",
      Effect.sync(() => received.some(({ path }) => path === "/hooks/other/1"))
    )
    // They hold as many places as one caller can have.
    expect(hanging()).toBe(2)
  })

  it.live("make a repeat with another URL another request", function* () {
    const { allowed, hook, http } = yield* withCallbacks()
    const send = (query: string) =>
      http("POST", `${hook.path}${query}`, { body: hello, headers: { "idempotency-key": "k" } })
    const to = (callback: string) => send(`?callback_url=${encodeURIComponent(callback)}`)
    const first = yield* to(`${allowed}1`)
    expect((yield* to(`${allowed}1`)).json.run_id).toBe(first.json.run_id)
    for (const { json, status } of [yield* to(`${allowed}2`), yield* send("")]) {
      expect({ status, code: json.code }).toEqual({ status: 422, code: "idempotency_key_reused" })
    }
  })

  it.live("need their URL in one form, and no alert has one", function* () {
    const { admin, allowed, path } = yield* withCallbacks()
    const { origin } = new URL(allowed)
    const wrong = [origin, `${origin}/a/../hooks/`, `${origin}/#`, `${origin}/a%2f..%2fhooks/`, `${origin}/hooks`]
    for (const url of wrong) {
      const { json, status } = yield* admin("POST", `${path}/destinations`, { body: { kind: "callback", url } })
      expect({ url, status, at: json.errors?.[0].pointer }).toEqual({ url, status: 422, at: "/url" })
    }
    const withQuery = { kind: "callback", url: `${origin}/hooks?job=` }
    expect((yield* admin("POST", `${path}/destinations`, { body: withQuery })).status).toBe(201)
    const ofAlerts = yield* admin("POST", "/api/alerts/destinations", { body: { kind: "callback", url: allowed } })
    expect(ofAlerts.json.errors).toEqual([{ pointer: "/kind", detail: "is not available for alerts" }])
  })
})
