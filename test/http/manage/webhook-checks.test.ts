import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { pointers, refusal, sorted } from "../Client.ts"
import { start, unusedId } from "../Server.ts"

describe("webhooks", () => {
  const draft = { name: "Deploy", team: "ops", prompt_template: "Deploy {{app}} to {{env.name}}" }

  it.live("are refused with every fault listed", function* () {
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
        ["schedule", ""],
        ["schedule", "@daily"],
        ["schedule", "0 9 * *"],
        ["schedule", "0 9 * * * * UTC"],
        ["schedule", "60 9 * * *"],
        ["schedule", "0 0 30 2 *"],
        ["schedule", "0 9 * * * Europe/Atlantis"],
        ["fence", "true"],
        ["run_title", ""],
        ["workspace_ref", "{{"],
        ["run_title", "{{"],
        ["run_title", "x".repeat(501)],
        ["accept_if", ""],
        ["accept_if", "a ==="],
        ["accept_if", "none(@)"],
        ["coalesce", { key: "a", within: 0 }],
        ["coalesce", { key: "a b", within: 9 }],
        ["coalesce", { key: "a", within: 9, quiet: 10 }],
        ["coalesce", { key: "a", within: 9, quiet: 0 }],
        ["coalesce", { key: "a", within: 9, collect: "first" }],
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
      { schedule: "0 9 * * mon-fri" },
      { schedule: "*/5 9-17 1,15 * * America/Argentina/Buenos_Aires" },
      { allow_from: ["::1", "2001:db8::/32", "192.0.2.7", "0.0.0.0/0"] }
    ]) {
      expect((yield* create({ ...draft, ...more })).status).toBe(201)
    }
    expect((yield* create({ ...draft, prompt_template: "x".repeat(65_536) })).status).toBe(201)
  })

  it.live("are refused with at most 20 faults, each of bounded length, however many there are", function* () {
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

  it.live("do not change when an edit is refused", function* () {
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

  it.live("are not found under an unknown, malformed or endless id", function* () {
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
})

it.live("a schedule shows its next time, and warns if the template needs more than the schedule gives", function* () {
  const { admin, team } = yield* start()
  yield* team("ops")
  const schedule = "0 9 1 1 * Europe/Berlin"
  const body = { name: "Digest", team: "ops", schedule, prompt_template: "{{scheduled_at}} {{text}}" }
  const { id, next_scheduled_at, warnings } = (yield* admin("POST", "/api/webhooks", { body })).json.webhook
  expect(next_scheduled_at).toMatch(/^\d{4}-01-01T08:00:00.000Z$/)
  expect(Date.parse(next_scheduled_at)).toBeGreaterThan(Date.now())
  expect(warnings).toEqual([{ pointer: "/schedule", detail: expect.stringContaining("`text`") }])
  const edit = (change: object) =>
    Effect.map(admin("PATCH", `/api/webhooks/${id}`, { body: change }), ({ json }) => json)
  expect((yield* edit({ prompt_template: "{{scheduled_at}}" })).warnings).toBeUndefined()
  const payload = { input: "payload", prompt_template: "{{payload.scheduled_at}} {{query.q}}" }
  expect((yield* edit(payload)).warnings).toEqual([
    { pointer: "/schedule", detail: expect.stringContaining("`query.q`") }
  ])
  expect((yield* edit({ template_language: "liquid" })).warnings).toBeUndefined()
  expect(yield* edit({ schedule: null })).not.toHaveProperty("next_scheduled_at")
})
