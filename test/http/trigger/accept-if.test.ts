/** `accept_if`: which triggers start a run, and what becomes of the others. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import fc from "fast-check"
import { filter } from "../../../src/domain/prompt/Filter.ts"
import { refusal } from "../Client.ts"
import { start, triggers } from "../Server.ts"

triggers("a trigger for which accept_if does not hold is answered with 200, starts no run, and is counted", () =>
  Effect.gen(function* () {
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
    expect(yield* preview({ commit: "abc" })).toStrictEqual({ accepted: false, prompt: "abc", missing: [] })
    const good = { branch: "main", labels: [1], commit: "abc" }
    expect(yield* preview(good)).toStrictEqual({ accepted: true, prompt: "abc", missing: [] })
    expect((yield* post(good)).status).toBe(202)
    // An edit holds for the very next trigger.
    yield* admin("PATCH", `/api/webhooks/${id}`, { body: { accept_if: "branch == 'dev'" } })
    expect((yield* post(good)).json).toStrictEqual({ status: "ignored" })
    expect((yield* post({ branch: "dev", commit: "abc" })).status).toBe(202)
    expect(yield* history(id)).toHaveLength(2)
  })
)

triggers("accept_if of a webhook that takes payloads is over payload, headers and query", () =>
  Effect.gen(function* () {
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
)

it.scopedLive("an expression that does too much refuses the trigger, and for a moment only others that do much", () =>
  Effect.gen(function* () {
    const { http, team, webhook } = yield* start()
    const pairs = "length(list[].length($.list[?@ > `0`]))"
    const { path } = yield* webhook(yield* team("ops"), "{{list}}", { accept_if: `${pairs} > \`0\`` })
    const post = (length: number) =>
      http("POST", path, { body: { variables: { list: Array.from({ length }, (_, n) => length - n) } } })
    const refused = yield* post(20_000)
    expect(refusal(refused)).toStrictEqual([422, "filter_failed"])
    expect(refused.json.detail).toContain("needs too much work")
    const again = yield* post(20_000)
    expect(refusal(again)).toStrictEqual([503, "unavailable"])
    expect(again.headers.get("retry-after")).toMatch(/^\d+$/)
    expect((yield* post(0)).json).toStrictEqual({ status: "ignored" })
  })
)

it.scopedLive.each([
  'length(split(pad_left(`"x"`, n, `"y"`), `""`)) > `0`',
  'upper(pad_left(`"x"`, n, `"y"`))',
  "contains(text, late)"
])("an input cannot stop the process by what a function makes of it: %s", (accept_if) =>
  Effect.gen(function* () {
    const { http, team, webhook } = yield* start()
    const { path } = yield* webhook(yield* team("ops"), "{{n}}", { accept_if })
    const big = { n: 200_000_000, text: "a".repeat(700_000), late: `ab${"a".repeat(100_000)}` }
    const refused = yield* http("POST", path, { body: { variables: big } })
    if (accept_if.startsWith("contains")) expect(refused.json).toStrictEqual({ status: "ignored" })
    else expect(refusal(refused)).toStrictEqual([422, "filter_failed"])
    const small = { n: 3, text: "xab", late: "ab" }
    expect((yield* http("POST", path, { body: { variables: small } })).status).toBe(202)
  })
)

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
