import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { pointers, refusal, sorted } from "../Client.ts"
import { type Leader, silent, start, unusedId } from "../Server.ts"

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
      expect(token).toMatch(/^whk_[0-9A-Za-z]{49}$/)
      expect(trigger_url).toBe(`${origin}/webhook/trigger/${token}`)
      expect(sorted(Object.keys(webhook))).toStrictEqual(
        sorted([
          ...["id", "name", "team", "prompt_template", "variables", "enabled"],
          ...["version", "token_hint", "created_at", "updated_at"]
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

  it.scopedLive("are edited with If-Match only when nobody has changed them since", () =>
    Effect.gen(function* () {
      const { admin, team } = yield* start()
      yield* team("ops")
      const { webhook, trigger_url } = (yield* admin("POST", "/api/webhooks", { body: draft })).json
      const at = `/api/webhooks/${webhook.id}`
      const tagOf = Effect.map(admin("GET", at), ({ headers }) => headers.get("etag")!)
      const edit = (tag: string, name: string) => admin("PATCH", at, { body: { name }, headers: { "if-match": tag } })
      const first = yield* tagOf
      expect(first).toBe(`"${webhook.version}"`)
      const edited = yield* edit(first, "Second")
      expect([edited.status, edited.json.name]).toStrictEqual([200, "Second"])
      expect(edited.headers.get("etag")).toBe(yield* tagOf)
      const late = yield* edit(first, "Lost")
      expect(refusal(late)).toStrictEqual([412, "edit_conflict"])
      for (const tag of [`W/${yield* tagOf}`, '"x"', "", "7"]) {
        expect(refusal(yield* edit(tag, "Lost")), tag).toStrictEqual([412, "edit_conflict"])
      }
      expect((yield* admin("GET", at)).json.name).toBe("Second")
      // A trigger is no change.
      yield* admin("POST", new URL(trigger_url).pathname, { body: { variables: { app: "a", env: { name: "b" } } } })
      expect((yield* edit(`"0", ${yield* tagOf}`, "Third")).status).toBe(200)
      expect((yield* edit("*", "Fourth")).json.name).toBe("Fourth")
      const stale = yield* admin("DELETE", at, { headers: { "if-match": first } })
      expect(refusal(stale)).toStrictEqual([412, "edit_conflict"])
      expect((yield* admin("GET", at)).status).toBe(200)
      const gone = admin("PATCH", `/api/webhooks/${unusedId}`, { body: {}, headers: { "if-match": first } })
      expect(refusal(yield* gone)).toStrictEqual([404, "not_found"])
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
        ...{ enabled: "yes", id: unusedId, token: "x" }
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
          ["max_queued", 0],
          ["max_queued", 10_000_001],
          ["rate", "60"],
          ["rate", "0/min"],
          ["rate", "1000000/min"],
          ["rate", "60/month"],
          ["rate", 60],
          ["fence", "true"],
          ["accept_if", ""],
          ["accept_if", "a ==="],
          ["accept_if", "none(@)"],
          ["coalesce", { key: "a", within: 0 }],
          ["coalesce", { key: "a b", within: 9 }],
          ["schema", []],
          ["schema", { type: "text" }],
          ["schema", { $ref: "https://example.com/schema.json" }],
          ["allow_from", []],
          ["allow_from", "10.0.0.0/8"],
          ["allow_from", ["10.0.0.0/33"]],
          ["allow_from", ["::1", "localhost"]],
          ["when_team_stopped", "wait"],
          ["queue_for_seconds", 0],
          ["queue_for_seconds", 2_592_001],
          ["enabled", null]
        ]
      ] as const) {
        const answer = yield* create({ ...draft, [field]: value })
        expect([refusal(answer), pointers(answer)], String(value)).toStrictEqual([[422, "invalid"], [`/${field}`]])
        if (field === "rate") expect(answer.json.errors[0].detail).toContain("such as `60/min`")
        if (field === "timeout_seconds") {
          expect(answer.json.errors[0].detail).toBe("must be a whole number of seconds from 1 to 86400")
        }
      }
      for (const more of [
        { name: "x".repeat(255) },
        { timeout_seconds: 86_400 },
        { max_concurrent: 10_000 },
        { rate: "999999/sec" },
        { allow_from: ["::1", "2001:db8::/32", "192.0.2.7", "0.0.0.0/0"] }
      ]) {
        expect((yield* create({ ...draft, ...more })).status).toBe(201)
      }
      expect((yield* create({ ...draft, prompt_template: "x".repeat(65_536) })).status).toBe(201)
    })
  )

  it.scopedLive("are refused with at most 20 faults, each of bounded length, however many there are", () =>
    Effect.gen(function* () {
      const { admin, team } = yield* start()
      yield* team("ops")
      const many = Object.fromEntries(Array.from({ length: 90_000 }, (_, i) => [`f${i}`, 1]))
      for (const body of [many, { ...draft, ["n".repeat(100_000)]: 1 }, { ...draft, name: many }]) {
        const answer = yield* admin("POST", "/api/webhooks", { body })
        expect(refusal(answer)).toStrictEqual([422, "invalid"])
        expect(answer.json.errors.length).toBeLessThanOrEqual(20)
        expect(answer.text.length).toBeLessThan(4_000)
      }
      const own = yield* admin("POST", "/api/webhooks", { body: many })
      expect(pointers(own)).toContain("/prompt_template")
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

  it.scopedLive("have a history of a bounded size, whatever was asked and answered", () =>
    Effect.gen(function* () {
      const answer = "\u0001".repeat(4_000_000)
      const { admin, http, team, webhook } = yield* start()
      const leader: Leader = ({ reply }) => reply({ _tag: "Answered", response: answer })
      const { id, path } = yield* webhook(yield* team("ops", leader))
      const body = { variables: { text: "\u0001".repeat(80_000), more: { deep: ["\u0002".repeat(80_000)] } } }
      const ids: Array<string> = []
      for (let n = 0; n < 3; n++) ids.unshift((yield* http("POST", `${path}?wait=true`, { body })).json.run_id)
      for (const address of [`/api/webhooks/${id}/runs?limit=100`, "/api/teams/ops/runs?limit=100"]) {
        const page = yield* admin("GET", address)
        const runs: Array<any> = page.json.data ?? page.json
        expect(runs.map((run) => run.run_id)).toStrictEqual(ids)
        expect(page.text.length).toBeLessThan(3 * 25_000)
        for (const { run_id, truncated, sizes, conversation, variables, ...rest } of runs) {
          expect(truncated).toBe(true)
          expect(sizes).toStrictEqual({
            variables: JSON.stringify(body.variables).length,
            prompt: 80_000,
            response: 4_000_000
          })
          expect(conversation).toStrictEqual({ prompt: "\u0001".repeat(1_000), response: "\u0001".repeat(1_000) })
          // An escape in JSON has six characters, and one that is cut in two is left out.
          expect(variables).toStrictEqual({ text: "\u0001".repeat(165) })
          const whole = (yield* admin("GET", `/api/runs/${run_id}`)).json
          expect(whole).toStrictEqual({
            ...{ ...rest, run_id, ...body },
            conversation: { prompt: "\u0001".repeat(80_000), response: answer }
          })
        }
      }
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
      for (const from of ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05%2B02:00"]) {
        expect((yield* runs(`?limit=2&from=${from}`)).status, from).toBe(200)
      }
      const whole = yield* admin("GET", `/api/runs/${ids[0]}`)
      const { truncated, sizes, ...listed } = first.json.data[0]
      expect(whole.json).toStrictEqual(listed)
      expect([truncated, sizes]).toStrictEqual([false, { variables: 13, prompt: 2, response: 8 }])
      expect(whole.json.conversation).toMatchObject({ prompt: "24", response: "echo: 24" })
      for (const query of [
        "?limit=0",
        "?limit=101",
        "?limit=1.5",
        "?limit=",
        "?limit=1&limit=2",
        "?limit=1e1",
        "?from=-1",
        "?from=2026",
        "?to=2026-01-02",
        "?from=2026-01-02T03:04:05",
        "?to=2026-02-30T00:00:00Z",
        "?from=2026-01-02T24:00:00Z",
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
      for (const id of [unusedId, "1", "x".repeat(99), "x".repeat(5_000), "%00", "%ZZ"]) {
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
