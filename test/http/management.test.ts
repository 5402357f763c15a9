import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { LeaderBus } from "../../src/bus/Bus.ts"
import { TeamName } from "../../src/domain/Team.ts"
import { adminKey, pointers, refusal, start } from "./Server.ts"

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

  it.scopedLive("is asked for before anything else, with 401 and WWW-Authenticate", () =>
    Effect.gen(function* () {
      const { http, faults } = yield* start()
      faults.add("database")
      const wrong = ["", "Bearer", `Basic ${adminKey}`, adminKey, `Bearer ${adminKey}x`, `Bearer ${adminKey.slice(1)}`]
      for (const [method, path] of endpoints) {
        for (const authorization of wrong) {
          const answer = yield* http(method, path, { headers: { ...(authorization !== "" && { authorization }) } })
          assert.deepStrictEqual(refusal(answer), [401, "unauthorized"], `${method} ${path} ${authorization}`)
          assert.match(answer.headers.get("www-authenticate")!, /^Bearer /)
        }
      }
    })
  )

  it.scopedLive("opens every one of them, however its scheme is written", () =>
    Effect.gen(function* () {
      const { http } = yield* start()
      for (const [method, path] of endpoints) {
        const answer = yield* http(method, path, { headers: { authorization: `bearer  ${adminKey}` } })
        assert.notStrictEqual(answer.status, 401, `${method} ${path}`)
        assert.isBelow(answer.status, 500, `${method} ${path}`)
      }
    })
  )
})

describe("teams", () => {
  it.scopedLive("are made, listed, shown with whether they run, and deleted", () =>
    Effect.gen(function* () {
      const { admin, team } = yield* start()
      assert.deepStrictEqual((yield* admin("GET", "/api/teams")).json, [])
      const made = yield* admin("POST", "/api/teams", { body: { team: "idle" } })
      assert.strictEqual(made.status, 201)
      assert.hasAllKeys(made.json, ["team", "running", "consumers", "queued", "created_at"])
      assert.deepInclude(made.json, { team: "idle", running: false, consumers: 0, queued: 0 })
      assert.match(made.json.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      yield* team("busy")
      const busy = yield* admin("GET", "/api/teams/busy")
      assert.deepInclude(busy.json, { running: true, consumers: 1 })
      const all = yield* admin("GET", "/api/teams")
      assert.sameMembers(
        all.json.map(({ team }: { team: string }) => team),
        ["idle", "busy"]
      )
      const deleted = yield* admin("DELETE", "/api/teams/idle")
      assert.deepStrictEqual([deleted.status, deleted.text], [204, ""])
      assert.deepStrictEqual(refusal(yield* admin("GET", "/api/teams/idle")), [404, "not_found"])
    })
  )

  it.scopedLive("are refused: twice 409, in use 409, unknown or malformed 404, faulty 422, no JSON 400", () =>
    Effect.gen(function* () {
      const { admin, team, webhook } = yield* start()
      yield* webhook(yield* team("ops"))
      const again = yield* admin("POST", "/api/teams", { body: { team: "ops" } })
      assert.deepStrictEqual(refusal(again), [409, "team_exists"])
      assert.deepStrictEqual(refusal(yield* admin("DELETE", "/api/teams/ops")), [409, "team_in_use"])
      for (const name of ["none", "No_Slug", "x".repeat(64), "x".repeat(500), "%00"]) {
        for (const method of ["GET", "DELETE"]) {
          assert.deepStrictEqual(refusal(yield* admin(method, `/api/teams/${name}`)), [404, "not_found"], name)
        }
      }
      for (const name of ["", "Ops", "-a", "a b", "x".repeat(64), 1, null]) {
        const answer = yield* admin("POST", "/api/teams", { body: { team: name } })
        assert.deepStrictEqual([refusal(answer), pointers(answer)], [[422, "invalid"], ["/team"]], String(name))
      }
      const odd = yield* admin("POST", "/api/teams", { body: { teem: "a", "x/y": 1 } })
      assert.deepStrictEqual(refusal(odd), [422, "invalid"])
      assert.sameMembers(pointers(odd), ["/team", "/teem", "/x~1y"])
      assert.deepStrictEqual(refusal(yield* admin("POST", "/api/teams", { raw: "[" })), [400, "invalid_body"])
      assert.deepStrictEqual(refusal(yield* admin("POST", "/api/teams", { raw: "[]" })), [400, "invalid_body"])
      const text = yield* admin("POST", "/api/teams", { raw: "{}", headers: { "content-type": "text/plain" } })
      assert.deepStrictEqual(refusal(text), [415, "unsupported_media_type"])
      const large = yield* admin("POST", "/api/teams", { raw: "x".repeat(1024 * 1024 + 1) })
      assert.deepStrictEqual(refusal(large), [413, "body_too_large"])
    })
  )

  it.scopedLive("take chat messages, with and without waiting for the answer", () =>
    Effect.gen(function* () {
      const { admin, team } = yield* start()
      yield* team("ops")
      const accepted = yield* admin("POST", "/api/teams/ops/messages", { body: { message: "hi" } })
      assert.strictEqual(accepted.status, 202)
      assert.deepStrictEqual(accepted.json, { status: "accepted", message_id: accepted.json.message_id })
      const answered = yield* admin("POST", "/api/teams/ops/messages?wait=true", { body: { message: "hello" } })
      assert.strictEqual(answered.status, 200)
      assert.deepInclude(answered.json, { status: "success", response: "echo: hello" })
      const kept = yield* admin("GET", `/api/runs/${answered.json.message_id}`)
      assert.deepInclude(kept.json, { source: "chat", team: "ops", status: "success" })
      assert.notProperty(kept.json, "webhook_id")
    })
  )

  it.scopedLive("refuse a chat message as they refuse a trigger", () =>
    Effect.gen(function* () {
      const { admin, team, context, faults } = yield* start({ settings: { maxQueued: 1 } })
      yield* team("ops")
      yield* team("idle", { running: false })
      const send = (team: string, body: object, query = "") =>
        admin("POST", `/api/teams/${team}/messages${query}`, { body })
      assert.deepStrictEqual(refusal(yield* send("none", { message: "x" })), [404, "not_found"])
      assert.deepStrictEqual(refusal(yield* send("No Team", { message: "x" })), [404, "not_found"])
      assert.deepStrictEqual(refusal(yield* send("idle", { message: "x" })), [409, "team_not_running"])
      for (const body of [{}, { message: "" }, { message: 1 }, { message: "\0" }, { message: "\ud800" }]) {
        const answer = yield* send("ops", body)
        assert.deepStrictEqual([refusal(answer), pointers(answer)], [[422, "invalid"], ["/message"]])
      }
      assert.deepStrictEqual(refusal(yield* send("ops", { message: "x".repeat(300_000) })), [422, "prompt_too_large"])
      for (const query of ["?wait=1", "?wait=true&wait=true", "?wait="]) {
        assert.deepStrictEqual(refusal(yield* send("ops", { message: "x" }, query)), [400, "invalid_wait"], query)
      }
      faults.add("broker")
      const away = yield* send("ops", { message: "x" })
      assert.deepStrictEqual(refusal(away), [503, "unavailable"])
      assert.match(away.headers.get("retry-after")!, /^\d+$/)
      faults.clear()

      const failing = yield* team("failing", { running: false })
      yield* Effect.provide(
        Effect.flatMap(LeaderBus, (bus) =>
          bus.lead(failing, ({ prompt, reply }) => reply({ _tag: "Failed", run_id: prompt.run_id, message: "no disk" }))
        ),
        context
      )
      const failed = yield* send("failing", { message: "x" }, "?wait=true")
      assert.deepStrictEqual(refusal(failed), [502, "agent_failed"])
      assert.strictEqual(failed.json.detail, "no disk")
    })
  )
})

describe("webhooks", () => {
  const draft = { name: "Deploy", team: "ops", prompt_template: "Deploy {{app}} to {{env.name}}" }

  it.scopedLive("are made with a token that is shown once and opens the trigger", () =>
    Effect.gen(function* () {
      const { admin, http, team, origin } = yield* start()
      yield* team("ops")
      const made = yield* admin("POST", "/api/webhooks", { body: draft })
      assert.strictEqual(made.status, 201)
      assert.hasAllKeys(made.json, ["webhook", "token", "trigger_url"])
      const { webhook, token, trigger_url } = made.json
      assert.match(token, /^whk_[0-9A-Za-z]{43}$/)
      assert.strictEqual(trigger_url, `${origin}/webhook/trigger/${token}`)
      assert.hasAllKeys(webhook, [
        ...["id", "name", "team", "prompt_template", "variables", "enabled"],
        ...["token_hint", "created_at", "updated_at"]
      ])
      assert.deepInclude(webhook, { ...draft, variables: ["app", "env.name"], enabled: true })
      assert.strictEqual(webhook.token_hint, `…${token.slice(-4)}`)
      const shown = yield* admin("GET", `/api/webhooks/${webhook.id}`)
      const listed = yield* admin("GET", "/api/webhooks")
      assert.deepStrictEqual(shown.json, webhook)
      assert.deepStrictEqual(listed.json, [webhook])
      assert.notInclude(shown.text + listed.text, token)
      const body = { variables: { app: "api", env: { name: "live" } } }
      const run = yield* http("POST", `/webhook/trigger/${token}?wait=true`, { body })
      assert.strictEqual(run.json.response, "echo: Deploy api to live")
      assert.property((yield* admin("GET", `/api/webhooks/${webhook.id}`)).json, "last_triggered_at")
    })
  )

  it.scopedLive("show the public address in the trigger URL when one is set", () =>
    Effect.gen(function* () {
      const { admin, team } = yield* start({ publicUrl: "https://example.com/hooks/" })
      yield* team("ops")
      const { token, trigger_url } = (yield* admin("POST", "/api/webhooks", { body: draft })).json
      assert.strictEqual(trigger_url, `https://example.com/hooks/webhook/trigger/${token}`)
    })
  )

  it.scopedLive("are refused with every fault listed", () =>
    Effect.gen(function* () {
      const { admin, team } = yield* start()
      yield* team("ops")
      const create = (body: object) => admin("POST", "/api/webhooks", { body })
      const empty = yield* create({})
      assert.deepStrictEqual(refusal(empty), [422, "invalid"])
      assert.sameMembers(pointers(empty), ["/name", "/team", "/prompt_template"])
      const all = yield* create({
        ...{ name: "", team: "none", prompt_template: "a\n{{b", timeout_seconds: 0, max_concurrent: 1.5 },
        ...{ enabled: "yes", id: noId, token: "x" }
      })
      assert.deepStrictEqual(refusal(all), [422, "invalid"])
      assert.sameMembers(pointers(all), [
        ...["/name", "/team", "/prompt_template", "/timeout_seconds", "/max_concurrent"],
        ...["/enabled", "/id", "/token"]
      ])
      const template = all.json.errors.find(({ pointer }: { pointer: string }) => pointer === "/prompt_template")
      assert.match(template.detail, /^line 2, column 1: /)
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
        assert.deepStrictEqual([refusal(answer), pointers(answer)], [[422, "invalid"], [`/${field}`]], String(value))
        if (field === "timeout_seconds") {
          assert.strictEqual(answer.json.errors[0].detail, "must be a whole number of seconds from 1 to 86400")
        }
      }
      for (const more of [{ name: "x".repeat(255) }, { timeout_seconds: 86_400 }, { max_concurrent: 10_000 }]) {
        assert.strictEqual((yield* create({ ...draft, ...more })).status, 201)
      }
      assert.strictEqual((yield* create({ ...draft, prompt_template: "x".repeat(65_536) })).status, 201)
    })
  )

  it.scopedLive("are edited field by field, and it holds for the next trigger", () =>
    Effect.gen(function* () {
      const { admin, http, team, webhook } = yield* start()
      yield* team("ops")
      yield* team("other")
      const { id, path } = yield* webhook("ops", "{{a}}", { timeout_seconds: 9, max_concurrent: 3 })
      const edit = (body: object) => admin("PATCH", `/api/webhooks/${id}`, { body })
      const changed = yield* edit({ prompt_template: "new {{b}}", team: "other", name: "N" })
      assert.strictEqual(changed.status, 200)
      assert.deepInclude(changed.json, {
        ...{ prompt_template: "new {{b}}", variables: ["b"], team: "other", name: "N" },
        ...{ timeout_seconds: 9, max_concurrent: 3 }
      })
      const run = yield* http("POST", `${path}?wait=true`, { body: { variables: { b: "!" } } })
      assert.strictEqual(run.json.response, "echo: new !")
      const reset = yield* edit({ timeout_seconds: null, max_concurrent: null })
      assert.notProperty(reset.json, "timeout_seconds")
      assert.notProperty(reset.json, "max_concurrent")
      assert.deepInclude((yield* edit({ enabled: false })).json, { enabled: false })
      assert.strictEqual((yield* http("POST", path, { body: { variables: { b: "!" } } })).status, 404)
      assert.deepInclude((yield* edit({ enabled: true })).json, { enabled: true })
      assert.strictEqual((yield* http("POST", path, { body: { variables: { b: "!" } } })).status, 202)
    })
  )

  it.scopedLive("keep what they were when an edit is refused", () =>
    Effect.gen(function* () {
      const { admin, team, webhook } = yield* start()
      yield* team("ops")
      const { id } = yield* webhook("ops")
      const before = (yield* admin("GET", `/api/webhooks/${id}`)).json
      const bad = { name: "fine", prompt_template: "{{", team: "none", token_hint: "x", variables: [], enabled: null }
      const answer = yield* admin("PATCH", `/api/webhooks/${id}`, { body: bad })
      assert.deepStrictEqual(refusal(answer), [422, "invalid"])
      assert.sameMembers(pointers(answer), ["/prompt_template", "/team", "/token_hint", "/variables", "/enabled"])
      assert.deepStrictEqual((yield* admin("GET", `/api/webhooks/${id}`)).json, before)
    })
  )

  it.scopedLive("get a new token, and the old one is dead at once", () =>
    Effect.gen(function* () {
      const { admin, http, team, webhook } = yield* start()
      yield* team("ops")
      const { id, token, path } = yield* webhook("ops")
      const fresh = yield* admin("POST", `/api/webhooks/${id}/token`)
      assert.strictEqual(fresh.status, 200)
      assert.notStrictEqual(fresh.json.token, token)
      assert.strictEqual(fresh.json.webhook.id, id)
      const body = { variables: { text: "x" } }
      assert.strictEqual((yield* http("POST", path, { body })).status, 404)
      assert.strictEqual((yield* http("POST", `/webhook/trigger/${fresh.json.token}`, { body })).status, 202)
    })
  )

  it.scopedLive("are deleted with their runs", () =>
    Effect.gen(function* () {
      const { admin, http, team, webhook } = yield* start()
      yield* team("ops")
      const { id, path } = yield* webhook("ops")
      const { run_id } = (yield* http("POST", path, { body: { variables: { text: "x" } } })).json
      assert.strictEqual((yield* admin("DELETE", `/api/webhooks/${id}`)).status, 204)
      for (const gone of [`/api/webhooks/${id}`, `/api/webhooks/${id}/runs`, `/api/runs/${run_id}`]) {
        assert.deepStrictEqual(refusal(yield* admin("GET", gone)), [404, "not_found"], gone)
      }
    })
  )

  it.scopedLive("free who waits for a run of theirs when they are deleted", () =>
    Effect.gen(function* () {
      const { admin, http, team, webhook, context } = yield* start()
      const slow = yield* team("slow", { running: false })
      yield* Effect.provide(
        Effect.flatMap(LeaderBus, (bus) => bus.lead(TeamName.make(slow), () => Effect.never)),
        context
      )
      const { id, path } = yield* webhook(slow)
      const waiting = yield* Effect.fork(http("POST", `${path}?wait=true`, { body: { variables: { text: "x" } } }))
      const history = Effect.map(admin("GET", `/api/webhooks/${id}/runs`), ({ json }) => json.data)
      yield* Effect.repeat(history, { until: (runs) => runs.length > 0 })
      yield* admin("DELETE", `/api/webhooks/${id}`)
      assert.deepStrictEqual(refusal(yield* waiting), [404, "not_found"])
    })
  )

  it.scopedLive("preview a prompt without running anything", () =>
    Effect.gen(function* () {
      const { admin, team, webhook } = yield* start()
      yield* team("ops")
      const { id } = yield* webhook("ops", "{{a}} {{b}}")
      const preview = (body: object) => admin("POST", `/api/webhooks/${id}/preview`, { body })
      assert.deepStrictEqual((yield* preview({ variables: { a: 1, b: "{{a}}" } })).json, {
        prompt: "1 {{a}}",
        missing: []
      })
      assert.deepStrictEqual((yield* preview({ variables: {} })).json, { missing: ["a", "b"] })
      assert.deepStrictEqual(refusal(yield* preview({})), [422, "invalid"])
      assert.deepStrictEqual(refusal(yield* preview({ variables: {}, more: 1 })), [422, "invalid"])
      assert.deepStrictEqual(refusal(yield* preview({ variables: { a: "\0" } })), [400, "invalid_variables"])
      const large = yield* preview({ variables: { a: "x".repeat(300_000), b: "" } })
      assert.deepStrictEqual(refusal(large), [422, "prompt_too_large"])
      assert.isEmpty((yield* admin("GET", `/api/webhooks/${id}/runs`)).json.data)
    })
  )

  it.scopedLive("have a history that is read page by page, newest first", () =>
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
      assert.hasAllKeys(first.json, ["data", "next_cursor"])
      const second = yield* runs(`?cursor=${encodeURIComponent(first.json.next_cursor)}`)
      assert.deepStrictEqual([idsOf(first).length, idsOf(second).length, second.json.next_cursor], [20, 5, null])
      assert.deepStrictEqual([...idsOf(first), ...idsOf(second)], ids)
      assert.deepStrictEqual(idsOf(yield* runs("?limit=3&status=success")), ids.slice(0, 3))
      assert.isEmpty(idsOf(yield* runs("?status=error")))
      const whole = yield* admin("GET", `/api/runs/${ids[0]}`)
      assert.deepStrictEqual(whole.json, first.json.data[0])
      assert.deepInclude(whole.json.conversation, { prompt: "24", response: "echo: 24" })
      for (const query of [
        "?limit=0",
        "?limit=101",
        "?limit=1.5",
        "?limit=",
        "?limit=1&limit=2",
        "?status=done",
        "?cursor=x"
      ]) {
        assert.deepStrictEqual(refusal(yield* runs(query)), [400, "invalid_parameter"], query)
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
          assert.deepStrictEqual(refusal(answer), [404, "not_found"], `${method} ${id} ${more}`)
        }
        assert.deepStrictEqual(refusal(yield* admin("GET", `/api/runs/${id}`)), [404, "not_found"], id)
      }
      const { id } = yield* webhook("ops")
      assert.strictEqual((yield* admin("GET", `/api/webhooks/${id.toUpperCase()}`)).status, 200)
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
      assert.deepStrictEqual(refusal(answer), [503, "unavailable"])
      assert.match(answer.headers.get("retry-after")!, /^\d+$/)
    }
  })
)

it.scopedLive("an unknown path is a 404 problem, a wrong method a 405 with Allow", () =>
  Effect.gen(function* () {
    const { http, admin } = yield* start()
    for (const path of ["/nothing", "/api", "/api/nothing", "/webhook", "/%ZZ", `/api/runs/${"x".repeat(5_000)}`]) {
      assert.deepStrictEqual(refusal(yield* http("GET", path)), [404, "not_found"], path)
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
      assert.deepStrictEqual([answer.status, answer.headers.get("allow")], [405, allow], `${method} ${path}`)
    }
  })
)
