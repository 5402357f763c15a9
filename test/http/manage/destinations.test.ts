import type { ServerResponse } from "node:http"
import { Effect } from "effect"
import { Webhook as StandardWebhook } from "standardwebhooks"
import { describe, expect, it } from "../../support/It.ts"
import { type Answer, type Received, receiver } from "../../support/Receiver.ts"
import { repeatUntil, untilEffect } from "../../support/Until.ts"
import { failing, hello, type Options, start, unusedId } from "../Server.ts"

/** A server, a webhook and a destination of it. */
const withDestination = (url: string, fields: object = {}, leader?: typeof failing, options: Options = {}) =>
  Effect.gen(function* () {
    const server = yield* start(options)
    const hook = yield* server.webhook(yield* server.team("ops", leader))
    const path = `/api/webhooks/${hook.id}`
    const created = yield* server.admin("POST", `${path}/destinations`, { body: { url, ...fields } })
    expect(created.status).toBe(201)
    const deliveries = (query = ""): Effect.Effect<Array<any>> =>
      Effect.map(server.admin("GET", `${path}/deliveries${query}`), ({ json }) => json.data)
    /** The webhook's deliveries, once there are some and all fulfil the condition. */
    const deliveriesThat = (fulfil: (delivery: any) => boolean) =>
      repeatUntil(deliveries(), (all) => all.length > 0 && all.every(fulfil))
    return {
      ...server,
      hook,
      path,
      deliveries,
      deliveriesThat,
      destination: created.json.destination,
      secret: created.json.secret as string,
      destinationPath: `${path}/destinations/${created.json.destination.id}`,
      trigger: server.http("POST", `${hook.path}?wait=true`, { body: hello })
    }
  })

describe("destinations", () => {
  it.live("get a signed event for each end of a run, which the receiver can verify", function* () {
    const { received, url } = yield* receiver(200)
    const { deliveriesThat, destination, hook, secret, trigger } = yield* withDestination(url)
    const { json } = yield* trigger
    const [delivery] = yield* deliveriesThat(({ status }) => status === "delivered")
    expect(delivery).toMatchObject({
      destination_id: destination.id,
      run_id: json.run_id,
      event: "run.succeeded",
      attempts: [{ http_status: 200, answer: "answer 1" }]
    })
    const [{ body, headers }] = received as [Received]
    const event: any = new StandardWebhook(secret).verify(body, headers as Record<string, string>)
    expect(headers["webhook-id"]).toBe(delivery.id)
    expect(event).toMatchObject({
      type: "run.succeeded",
      timestamp: delivery.created_at,
      data: { run_id: json.run_id, webhook: { id: hook.id, name: "a webhook" }, team: "ops", status: "success" }
    })
    expect(body).not.toContain("hello")
    expect(JSON.stringify(destination)).not.toContain(secret)
  })

  it.live("that answer 410 are switched off, say so, and get nothing more until they are switched on", function* () {
    const { received, url } = yield* receiver(410, 200)
    const { admin, deliveries, deliveriesThat, destinationPath, path, trigger } = yield* withDestination(url)
    yield* trigger
    const [failed] = yield* deliveriesThat(({ status }) => status === "failed")
    expect(failed.attempts).toHaveLength(1)
    const isShown = Effect.map(admin("GET", `/api/runs/${failed.run_id}`), ({ json }) => json.delivery_failed)
    expect(yield* isShown).toBe(true)
    const listed = yield* admin("GET", `${path}/runs?limit=1`)
    expect(listed.json.data[0].delivery_failed).toBe(true)
    const off = (yield* admin("GET", destinationPath)).json
    expect(off).toMatchObject({ enabled: false, disabled_reason: "gone" })
    yield* trigger
    expect(yield* deliveries()).toHaveLength(1)
    const refused = yield* admin("POST", `${path}/deliveries/${failed.id}/resend`)
    expect([refused.status, refused.json.errors[0].detail]).toEqual([422, "the destination is switched off"])
    yield* admin("PATCH", destinationPath, { body: { enabled: true } })
    expect((yield* admin("POST", `${path}/deliveries/${failed.id}/resend`)).status).toBe(200)
    const [sent] = yield* deliveriesThat(({ status }) => status === "delivered")
    expect(sent).toMatchObject({ id: failed.id, attempts: [{ http_status: 410 }, { http_status: 200 }] })
    expect(yield* isShown).toBeUndefined()
    expect(received.map(({ headers }) => headers["webhook-id"])).toEqual([failed.id, failed.id])
  })

  it.live("get a new URL only with their headers entered again, so that no edit sends them elsewhere", function* () {
    const [old, other] = [yield* receiver(200), yield* receiver(200)]
    const headers = { Authorization: "Bearer s3cret" }
    const { admin, destinationPath, path } = yield* withDestination(old.url, { headers })
    const alerts = "/api/alerts/destinations"
    const ofAlerts = yield* admin("POST", alerts, { body: { url: old.url, headers } })
    const callback = { kind: "callback", url: "http://127.0.0.1:1/", headers }
    const ofCallbacks = yield* admin("POST", `${path}/destinations`, { body: callback })
    for (const each of [
      destinationPath,
      `${alerts}/${ofAlerts.json.destination.id}`,
      `${path}/destinations/${ofCallbacks.json.destination.id}`
    ]) {
      const moved = yield* admin("PATCH", each, { body: { url: `${other.url}/` } })
      expect(moved.status, each).toBe(422)
      expect(moved.json.errors).toEqual([{ pointer: "/headers", detail: "must be entered again for another URL" }])
    }
    yield* admin("PATCH", destinationPath, { body: { url: old.url, description: "the same URL" } })
    yield* admin("POST", `${destinationPath}/test`)
    expect(old.received.map(({ headers }) => headers.authorization)).toEqual(["Bearer s3cret"])
    const entered = { url: other.url, headers: { Authorization: "Bearer other" } }
    expect((yield* admin("PATCH", destinationPath, { body: entered })).status).toBe(200)
    yield* admin("POST", `${destinationPath}/test`)
    const removed = yield* admin("PATCH", destinationPath, { body: { url: `${other.url}2`, headers: {} } })
    expect([removed.status, removed.json.header_names]).toEqual([200, []])
    yield* admin("POST", `${destinationPath}/test`)
    expect(other.received.map(({ headers }) => headers.authorization)).toEqual(["Bearer other", undefined])
  })

  it.live("choose events, headers and a body: thin, full, or a template", function* () {
    const { received, url } = yield* receiver(200)
    const { admin, deliveriesThat, destinationPath, path, trigger } = yield* withDestination(
      url,
      { events: ["run.failed"], body: "full", headers: { Authorization: "Bearer s3cret" } },
      failing
    )
    yield* admin("POST", `${path}/destinations`, { body: { url, events: ["run.succeeded"] } })
    yield* trigger
    yield* deliveriesThat(({ status }) => status === "delivered")
    expect(received).toHaveLength(1)
    expect(received[0]!.headers.authorization).toBe("Bearer s3cret")
    expect(JSON.parse(received[0]!.body)).toMatchObject({
      type: "run.failed",
      data: { status: "error", variables: { text: "hello" }, error: { code: "agent_error", message: "no disk" } }
    })
    const shown = yield* admin("GET", destinationPath)
    expect(shown.json.header_names).toEqual(["Authorization"])
    expect(shown.text).not.toContain("s3cret")
    const template =
      '{"text": {{ run.error.message | json }}, "of": {{ webhook.name | json }}, "in": "{{ values.text }}"}'
    yield* admin("PATCH", destinationPath, { body: { body: "template", template } })
    yield* trigger
    yield* deliveriesThat(({ status }) => status === "delivered")
    yield* repeatUntil(
      Effect.sync(() => received.length),
      (count) => count === 2
    )
    expect(JSON.parse(received[1]!.body)).toEqual({ text: "no disk", of: "a webhook", in: "hello" })
  })

  it.live("get what their template makes within its limits", function* () {
    const { received, url } = yield* receiver(200)
    const template = "{% for a in values.list %}{% for b in values.list %}{{ values.text }}{% endfor %}{% endfor %}"
    const { admin, hook, http, path } = yield* withDestination(url, { body: "template", template })
    const deliveryOf = (variables: object) =>
      Effect.gen(function* () {
        const { json } = yield* http("POST", `${hook.path}?wait=true`, { body: { variables } })
        const deliveries = admin("GET", `${path}/deliveries?run_id=${json.run_id}`)
        const attempted = yield* repeatUntil(deliveries, ({ json }) => json.data[0]?.attempts.length > 0)
        return attempted.json.data[0]
      })
    const items = (length: number) => Array.from({ length }, () => 0)
    const failed = (text: string) => ({
      status: "failed",
      attempts: [{ error: expect.stringContaining(`the template could not be filled in: ${text}`) }]
    })
    expect(yield* deliveryOf({ list: items(3), text: "ü".repeat(100_000) })).toMatchObject(
      failed("it would have more than 1048576 bytes")
    )
    expect(yield* deliveryOf({ list: items(3_000), text: "" })).toMatchObject(failed("line 1, column"))
    expect(yield* deliveryOf({ list: items(1), text: "small" })).toMatchObject({ status: "delivered" })
    expect(received.map(({ body }) => body)).toEqual(["small"])
  })

  it.live("keep their events while they are paused, and get them once they are resumed", function* () {
    const { received, url } = yield* receiver(200)
    const { admin, deliveries, deliveriesThat, destinationPath, trigger } = yield* withDestination(url)
    const paused = yield* admin("PATCH", destinationPath, { body: { paused: true } })
    expect(paused.json).toMatchObject({ enabled: true, paused: true })
    yield* trigger
    yield* trigger
    expect((yield* deliveries()).map(({ status }) => status)).toEqual(["pending", "pending"])
    // A test is sent all the same.
    yield* admin("POST", `${destinationPath}/test`)
    expect(received.map(({ headers }) => headers["webhook-id"])).toEqual([expect.stringMatching(/^test_/)])
    const resumed = yield* admin("PATCH", destinationPath, { body: { paused: false } })
    expect(resumed.json.paused).toBeUndefined()
    yield* deliveriesThat(({ status }) => status === "delivered")
    expect(received).toHaveLength(3)
  })

  it.live("keep no secret that the receiver's answer repeats", function* () {
    const echo: Answer = (response, { headers, path }) =>
      response.writeHead(404).end(`Cannot POST ${path}\n${JSON.stringify(headers)}`)
    const { port, url } = yield* receiver(echo)
    const { admin, deliveries, path, trigger } = yield* withDestination(url, {
      headers: { authorization: "Bearer s3cret-token", "x-key": "s3cret-key" }
    })
    const secretUrl = `http://127.0.0.1:${port}/services/T0/B0/s3cretPath`
    for (const draft of [
      { kind: "discord", url: secretUrl },
      { kind: "github", url: `http://127.0.0.1:${port}/`, token: "github_s3cret", target: "acme/shop#7" }
    ]) {
      yield* admin("POST", `${path}/destinations`, { body: draft })
    }
    yield* trigger
    const made = yield* repeatUntil(
      deliveries(),
      (all) => all.length === 3 && all.every(({ attempts }) => attempts.length > 0)
    )
    const stored = JSON.stringify(made)
    expect(stored).toContain("Cannot POST redacted")
    expect(stored.match(/redacted/g)!.length).toBeGreaterThanOrEqual(4)
    expect(stored).not.toMatch(/s3cret/i)
  })

  it.live("sign with two secrets while one replaces the other", function* () {
    const { received, url } = yield* receiver(200)
    const { admin, destinationPath, secret } = yield* withDestination(url)
    const rotated = yield* admin("POST", `${destinationPath}/secret?overlap_seconds=3600`)
    expect(rotated.json.secret).not.toBe(secret)
    expect(rotated.json.destination.old_secret_valid_until).toBeDefined()
    yield* admin("POST", `${destinationPath}/test`)
    yield* admin("POST", `${destinationPath}/secret`)
    yield* admin("POST", `${destinationPath}/test`)
    yield* admin("POST", `${destinationPath}/secret?overlap_seconds=0`)
    yield* admin("POST", `${destinationPath}/test`)
    const isVerified = (secret: string, { body, headers }: Received) => {
      try {
        return new StandardWebhook(secret).verify(body, headers as Record<string, string>) !== undefined
      } catch {
        return false
      }
    }
    expect(received.map((one) => [isVerified(secret, one), isVerified(rotated.json.secret, one)])).toEqual([
      [true, true],
      // A day by default.
      [false, true],
      [false, false]
    ])
  })

  it.live("are tested with the body that they will get, of the webhook's last run", function* () {
    const { received, url } = yield* receiver(200)
    const { admin, deliveriesThat, destinationPath, hook, secret, trigger } = yield* withDestination(url)
    const test = () => Effect.map(admin("POST", `${destinationPath}/test`), ({ json }) => json)
    expect(yield* test()).toMatchObject({ http_status: 200, answer: "answer 1" })
    const [{ body, headers }] = received as [Received]
    expect(headers["webhook-id"]).toMatch(/^test_/)
    expect(new StandardWebhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({
      type: "test",
      data: { webhook: { id: hook.id, name: "a webhook" }, status: "success" }
    })
    const { json } = yield* trigger
    yield* deliveriesThat(({ status }) => status === "delivered")
    yield* test()
    expect(JSON.parse(received[2]!.body)).toMatchObject({ type: "test", data: { run_id: json.run_id } })
    const template = "{{ event }} of {{ webhook.name }}: {{ run.response }} to {{ values.text }}"
    yield* admin("PATCH", destinationPath, { body: { body: "template", template } })
    yield* test()
    expect(received[3]!.body).toBe("run.succeeded of a webhook: echo: hello to hello")
    yield* admin("PATCH", destinationPath, { body: { template: "{{ values.nothing }}" } })
    expect(yield* test()).toMatchObject({ error: "the template could not be filled in: no value for values.nothing" })
    expect(received).toHaveLength(4)
  })

  it.live("are refused if their name only has addresses where they must not be", function* () {
    const addresses: Readonly<Record<string, ReadonlyArray<string>>> = {
      "inside.example.com": ["10.0.0.7", "fd00::7"],
      "mixed.example.com": ["10.0.0.7", "1.1.1.1"]
    }
    const resolve = (name: string) =>
      addresses[name] === undefined ? Promise.reject(new Error("ENOTFOUND")) : Promise.resolve(addresses[name])
    const { admin, path } = yield* withDestination("http://127.0.0.1:1/", {}, undefined, { resolve })
    const add = (host: string) => admin("POST", `${path}/destinations`, { body: { url: `https://${host}/` } })
    const refused = yield* add("inside.example.com")
    expect(refused.status).toBe(422)
    expect(refused.json.errors).toEqual([
      {
        pointer: "/url",
        detail: "must have a public address, or one that CALLBACK_ALLOW allows; inside.example.com has 10.0.0.7"
      }
    ])
    expect((yield* add("mixed.example.com")).status).toBe(201)
    expect((yield* add("unknown.example.com")).status).toBe(201)
  })

  it.live("are refused with every fault, and where they must not be", function* () {
    const { admin, destinationPath, hook, path } = yield* withDestination("http://127.0.0.1:1/")
    const faults = (body: object) =>
      Effect.map(admin("POST", `${path}/destinations`, { body }), ({ json, status }) => [
        status,
        ...(json.errors ?? []).map(({ pointer }: any) => pointer)
      ])
    expect(yield* faults({ url: "https://169.254.169.254/latest" })).toEqual([422, "/url"])
    expect(yield* faults({ url: "http://hooks.example.com/" })).toEqual([422, "/url"])
    expect(yield* faults({ url: "nonsense" })).toEqual([422, "/url"])
    expect(yield* faults({ url: "https://a.example.org", events: ["run.failed", "run.failed"] })).toEqual([
      422,
      "/events"
    ])
    expect(yield* faults({ url: "https://a.example.org", events: [], headers: { host: "x" }, more: 1 })).toEqual([
      422,
      "/events/0",
      "/headers",
      "/more"
    ])
    expect(yield* faults({ url: "https://a.example.org", body: "template", template: "{{ a" })).toEqual([
      422,
      "/template"
    ])
    expect(yield* faults({ url: "https://a.example.org", body: "template" })).toEqual([422, "/template"])
    expect((yield* admin("PATCH", destinationPath, { body: { url: "https://10.0.0.1/" } })).status).toBe(422)
    const triggerUrl = `https://hooks.example.com${hook.path}`
    for (const [field, value] of Object.entries({ url: triggerUrl, description: triggerUrl, template: triggerUrl })) {
      const refused = yield* admin("PATCH", destinationPath, { body: { [field]: value } })
      expect(refused.json.errors, field).toMatchObject([
        { pointer: `/${field}`, detail: expect.stringContaining("must not contain a token") }
      ])
      expect(refused.text).not.toContain(hook.token)
      expect(yield* faults({ url: "https://a.example.org", [field]: value })).toEqual([422, `/${field}`])
    }
    expect((yield* admin("GET", `${path}/destinations/${unusedId}`)).status).toBe(404)
    expect((yield* admin("GET", `/api/webhooks/${unusedId}/destinations`)).status).toBe(404)
    expect((yield* admin("GET", `${path}/deliveries?cursor=nonsense`)).status).toBe(400)
  })

  it.live("can be sent all that failed since a time, and are in the audit log", function* () {
    const { url } = yield* receiver(410, 410, 200)
    const { admin, deliveriesThat, destination, destinationPath, trigger } = yield* withDestination(url)
    yield* trigger
    yield* deliveriesThat(({ status }) => status === "failed")
    yield* admin("PATCH", destinationPath, { body: { enabled: true, description: "CI" } })
    const resent = yield* admin("POST", `${destinationPath}/resend?since=2026-01-01T00:00:00Z`)
    expect(resent.json).toEqual({ resent: 1 })
    yield* deliveriesThat(({ attempts, status }) => status === "failed" && attempts.length === 2)
    yield* admin("DELETE", destinationPath)
    const { json } = yield* admin("GET", `/api/audit?object=${destination.id}`)
    expect(json.data.map(({ action }: any) => action)).toEqual([
      "destination.deleted",
      "delivery.resent",
      "destination.edited",
      "destination.created"
    ])
  })

  it.live("that are slow or dead delay no other, and get few requests at a time", function* () {
    let [open, most] = [0, 0]
    const slow = (response: ServerResponse) => {
      most = Math.max(most, ++open)
      response.once("close", () => open--)
    }
    const { port, received } = yield* receiver({ "/fast": 200, "/slow": slow })
    const at = (path: string) => `http://127.0.0.1:${port}${path}`
    const { admin, path, trigger } = yield* withDestination(at("/slow"))
    // Nothing listens there.
    yield* admin("POST", `${path}/destinations`, { body: { url: "http://127.0.0.1:1/" } })
    yield* admin("POST", `${path}/destinations`, { body: { url: at("/fast") } })
    yield* Effect.all(
      Array.from({ length: 50 }, () => trigger),
      { concurrency: 10 }
    )
    const ids = () => received.filter(({ path }) => path === "/fast").map(({ headers }) => headers["webhook-id"])
    yield* untilEffect(
      "all are delivered",
      Effect.sync(() => ids().length >= 50)
    )
    expect([new Set(ids()).size, ids().length]).toEqual([50, 50])
    expect(most).toBeGreaterThan(0)
    expect(most).toBeLessThanOrEqual(5)
  })
})
