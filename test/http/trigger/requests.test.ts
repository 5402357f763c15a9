/** What was refused is kept, for whoever manages the webhook. */

import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { refusal } from "../Client.ts"
import { hello, silent, start, startWithWebhook, unusedId } from "../Server.ts"

const requestsOf = (server: Effect.Success<ReturnType<typeof start>>, id: string) =>
  Effect.map(server.admin("GET", `/api/webhooks/${id}/requests`), ({ json }): Array<any> => json.data)

describe("refused requests", () => {
  it.live("are listed with cause, time, place and size, newest first, without their bodies", function* () {
    const server = yield* startWithWebhook
    const { http, hook, post } = server
    const begun = Date.now()
    yield* post(hello)
    const missing = yield* post({ variables: {} })
    yield* http("POST", hook.path, { raw: "{", headers: { "x-forwarded-for": "192.0.2.7" } })
    yield* http("POST", hook.path, { raw: "x".repeat(2_000_000) })
    yield* http("POST", hook.path, { raw: "x", headers: { "content-type": "text/plain" } })
    yield* http("DELETE", hook.path)
    const refused = yield* requestsOf(server, hook.id)
    expect(refused.map(({ code, size, status }) => [status, code, size])).toStrictEqual([
      [415, "unsupported_media_type", 1],
      [413, "body_too_large", 2_000_000],
      [400, "invalid_body", 1],
      [422, "missing_variables", JSON.stringify({ variables: {} }).length]
    ])
    const last = refused.at(-1)
    expect(last).toMatchObject({ webhook_id: hook.id, client_address: "127.0.0.1", repeats: 0 })
    expect(last.detail).toBe(missing.json.detail)
    expect(Date.parse(last.received_at)).toBeGreaterThanOrEqual(begun)
    for (const request of refused) expect(request).not.toHaveProperty("body")
  })

  it.live(
    "are those of a team that is not running of a full queue and from a wrong address too, but no unknown token or broken server",
    function* () {
      const server = yield* start({ settings: { maxConcurrent: 1 } })
      const { admin, faults, http, team, webhook } = server
      const idle = yield* webhook(yield* team("idle", "no leader"))
      yield* http("POST", idle.path, { body: hello })
      const busy = yield* webhook(yield* team("busy", silent), "{{text}}", { max_queued: 1 })
      for (let i = 0; i < 5; i++) yield* http("POST", busy.path, { body: hello })
      yield* admin("PATCH", `/api/webhooks/${busy.id}`, { body: { enabled: false } })
      expect((yield* http("POST", busy.path, { body: hello })).status).toBe(404)
      faults.add("broker")
      expect((yield* http("POST", idle.path, { body: hello })).status).toBe(503)
      faults.clear()
      yield* admin("PATCH", `/api/webhooks/${idle.id}`, { body: { allow_from: ["192.0.2.0/24"] } })
      expect((yield* http("POST", idle.path, { body: hello })).status).toBe(401)
      expect((yield* requestsOf(server, idle.id)).map(({ status }) => status)).toStrictEqual([401, 409])
      const statuses = (yield* requestsOf(server, busy.id)).map(({ status }) => status)
      expect(new Set(statuses)).toStrictEqual(new Set([404, 429]))
    }
  )

  it.live("are those of a disabled webhook too, whose callers see no difference to an unknown token", function* () {
    const server = yield* startWithWebhook
    const { admin, hook, http } = server
    const disabled = { body: { enabled: false, store_requests: "refused" } }
    yield* http("POST", hook.path, { body: hello })
    yield* admin("PATCH", `/api/webhooks/${hook.id}`, disabled)
    const unknown = yield* http("POST", `/webhook/trigger/${"A".repeat(43)}`, { body: hello })
    for (const headers of [{}, { accept: "text/event-stream" }]) {
      const refused = yield* http("POST", hook.path, { body: hello, headers })
      expect([refused.status, refused.json]).toStrictEqual([unknown.status, unknown.json])
    }
    const size = JSON.stringify(hello).length
    const one = {
      status: 404,
      code: "webhook_disabled",
      detail: "It is disabled.",
      client_address: "127.0.0.1",
      size
    }
    const listed = yield* requestsOf(server, hook.id)
    expect(listed).toMatchObject([one, one])
    for (const request of listed) expect(request).not.toHaveProperty("body")
  })

  it.live("have the first 2 KB of their bodies if the webhook keeps them", function* () {
    const server = yield* startWithWebhook
    const { admin, hook, http, post } = server
    yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { store_requests: "refused" } })
    yield* post({ variables: { secret: "of mine" } })
    yield* http("POST", hook.path, { raw: new Uint8Array([0xff, 0x00, 0x7b]) })
    yield* http("POST", hook.path, { raw: "é".repeat(100_000) })
    const bodies = (yield* requestsOf(server, hook.id)).map(({ body }) => body)
    expect(bodies.slice(1)).toStrictEqual(["\uFFFD\uFFFD{", JSON.stringify({ variables: { secret: "of mine" } })])
    expect(bodies[0]).toBe("é".repeat(1024))
    yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { store_requests: null } })
    yield* post({ variables: {} })
    expect((yield* requestsOf(server, hook.id))[0]).not.toHaveProperty("body")
    const wrong = yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { store_requests: "some" } })
    expect(refusal(wrong)).toStrictEqual([422, "invalid"])
  })

  it.live(
    "are shown by themselves with headers, query and 64 KB of their bodies if the webhook keeps them",
    function* () {
      const server = yield* start()
      const { admin, http, team, webhook } = server
      const more = { input: "payload", store_requests: "refused" }
      const hook = yield* webhook(yield* team("ops"), "{{payload.none}}", more)
      const raw = JSON.stringify({ text: "é".repeat(50_000) })
      const secrets = { authorization: "Bearer s3cret", cookie: "a=b", "x-hub-signature-256": "sha256=00" }
      const headers = { "content-type": "application/json", "x-event": "push", ...secrets }
      yield* http("POST", `${hook.path}?env=a&env=b&wait=true`, { raw, headers })
      const [listed] = yield* requestsOf(server, hook.id)
      expect(listed).toMatchObject({ code: "missing_variables", body: `${raw.slice(0, 9)}${"é".repeat(1019)}\uFFFD` })
      expect(listed).not.toHaveProperty("headers")
      const shown = (yield* admin("GET", `/api/webhooks/${hook.id}/requests/${listed.request_id}`)).json
      expect(shown).toMatchObject({ query: { env: ["a", "b"] }, headers: { "x-event": "push" }, size: 100_011 })
      for (const name of Object.keys(secrets)) expect(shown.headers).not.toHaveProperty(name)
      expect(raw.startsWith(shown.body.slice(0, -1))).toBe(true)
      expect(Buffer.byteLength(shown.body.slice(0, -1))).toBeGreaterThan(65_530)

      const other = yield* webhook("ops")
      for (const path of [`${other.id}/requests/${listed.request_id}`, `${hook.id}/requests/none`]) {
        expect(refusal(yield* admin("GET", `/api/webhooks/${path}`))).toStrictEqual([404, "not_found"])
      }
    }
  )

  it.live("are counted and not listed when there are too many, and the newest 100 are kept", function* () {
    const server = yield* startWithWebhook
    const { hook, post } = server
    yield* Effect.replicateEffect(post({ variables: {} }), 300, { concurrency: 20, discard: true })
    const refused = yield* requestsOf(server, hook.id)
    expect(refused.length).toBeLessThanOrEqual(100)
    expect(refused.reduce((sum, { repeats }) => sum + 1 + repeats, 0)).toBeLessThanOrEqual(300)
    expect(refused.some(({ repeats }) => repeats > 0)).toBe(true)
  })

  it.live("do not fail or wait when the database is away, and need the key and a known webhook", function* () {
    const server = yield* startWithWebhook
    const { admin, faults, hook, http, post } = server
    yield* post({ variables: {} })
    faults.add("database")
    expect((yield* admin("GET", `/api/webhooks/${hook.id}/requests`)).status).toBe(503)
    faults.clear()
    expect((yield* post({ variables: {} })).status).toBe(422)
    expect((yield* requestsOf(server, hook.id)).length).toBeGreaterThan(0)
    expect((yield* http("GET", `/api/webhooks/${hook.id}/requests`)).status).toBe(401)
    expect((yield* admin("GET", `/api/webhooks/${unusedId}/requests`)).status).toBe(404)
  })
})

describe("ignored requests", () => {
  const ignoredOf = (admin: Effect.Success<ReturnType<typeof start>>["admin"], id: string) =>
    Effect.map(admin("GET", `/api/webhooks/${id}/requests?ignored=true`), ({ json }) => json)

  it.live("are counted and listed with the part of the filter that does not hold, and no content", function* () {
    const server = yield* start()
    const { admin, http, team, webhook } = server
    const accept_if = "draft == `false` && branch == 'main'"
    const hook = yield* webhook(yield* team("ops"), "{{branch}}", { accept_if, store_requests: "refused" })
    const send = (variables: object) => http("POST", hook.path, { body: { variables } })
    const branch = "s3cret"
    expect((yield* send({ draft: false, branch })).json).toStrictEqual({ status: "ignored" })
    yield* send({ draft: false, branch: "main" })
    yield* send({ draft: false })
    yield* send({ draft: true, branch: "main" })
    const { data, ignored } = yield* ignoredOf(admin, hook.id)
    expect(ignored).toBe(3)
    const expected = { webhook_id: hook.id, status: 200, code: "ignored", client_address: "127.0.0.1", repeats: 0 }
    expect(data).toMatchObject([
      { ...expected, detail: "“draft == `false`” does not hold." },
      { ...expected, detail: "`branch == 'main'` does not hold." },
      { ...expected, detail: "`branch == 'main'` does not hold." }
    ])
    expect(JSON.stringify(data)).not.toContain(branch)
    for (const request of data) expect(request).not.toHaveProperty("body")
    expect(yield* requestsOf(server, hook.id)).toEqual([])
    const { json } = yield* admin("GET", `/api/webhooks/${hook.id}/requests`)
    expect(json.ignored).toBe(3)
  })

  it.live("have the values that the filter reads and their content if the webhook keeps all", function* () {
    const { admin, http, team, webhook } = yield* start()
    const accept_if = "payload.action == 'opened'"
    const more = { input: "payload", accept_if, store_requests: "all" }
    const hook = yield* webhook(yield* team("ops"), "{{payload.action}}", more)
    const headers = { "content-type": "application/json", "x-event": "issue" }
    yield* http("POST", `${hook.path}?a=b`, { raw: '{"action":"closed"}', headers })
    const [listed] = (yield* ignoredOf(admin, hook.id)).data
    expect(listed).toMatchObject({
      detail: "`payload.action == 'opened'` does not hold: `payload.action` is \"closed\".",
      body: '{"action":"closed"}'
    })
    const { json } = yield* admin("GET", `/api/webhooks/${hook.id}/requests/${listed.request_id}`)
    expect(json).toMatchObject({ headers: { "x-event": "issue" }, query: { a: "b" } })
  })

  it.live("are all counted, the newest 20 are kept, and none pushes out refused or accepted ones", function* () {
    const { admin, http, team, webhook } = yield* start()
    const more = { accept_if: "branch == 'main'", store_requests: "all" }
    const hook = yield* webhook(yield* team("ops"), "{{branch}} {{needed}}", more)
    const send = (variables: object) => http("POST", hook.path, { body: { variables } })
    yield* send({ branch: "main", needed: "yes" })
    yield* send({ branch: "main" })
    for (let i = 0; i < 10; i++) {
      yield* Effect.replicateEffect(send({ branch: "other" }), 30, { concurrency: 10, discard: true })
      yield* ignoredOf(admin, hook.id)
    }
    const { data, ignored } = (yield* admin("GET", `/api/webhooks/${hook.id}/requests?accepted=true`)).json
    expect(ignored).toBe(300)
    const codes: Array<string> = data.map(({ code }: { readonly code: string }) => code)
    expect(codes.filter((code) => code === "ignored")).toHaveLength(20)
    expect(codes.slice(20)).toStrictEqual(["missing_variables", "accepted"])
    expect(data.some(({ repeats }: { readonly repeats: number }) => repeats > 0)).toBe(true)
  })
})

describe("accepted requests", () => {
  it.live(
    "are kept apart from the refused ones if the webhook keeps all, with their runs and what the filter ignores",
    function* () {
      const server = yield* start()
      const { admin, http, team, webhook } = server
      const proof = { verification: { preset: "header", header: "x-proof" }, secret: "s3cret" }
      const hook = yield* webhook(yield* team("ops"), "{{payload.text}}", {
        ...{ input: "payload", accept_if: "payload.text != 'no'", store_requests: "refused", ...proof }
      })
      const headers = { "content-type": "application/json", "x-proof": "s3cret", "x-event": "push" }
      const send = (body: object, query = "") =>
        Effect.map(http("POST", hook.path + query, { raw: JSON.stringify(body), headers }), ({ json }) => json.run_id)
      const received = Effect.map(
        admin("GET", `/api/webhooks/${hook.id}/requests?accepted=true`),
        ({ json }): Array<any> => json.data
      )
      yield* send({ text: "one" })
      expect(yield* received).toEqual([])

      yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { store_requests: "all" } })
      const accepted = yield* send({ text: "two" }, "?env=live")
      const waited = yield* send({ text: "three" }, "?wait=true")
      yield* send({ text: "no" })
      yield* send({})
      expect((yield* received).map(({ code, run_id, status }) => [status, code, run_id])).toStrictEqual([
        [422, "missing_variables", undefined],
        [200, "ignored", undefined],
        [200, "accepted", waited],
        [202, "accepted", accepted]
      ])
      expect((yield* requestsOf(server, hook.id)).map(({ code }) => code)).toStrictEqual(["missing_variables"])
      const { request_id } = (yield* received).at(-1)
      const { json } = yield* admin("GET", `/api/webhooks/${hook.id}/requests/${request_id}`)
      expect(json).toMatchObject({ body: '{"text":"two"}', query: { env: "live" }, headers: { "x-event": "push" } })
      // Whatever its name is.
      expect(JSON.stringify(json)).not.toContain("s3cret")

      for (let i = 0; i < 9; i++) yield* send({ text: `more ${i}` })
      const kept = (yield* received).filter(({ code }) => code === "accepted")
      expect(kept.length).toBeLessThanOrEqual(20)
      for (let i = 0; i < 5; i++) {
        yield* Effect.replicateEffect(send({ text: "many" }), 6, { discard: true })
        expect((yield* received).filter(({ code }) => code === "accepted").length).toBeLessThanOrEqual(20)
      }
      expect((yield* requestsOf(server, hook.id)).map(({ code }) => code)).toStrictEqual(["missing_variables"])
    }
  )
})
