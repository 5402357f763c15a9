/** `accept_if`: which triggers start a run, and what becomes of the others. */

import { Effect } from "effect"
import fc from "fast-check"
import { filter } from "../../../src/domain/prompt/Filter.ts"
import { reasonOf, textOfReason } from "../../../src/domain/prompt/FilterReason.ts"
import { describe, expect, it } from "../../support/It.ts"
import { refusal } from "../Client.ts"
import { start } from "../Server.ts"

type Admin = Effect.Success<ReturnType<typeof start>>["admin"]

it.live(
  "a trigger for which accept_if does not hold is answered with 200, starts no run, and is counted",
  function* () {
    const { admin, history, http, team, webhook } = yield* start()
    const accept_if = "branch == 'main' && length(labels || `[]`) > `0`"
    const schema = { required: ["commit"] }
    const { id, path } = yield* webhook(yield* team("ops"), "{{commit}}", { accept_if, schema })
    const post = (variables: object, query = "") => http("POST", path + query, { body: { variables } })
    for (const variables of [{}, { branch: "dev", labels: [1] }, { branch: "main", labels: [] }, { branch: "main" }]) {
      const ignored = yield* post(variables, "?wait=true")
      expect([ignored.status, ignored.json]).toStrictEqual([200, { status: "ignored" }])
    }
    // Only what is accepted is checked further.
    expect(refusal(yield* post({ branch: "main", labels: [1] }))).toStrictEqual([422, "schema_mismatch"])
    expect(refusal(yield* post({ branch: "main", labels: 1 }))).toStrictEqual([422, "filter_failed"])
    expect(yield* history(id)).toStrictEqual([])
    const metrics = yield* http("GET", "/metrics")
    expect(metrics.text).toMatch(/webhook_triggers_ignored_total\{team="ops"\} [1-9]/)
    // The same in a preview, which starts nothing.
    const preview = (variables: object) =>
      Effect.map(admin("POST", `/api/webhooks/${id}/preview`, { body: { variables } }), ({ json }) => json)
    expect(yield* preview({ commit: "abc" })).toStrictEqual({
      accepted: false,
      ignored_because: "`branch == 'main'` does not hold: `branch` is missing.",
      prompt: "abc",
      missing: []
    })
    const good = { branch: "main", labels: [1], commit: "abc" }
    expect(yield* preview(good)).toStrictEqual({ accepted: true, prompt: "abc", missing: [] })
    expect((yield* post(good)).status).toBe(202)
    // An edit holds for the very next trigger.
    yield* admin("PATCH", `/api/webhooks/${id}`, { body: { accept_if: "branch == 'dev'" } })
    expect((yield* post(good)).json).toStrictEqual({ status: "ignored" })
    expect((yield* post({ branch: "dev", commit: "abc" })).status).toBe(202)
    expect(yield* history(id)).toHaveLength(2)
  }
)

it.live("accept_if of a webhook that takes payloads is over payload, headers and query", function* () {
  const { history, http, team, webhook } = yield* start()
  const accept_if = `headers."x-github-event" == 'push' && payload.ref == 'refs/heads/main' && query.env == 'live'`
  const { id, path } = yield* webhook(yield* team("ops"), "{{payload.ref}}", { input: "payload", accept_if })
  const post = (event: string, body: object, env: string) =>
    http("POST", `${path}?env=${env}`, { body, headers: { "x-github-event": event } })
  expect((yield* post("ping", { zen: "x" }, "live")).json).toStrictEqual({ status: "ignored" })
  expect((yield* post("push", { ref: "refs/heads/main" }, "test")).json).toStrictEqual({ status: "ignored" })
  expect((yield* post("push", { ref: "refs/heads/main" }, "live")).status).toBe(202)
  expect(yield* history(id)).toHaveLength(1)
})

describe("a filter that cannot be right is refused when it is saved", () => {
  const requests = { input: "payload", verification: { preset: "header", header: "X-Shop-Proof" }, secret: "s" }
  const cases: ReadonlyArray<readonly [accept_if: string, detail: string, settings: object]> = [
    ["payload.status = 'firing'", "a single `=` does not compare", requests],
    ["payload.a == 'x' && payload.b = 'y'", "a single `=` does not compare", requests],
    ["headers.x-github-event == 'push'", '`"x-github-event"`', requests],
    ["headers.\"X-GitHub-Event\" == 'push'", "the names of headers are in lower case", requests],
    ["headers.authorization", "may hold a secret", requests],
    ["headers.\"x-shop-proof\" == 's'", "may hold a secret", requests],
    ['payload.status == "firing"', "'firing'", requests],
    ['contains(["opened", "closed"], payload.action)', "'closed'", requests],
    ["payload.status == firing", "'firing'", requests],
    ["starts_with(payload.ref, refs)", "`refs` is not part of a request", requests],
    ["branch == 'main'", "begin with `payload`, `headers` or `query`", requests],
    ["payload.draft == true", "in backticks", requests],
    ["payload.commits[?draft == false]", "in backticks", requests],
    ["!payload.draft", "`!(payload.draft)`", requests],
    ["branch == main", "'main'", {}],
    ['branch == "main"', "'main'", {}],
    ["draft == true", "in backticks", {}]
  ]

  const create = (admin: Admin, team: string, settings: object, accept_if: string) =>
    admin("POST", "/api/webhooks", { body: { name: "Filter", team, prompt_template: "{{b}}", ...settings, accept_if } })

  it.live("with what to write instead", function* () {
    const { admin, team } = yield* start()
    const ops = yield* team("ops")
    for (const [accept_if, detail, settings] of cases) {
      const refused = yield* create(admin, ops, settings, accept_if)
      expect([refused.status, refused.json.errors], accept_if).toStrictEqual([
        422,
        [{ pointer: "/accept_if", detail: expect.stringContaining(detail) }]
      ])
    }
  })

  it.live("and no other", function* () {
    const { admin, team } = yield* start()
    const ops = yield* team("ops")
    const right: ReadonlyArray<readonly [accept_if: string, settings: object]> = [
      ["payload.additions - payload.deletions > `0` && 'a-b' != payload.\"x-y\"", requests],
      ["let $kind = headers.\"x-kind\" in $kind == 'a = b'", requests],
      ["$.payload.labels[?name == title && @.\"help-wanted\"] | [0].name == 'x'", requests],
      ["{size: length(payload.items)}.size > `3`", {}],
      ["a == b && draft == `true` && contains(text, part)", {}]
    ]
    for (const [accept_if, settings] of right) {
      const { status, text } = yield* create(admin, ops, settings, accept_if)
      expect(status, text).toBe(201)
    }
  })

  it.live("also when the input becomes another", function* () {
    const { admin, team, webhook } = yield* start()
    const { id } = yield* webhook(yield* team("ops"), "{{branch}}", { accept_if: "branch == 'main'" })
    const edit = (body: object) => admin("PATCH", `/api/webhooks/${id}`, { body })
    const refused = yield* edit({ input: "payload", prompt_template: "{{payload.branch}}" })
    expect(refused.json.errors).toMatchObject([{ pointer: "/accept_if" }])
    const both = { input: "payload", prompt_template: "{{payload.branch}}", accept_if: "payload.branch == 'main'" }
    expect((yield* edit(both)).status).toBe(200)
  })
})

describe("the reason why an input is ignored", () => {
  const textOf = (expression: string, input: unknown) => {
    const reason = reasonOf(expression, input)
    return reason && textOfReason(reason, { withValues: true })
  }

  it("is the first part that does not hold, with the values that it reads", () => {
    const accept_if =
      "payload.kind == 'a && b' && contains(['x', 'y'], payload.labels[0].name) && !(payload.\"is-draft\")"
    const payload = { kind: "a && b", labels: [{ name: "x" }], "is-draft": true }
    expect(textOf(accept_if, { payload })).toBe('`!(payload."is-draft")` does not hold: `payload."is-draft"` is true.')
    expect(textOf(accept_if, { payload: { ...payload, labels: ["z"] } })).toContain("`payload.labels` is a list of 1.")
    expect(textOf(accept_if, { payload: { kind: 3 } })).toContain("`payload.kind` is 3.")
    expect(textOf(accept_if, { payload: { ...payload, "is-draft": false } })).toBeUndefined()
  })

  it("is the whole of an expression that is no conjunction", () => {
    for (const expression of ["a && b || c", "(a && b)", "let $x = a in $x && b", "a && b | c", "a && b ? c : d"]) {
      expect(reasonOf(expression, { a: 1 })?.part, expression).toBe(expression)
    }
  })

  it("reads no value that a part in brackets does not read from the input", () => {
    expect(textOf("items[?kind == 'x'].id", { items: [] })).toBe(
      "`items[?kind == 'x'].id` does not hold: `items` is a list of 0."
    )
    expect(textOf("a == `true`", { a: "b".repeat(200) })).toMatch(/^“a == `true`” does not hold: `a` is "b+….$/)
  })
})

describe("an expression", () => {
  it("finds own members only, whatever the input is called", () => {
    for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
      expect(filter(`"${name}"`, {})).toEqual({ accepted: false })
      expect(filter(`"${name}"`, JSON.parse(`{"${name}":"x"}`))).toEqual({ accepted: true })
    }
  })

  it("negates what stands right after the mark, a path in parentheses as a whole", () => {
    for (const draft of [true, false]) {
      expect(filter("!(payload.draft)", { payload: { draft } })).toEqual({ accepted: !draft })
      expect(filter("!payload.draft", { payload: { draft } })).toEqual({ accepted: false })
    }
  })

  it("splits as often as it says, which cannot be negative", () => {
    const split = (n: number) =>
      filter("join('|', split(text, ',', n)) == parts", { text: "a,b,c", n, parts: parts[n] })
    const parts: Record<number, string> = { 0: "a,b,c", 1: "a|b,c", 9: "a|b|c" }
    for (const n of [0, 1, 9]) expect(split(n), String(n)).toEqual({ accepted: true })
    for (const n of [-1, 0.5]) expect(split(n), String(n)).toHaveProperty("failed")
  })

  it("fails before a function makes very much of a number", () => {
    for (const text of ['length(split(pad_left(`"x"`, n, `"y"`), `""`)) > `0`', 'upper(pad_left(`"x"`, n, `"y"`))']) {
      expect(filter(text, { n: 200_000_000 }), text).toHaveProperty("failed")
      expect(filter(text, { n: 3 }), text).toEqual({ accepted: true })
    }
  })

  it("is true, false, or says what fails, for any input", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (input) => {
        for (const expression of ["@", "a.b[0]", "contains(a, 'x')", "keys(@)", "!@"]) {
          const result = filter(expression, input)
          expect(typeof ("failed" in result ? result.failed : result.accepted)).toMatch(/string|boolean/)
        }
      })
    )
  })
})
