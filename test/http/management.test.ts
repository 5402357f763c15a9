import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { pointers, refusal, sorted } from "./Client.ts"
import { adminKey, failing, silent, start } from "./Server.ts"

const noId = "01890a5d-ac96-774b-bcce-b302099a8057"

describe("the admin key", () => {
  const endpoints = [
    ["GET", "/api/teams"],
    ["POST", "/api/teams"],
    ["GET", "/api/teams/none"],
    ["DELETE", "/api/teams/none"],
    ["POST", "/api/teams/none/messages?wait=x"],
    ["GET", "/api/webhooks"],
    ["POST", "/api/webhooks"],
    ["GET", `/api/webhooks/${noId}`],
    ["PATCH", "/api/webhooks/malformed"],
    ["DELETE", `/api/webhooks/${noId}`],
    ["POST", `/api/webhooks/${noId}/token`],
    ["POST", `/api/webhooks/${noId}/preview`],
    ["GET", `/api/webhooks/${noId}/runs?limit=x`],
    ["GET", "/api/runs/malformed"]
  ] as const

  it.scopedLive("is required before anything else, with 401 and WWW-Authenticate", () =>
    Effect.gen(function* () {
      const { http, faults } = yield* start()
      faults.add("database")
      const wrong = ["", "Bearer", `Basic ${adminKey}`, adminKey, `Bearer ${adminKey}x`, `Bearer ${adminKey.slice(1)}`]
      for (const [method, path] of endpoints) {
        for (const authorization of wrong) {
          const answer = yield* http(method, path, { headers: { ...(authorization !== "" && { authorization }) } })
          expect(refusal(answer), `${method} ${path} ${authorization}`).toStrictEqual([401, "unauthorized"])
          expect(answer.headers.get("www-authenticate")!).toMatch(/^Bearer /)
        }
      }
    })
  )

  it.scopedLive("is accepted by every endpoint, however its scheme is written", () =>
    Effect.gen(function* () {
      const { http } = yield* start()
      for (const [method, path] of endpoints) {
        const answer = yield* http(method, path, { headers: { authorization: `bearer  ${adminKey}` } })
        expect(answer.status, `${method} ${path}`).not.toBe(401)
        expect(answer.status, `${method} ${path}`).toBeLessThan(500)
      }
    })
  )
})

describe("teams", () => {
  it.scopedLive("are created, listed, shown as running or not, and deleted", () =>
    Effect.gen(function* () {
      const { admin, team } = yield* start()
      expect((yield* admin("GET", "/api/teams")).json).toStrictEqual([])
      const created = yield* admin("POST", "/api/teams", { body: { team: "idle" } })
      expect(created.status).toBe(201)
      expect(sorted(Object.keys(created.json))).toStrictEqual(
        sorted(["team", "running", "consumers", "queued", "created_at"])
      )
      expect(created.json).toMatchObject({ team: "idle", running: false, consumers: 0, queued: 0 })
      expect(created.json.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      yield* team("busy")
      const busy = yield* admin("GET", "/api/teams/busy")
      expect(busy.json).toMatchObject({ running: true, consumers: 1 })
      const all = yield* admin("GET", "/api/teams")
      expect(sorted(all.json.map(({ team }: { team: string }) => team))).toStrictEqual(sorted(["idle", "busy"]))
      const deleted = yield* admin("DELETE", "/api/teams/idle")
      expect([deleted.status, deleted.text]).toStrictEqual([204, ""])
      expect(refusal(yield* admin("GET", "/api/teams/idle"))).toStrictEqual([404, "not_found"])
    })
  )

  it.scopedLive(
    "are refused: 409 when they exist or are in use, 404 when unknown or malformed, 422 when not valid, 400 without JSON",
    () =>
      Effect.gen(function* () {
        const { admin, team, webhook } = yield* start()
        yield* webhook(yield* team("ops"))
        const again = yield* admin("POST", "/api/teams", { body: { team: "ops" } })
        expect(refusal(again)).toStrictEqual([409, "team_exists"])
        expect(refusal(yield* admin("DELETE", "/api/teams/ops"))).toStrictEqual([409, "team_in_use"])
        for (const name of ["none", "No_Slug", "x".repeat(64), "x".repeat(500), "%00"]) {
          for (const method of ["GET", "DELETE"]) {
            expect(refusal(yield* admin(method, `/api/teams/${name}`)), name).toStrictEqual([404, "not_found"])
          }
        }
        for (const name of ["", "Ops", "-a", "a b", "x".repeat(64), 1, null]) {
          const answer = yield* admin("POST", "/api/teams", { body: { team: name } })
          expect([refusal(answer), pointers(answer)], String(name)).toStrictEqual([[422, "invalid"], ["/team"]])
        }
        const unknownFields = yield* admin("POST", "/api/teams", { body: { teem: "a", "x/y": 1 } })
        expect(refusal(unknownFields)).toStrictEqual([422, "invalid"])
        expect(sorted(pointers(unknownFields))).toStrictEqual(sorted(["/team", "/teem", "/x~1y"]))
        expect(refusal(yield* admin("POST", "/api/teams", { raw: "[" }))).toStrictEqual([400, "invalid_body"])
        expect(refusal(yield* admin("POST", "/api/teams", { raw: "[]" }))).toStrictEqual([400, "invalid_body"])
        const text = yield* admin("POST", "/api/teams", { raw: "{}", headers: { "content-type": "text/plain" } })
        expect(refusal(text)).toStrictEqual([415, "unsupported_media_type"])
        const large = yield* admin("POST", "/api/teams", { raw: "x".repeat(1024 * 1024 + 1) })
        expect(refusal(large)).toStrictEqual([413, "body_too_large"])
      })
  )

  it.scopedLive("accept chat messages, with and without waiting for the answer", () =>
    Effect.gen(function* () {
      const { admin, team } = yield* start()
      yield* team("ops")
      const accepted = yield* admin("POST", "/api/teams/ops/messages", { body: { message: "hi" } })
      expect(accepted.status).toBe(202)
      expect(accepted.json).toStrictEqual({ status: "accepted", message_id: accepted.json.message_id })
      const answered = yield* admin("POST", "/api/teams/ops/messages?wait=true", { body: { message: "hello" } })
      expect(answered.status).toBe(200)
      expect(answered.json).toMatchObject({ status: "success", response: "echo: hello" })
      const stored = yield* admin("GET", `/api/runs/${answered.json.message_id}`)
      expect(stored.json).toMatchObject({ source: "chat", team: "ops", status: "success" })
      expect(stored.json).not.toHaveProperty("webhook_id")
    })
  )

  it.scopedLive("refuse a chat message for the same reasons as a trigger", () =>
    Effect.gen(function* () {
      const { admin, team, faults } = yield* start({ settings: { maxQueued: 1 } })
      yield* team("ops")
      yield* team("idle", "no leader")
      const send = (team: string, body: object, query = "") =>
        admin("POST", `/api/teams/${team}/messages${query}`, { body })
      expect(refusal(yield* send("none", { message: "x" }))).toStrictEqual([404, "not_found"])
      expect(refusal(yield* send("No Team", { message: "x" }))).toStrictEqual([404, "not_found"])
      expect(refusal(yield* send("idle", { message: "x" }))).toStrictEqual([409, "team_not_running"])
      for (const body of [{}, { message: "" }, { message: 1 }, { message: "\0" }, { message: "\ud800" }]) {
        const answer = yield* send("ops", body)
        expect([refusal(answer), pointers(answer)]).toStrictEqual([[422, "invalid"], ["/message"]])
      }
      expect(refusal(yield* send("ops", { message: "x".repeat(300_000) }))).toStrictEqual([422, "prompt_too_large"])
      for (const query of ["?wait=1", "?wait=true&wait=true", "?wait="]) {
        expect(refusal(yield* send("ops", { message: "x" }, query)), query).toStrictEqual([400, "invalid_wait"])
      }
      faults.add("broker")
      const unavailable = yield* send("ops", { message: "x" })
      expect(refusal(unavailable)).toStrictEqual([503, "unavailable"])
      expect(unavailable.headers.get("retry-after")!).toMatch(/^\d+$/)
      faults.clear()

      yield* team("failing", failing)
      const failed = yield* send("failing", { message: "x" }, "?wait=true")
      expect(refusal(failed)).toStrictEqual([502, "agent_failed"])
      expect(failed.json.detail).toBe("no disk")
    })
  )
})

describe("webhooks", () => {
  const draft = { name: "Deploy", team: "ops", prompt_template: "Deploy {{app}} to {{env.name}}" }

  it.scopedLive("are created with a token that is shown once and works for the trigger", () =>
    Effect.gen(function* () {
      const { admin, http, team, origin } = yield* start()
      yield* team("ops")
      const created = yield* admin("POST", "/api/webhooks", { body: draft })
      expect(created.status).toBe(201)
      expect(sorted(Object.keys(created.json))).toStrictEqual(sorted(["webhook", "token", "trigger_url"]))
      const { webhook, token, trigger_url } = created.json
      expect(token).toMatch(/^whk_[0-9A-Za-z]{43}$/)
      expect(trigger_url).toBe(`${origin}/webhook/trigger/${token}`)
      expect(sorted(Object.keys(webhook))).toStrictEqual(
        sorted([
          ...["id", "name", "team", "prompt_template", "variables", "enabled"],
          ...["token_hint", "created_at", "updated_at"]
        ])
      )
      expect(webhook).toEqual(expect.objectContaining({ ...draft, variables: ["app", "env.name"], enabled: true }))
      expect(webhook.token_hint).toBe(`…${token.slice(-4)}`)
      const shown = yield* admin("GET", `/api/webhooks/${webhook.id}`)
      const listed = yield* admin("GET", "/api/webhooks")
      expect(shown.json).toStrictEqual(webhook)
      expect(listed.json).toStrictEqual([webhook])
      expect(shown.text + listed.text).not.toContain(token)
      const body = { variables: { app: "api", env: { name: "live" } } }
      const run = yield* http("POST", `/webhook/trigger/${token}?wait=true`, { body })
      expect(run.json.response).toBe("echo: Deploy api to live")
      expect((yield* admin("GET", `/api/webhooks/${webhook.id}`)).json).toHaveProperty("last_triggered_at")
    })
  )

  it.scopedLive("show the public address in the trigger URL when one is set", () =>
    Effect.gen(function* () {
      const { admin, team } = yield* start({ publicUrl: "https://example.com/hooks/" })
      yield* team("ops")
      const { token, trigger_url } = (yield* admin("POST", "/api/webhooks", { body: draft })).json
      expect(trigger_url).toBe(`https://example.com/hooks/webhook/trigger/${token}`)
    })
  )

  it.scopedLive("are refused with every fault listed", () =>
    Effect.gen(function* () {
      const { admin, team } = yield* start()
      yield* team("ops")
      const create = (body: object) => admin("POST", "/api/webhooks", { body })
      const empty = yield* create({})
      expect(refusal(empty)).toStrictEqual([422, "invalid"])
      expect(sorted(pointers(empty))).toStrictEqual(sorted(["/name", "/team", "/prompt_template"]))
      const all = yield* create({
        ...{ name: "", team: "none", prompt_template: "a\n{{b", timeout_seconds: 0, max_concurrent: 1.5 },
        ...{ enabled: "yes", id: noId, token: "x" }
      })
      expect(refusal(all)).toStrictEqual([422, "invalid"])
      expect(sorted(pointers(all))).toStrictEqual(
        sorted([
          ...["/name", "/team", "/prompt_template", "/timeout_seconds", "/max_concurrent"],
          ...["/enabled", "/id", "/token"]
        ])
      )
      const template = all.json.errors.find(({ pointer }: { pointer: string }) => pointer === "/prompt_template")
      expect(template.detail).toMatch(/^line 2, column 1: /)
      for (const [field, value] of [
        ...[
          ["name", "x".repeat(256)],
          ["name", "a\0"],
          ["name", 1]
        ],
        ...[
          ["prompt_template", ""],
          ["prompt_template", "x".repeat(65_537)],
          ["prompt_template", "\ud800"]
        ],
        ...[
          ["prompt_template", "{{a}"],
          ["prompt_template", "a}}"],
          ["team", "No Slug"],
          ["team", null]
        ],
        ...[
          ["timeout_seconds", 86_401],
          ["timeout_seconds", "5"],
          ["timeout_seconds", 1.5]
        ],
        ...[
          ["max_concurrent", 0],
          ["max_concurrent", 10_001],
          ["enabled", null]
        ]
      ] as const) {
        const answer = yield* create({ ...draft, [field]: value })
        expect([refusal(answer), pointers(answer)], String(value)).toStrictEqual([[422, "invalid"], [`/${field}`]])
        if (field === "timeout_seconds") {
          expect(answer.json.errors[0].detail).toBe("must be a whole number of seconds from 1 to 86400")
        }
      }
      for (const more of [{ name: "x".repeat(255) }, { timeout_seconds: 86_400 }, { max_concurrent: 10_000 }]) {
        expect((yield* create({ ...draft, ...more })).status).toBe(201)
      }
      expect((yield* create({ ...draft, prompt_template: "x".repeat(65_536) })).status).toBe(201)
    })
  )

  it.scopedLive("are edited field by field, and the next trigger uses the new values", () =>
    Effect.gen(function* () {
      const { admin, http, team, webhook } = yield* start()
      yield* team("ops")
      yield* team("other")
      const { id, path } = yield* webhook("ops", "{{a}}", { timeout_seconds: 9, max_concurrent: 3 })
      const edit = (body: object) => admin("PATCH", `/api/webhooks/${id}`, { body })
      const changed = yield* edit({ prompt_template: "new {{b}}", team: "other", name: "N" })
      expect(changed.status).toBe(200)
      expect(changed.json).toEqual(
        expect.objectContaining({
          ...{ prompt_template: "new {{b}}", variables: ["b"], team: "other", name: "N" },
          ...{ timeout_seconds: 9, max_concurrent: 3 }
        })
      )
      const run = yield* http("POST", `${path}?wait=true`, { body: { variables: { b: "!" } } })
      expect(run.json.response).toBe("echo: new !")
      const reset = yield* edit({ timeout_seconds: null, max_concurrent: null })
      expect(reset.json).not.toHaveProperty("timeout_seconds")
      expect(reset.json).not.toHaveProperty("max_concurrent")
      expect((yield* edit({ enabled: false })).json).toMatchObject({ enabled: false })
      expect((yield* http("POST", path, { body: { variables: { b: "!" } } })).status).toBe(404)
      expect((yield* edit({ enabled: true })).json).toMatchObject({ enabled: true })
      expect((yield* http("POST", path, { body: { variables: { b: "!" } } })).status).toBe(202)
    })
  )

  it.scopedLive("do not change when an edit is refused", () =>
    Effect.gen(function* () {
      const { admin, team, webhook } = yield* start()
      yield* team("ops")
      const { id } = yield* webhook("ops")
      const before = (yield* admin("GET", `/api/webhooks/${id}`)).json
      const bad = { name: "fine", prompt_template: "{{", team: "none", token_hint: "x", variables: [], enabled: null }
      const answer = yield* admin("PATCH", `/api/webhooks/${id}`, { body: bad })
      expect(refusal(answer)).toStrictEqual([422, "invalid"])
      expect(sorted(pointers(answer))).toStrictEqual(
        sorted(["/prompt_template", "/team", "/token_hint", "/variables", "/enabled"])
      )
      expect((yield* admin("GET", `/api/webhooks/${id}`)).json).toStrictEqual(before)
    })
  )

  it.scopedLive("get a new token, and the old one stops working immediately", () =>
    Effect.gen(function* () {
      const { admin, http, team, webhook } = yield* start()
      yield* team("ops")
      const { id, token, path } = yield* webhook("ops")
      const fresh = yield* admin("POST", `/api/webhooks/${id}/token`)
      expect(fresh.status).toBe(200)
      expect(fresh.json.token).not.toBe(token)
      expect(fresh.json.webhook.id).toBe(id)
      const body = { variables: { text: "x" } }
      expect((yield* http("POST", path, { body })).status).toBe(404)
      expect((yield* http("POST", `/webhook/trigger/${fresh.json.token}`, { body })).status).toBe(202)
    })
  )

  it.scopedLive("are deleted with their runs", () =>
    Effect.gen(function* () {
      const { admin, http, team, webhook } = yield* start()
      yield* team("ops")
      const { id, path } = yield* webhook("ops")
      const { run_id } = (yield* http("POST", path, { body: { variables: { text: "x" } } })).json
      expect((yield* admin("DELETE", `/api/webhooks/${id}`)).status).toBe(204)
      for (const gone of [`/api/webhooks/${id}`, `/api/webhooks/${id}/runs`, `/api/runs/${run_id}`]) {
        expect(refusal(yield* admin("GET", gone)), gone).toStrictEqual([404, "not_found"])
      }
    })
  )

  it.scopedLive("answer callers that wait for one of their runs when they are deleted", () =>
    Effect.gen(function* () {
      const { admin, http, team, webhook, firstRuns } = yield* start()
      const slow = yield* team("slow", silent)
      const { id, path } = yield* webhook(slow)
      const waiting = yield* Effect.fork(http("POST", `${path}?wait=true`, { body: { variables: { text: "x" } } }))
      yield* firstRuns(id)
      yield* admin("DELETE", `/api/webhooks/${id}`)
      expect(refusal(yield* waiting)).toStrictEqual([404, "not_found"])
    })
  )

  it.scopedLive("preview a prompt without running anything", () =>
    Effect.gen(function* () {
      const { admin, team, webhook } = yield* start()
      yield* team("ops")
      const { id } = yield* webhook("ops", "{{a}} {{b}}")
      const preview = (body: object) => admin("POST", `/api/webhooks/${id}/preview`, { body })
      expect((yield* preview({ variables: { a: 1, b: "{{a}}" } })).json).toStrictEqual({
        prompt: "1 {{a}}",
        missing: []
      })
      expect((yield* preview({ variables: {} })).json).toStrictEqual({ missing: ["a", "b"] })
      expect(refusal(yield* preview({}))).toStrictEqual([422, "invalid"])
      expect(refusal(yield* preview({ variables: {}, more: 1 }))).toStrictEqual([422, "invalid"])
      expect(refusal(yield* preview({ variables: { a: "\0" } }))).toStrictEqual([400, "invalid_variables"])
      const large = yield* preview({ variables: { a: "x".repeat(300_000), b: "" } })
      expect(refusal(large)).toStrictEqual([422, "prompt_too_large"])
      expect((yield* admin("GET", `/api/webhooks/${id}/runs`)).json.data).toStrictEqual([])
    })
  )

  it.scopedLive("have a history in pages, newest first", () =>
    Effect.gen(function* () {
      const { admin, http, team, webhook } = yield* start()
      yield* team("ops")
      const { id, path } = yield* webhook("ops")
      const ids: Array<string> = []
      for (let i = 0; i < 25; i++) {
        const { json } = yield* http("POST", `${path}?wait=true`, { body: { variables: { text: `${i}` } } })
        ids.unshift(json.run_id)
      }
      const runs = (query: string) => admin("GET", `/api/webhooks/${id}/runs${query}`)
      const idsOf = (page: { json: any }) => page.json.data.map(({ run_id }: { run_id: string }) => run_id)
      const first = yield* runs("")
      expect(sorted(Object.keys(first.json))).toStrictEqual(sorted(["data", "next_cursor"]))
      const second = yield* runs(`?cursor=${encodeURIComponent(first.json.next_cursor)}`)
      expect([idsOf(first).length, idsOf(second).length, second.json.next_cursor]).toStrictEqual([20, 5, null])
      expect([...idsOf(first), ...idsOf(second)]).toStrictEqual(ids)
      expect(idsOf(yield* runs("?limit=3&status=success"))).toStrictEqual(ids.slice(0, 3))
      expect(idsOf(yield* runs("?status=error"))).toStrictEqual([])
      const whole = yield* admin("GET", `/api/runs/${ids[0]}`)
      expect(whole.json).toStrictEqual(first.json.data[0])
      expect(whole.json.conversation).toMatchObject({ prompt: "24", response: "echo: 24" })
      for (const query of [
        "?limit=0",
        "?limit=101",
        "?limit=1.5",
        "?limit=",
        "?limit=1&limit=2",
        "?status=done",
        "?cursor=x"
      ]) {
        expect(refusal(yield* runs(query)), query).toStrictEqual([400, "invalid_parameter"])
      }
    })
  )

  it.scopedLive("are not found under an unknown, malformed or endless id", () =>
    Effect.gen(function* () {
      const { admin, team, webhook } = yield* start()
      yield* team("ops")
      for (const id of [noId, "1", "x".repeat(99), "x".repeat(5_000), "%00", "%ZZ"]) {
        for (const [method, more] of [
          ...[
            ["GET", ""],
            ["PATCH", ""],
            ["DELETE", ""],
            ["POST", "/token"],
            ["GET", "/runs"]
          ],
          ["POST", "/preview"]
        ] as const) {
          const answer = yield* admin(method, `/api/webhooks/${id}${more}`, {
            ...(method === "PATCH" && { body: {} }),
            ...(more === "/preview" && { body: { variables: {} } })
          })
          expect(refusal(answer), `${method} ${id} ${more}`).toStrictEqual([404, "not_found"])
        }
        expect(refusal(yield* admin("GET", `/api/runs/${id}`)), id).toStrictEqual([404, "not_found"])
      }
      const { id } = yield* webhook("ops")
      expect((yield* admin("GET", `/api/webhooks/${id.toUpperCase()}`)).status).toBe(200)
    })
  )
})

it.scopedLive("management answers 503 while the database is out of reach", () =>
  Effect.gen(function* () {
    const { admin, team, webhook, faults } = yield* start()
    yield* team("ops")
    const { id } = yield* webhook("ops")
    faults.add("database")
    for (const path of ["/api/teams", "/api/webhooks", `/api/webhooks/${id}`, `/api/webhooks/${id}/runs`]) {
      const answer = yield* admin("GET", path)
      expect(refusal(answer)).toStrictEqual([503, "unavailable"])
      expect(answer.headers.get("retry-after")!).toMatch(/^\d+$/)
    }
  })
)

it.scopedLive("an unknown path is a 404 problem, a wrong method a 405 with Allow", () =>
  Effect.gen(function* () {
    const { http, admin } = yield* start()
    for (const path of ["/nothing", "/api", "/api/nothing", "/webhook", "/%ZZ", `/api/runs/${"x".repeat(5_000)}`]) {
      expect(refusal(yield* http("GET", path)), path).toStrictEqual([404, "not_found"])
    }
    for (const [method, path, allow] of [
      ["PUT", "/api/teams", "GET, HEAD, POST"],
      ["POST", "/api/teams/x", "GET, HEAD, DELETE"],
      ["HEAD", "/api/teams/x/messages", "POST"],
      ["OPTIONS", `/api/webhooks/${noId}`, "GET, HEAD, PATCH, DELETE"],
      ["DELETE", `/api/runs/${noId}`, "GET, HEAD"],
      ["POST", "/health/live", "GET, HEAD"]
    ] as const) {
      const answer = yield* admin(method, path)
      expect([answer.status, answer.headers.get("allow")], `${method} ${path}`).toStrictEqual([405, allow])
    }
  })
)
