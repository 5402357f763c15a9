/** Duplicating a webhook, and the versions of its template. */

import { Effect } from "effect"
import { expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { pointers, refusal } from "../Client.ts"
import { hello, start, unusedId } from "../Server.ts"
import { github, other, secret, sign } from "../trigger/Github.ts"

it.live("a webhook is duplicated with its settings, but for the fields given, and a token of its own", function* () {
  const { admin, http, team, webhook } = yield* start()
  yield* team("other")
  const settings = { timeout_seconds: 60, rate: "9/min", allow_from: ["127.0.0.1"], enabled: false }
  const { id, path } = yield* webhook(yield* team("ops"), "{{text}}", { ...settings, name: "deploy" })
  const duplicate = (body: object) => admin("POST", `/api/webhooks/${id}/duplicate`, { body })
  const same = yield* duplicate({})
  expect(same.status).toBe(201)
  expect(same.json.webhook).toMatchObject({ ...settings, name: "deploy (copy)", team: "ops", variables: ["text"] })
  expect(same.json.webhook.id).not.toBe(id)

  const changes = { name: "another", team: "other", timeout_seconds: null, enabled: true }
  const other = yield* duplicate(changes)
  expect(other.json.webhook).toMatchObject({
    name: "another",
    team: "other",
    enabled: true,
    rate: "9/min",
    version: 1
  })
  expect(other.json.webhook).not.toHaveProperty("timeout_seconds")
  expect((yield* http("POST", `/webhook/trigger/${other.json.token}?wait=true`, { body: hello })).status).toBe(200)
  expect((yield* http("POST", path, { body: hello })).status).toBe(404)

  yield* admin("PATCH", `/api/webhooks/${id}`, { body: { name: `${"x".repeat(247)}\u{1f600}yyy` } })
  expect((yield* duplicate({})).json.webhook.name).toBe(`${"x".repeat(247)} (copy)`)
  const wrong = yield* duplicate({ name: "", team: "none", token: "x" })
  expect([refusal(wrong), pointers(wrong).toSorted()]).toStrictEqual([
    [422, "invalid"],
    ["/name", "/team", "/token"]
  ])
  expect(refusal(yield* admin("POST", `/api/webhooks/${unusedId}/duplicate`, { body: {} }))).toStrictEqual([
    404,
    "not_found"
  ])
  const [event] = (yield* admin("GET", `/api/audit?object=${other.json.webhook.id}`)).json.data
  expect(event).toMatchObject({ action: "webhook.created", after: { name: "another", rate: "9/min" } })
})

it.live(
  "a duplicate asks its callers for the same signature, unless it is to ask for none or for another",
  function* () {
    const { admin, http, team, webhook } = yield* start()
    const { id } = yield* webhook(yield* team("ops"), "{{text}}", github)
    const duplicate = (body: object) =>
      Effect.map(admin("POST", `/api/webhooks/${id}/duplicate`, { body }), ({ json }) => json)
    const post = (token: string, key?: string) => {
      const raw = JSON.stringify(hello)
      const headers = key === undefined ? { "content-type": "application/json" } : sign(raw, key)
      return Effect.map(http("POST", `/webhook/trigger/${token}`, { raw, headers }), ({ status }) => status)
    }
    const same = (yield* duplicate({})).token
    expect([yield* post(same), yield* post(same, secret)]).toStrictEqual([401, 202])
    const changed = (yield* duplicate({ secret: other })).token
    expect([yield* post(changed, secret), yield* post(changed, other)]).toStrictEqual([401, 202])
    expect(yield* post((yield* duplicate({ verification: null })).token)).toBe(202)
  }
)

it.live("a template's versions are listed, shown and restored, and a run names the one it was made from", function* () {
  const { admin, http, team, webhook } = yield* start()
  const { id, path } = yield* webhook(yield* team("ops"), "Say {{text}}")
  const at = `/api/webhooks/${id}`
  const runOf = Effect.map(http("POST", `${path}?wait=true`, { body: hello }), ({ json }) => `/api/runs/${json.run_id}`)
  const first = yield* runOf
  yield* admin("PATCH", at, { body: { name: "renamed" } })
  yield* admin("PATCH", at, { body: { prompt_template: "Shout {{text}} {{mark}}" } })
  const versions = yield* admin("GET", `${at}/templates`)
  const usual = { template_language: "simple", input: "variables" }
  const by = { ...usual, actor: "admin_key", client_address: "127.0.0.1", at: expect.any(String) }
  expect(versions.json).toStrictEqual({
    data: [
      { version: 3, ...by },
      { version: 1, ...by }
    ]
  })
  const { webhook_version } = (yield* admin("GET", first)).json
  expect(webhook_version).toBe(1)
  expect((yield* admin("GET", `${at}/templates/2`)).json).toStrictEqual({
    ...versions.json.data[1],
    prompt_template: "Say {{text}}"
  })

  const stale = { headers: { "if-match": '"2"' } }
  expect(refusal(yield* admin("POST", `${at}/templates/1/restore`, stale))).toStrictEqual([412, "edit_conflict"])
  const restored = yield* admin("POST", `${at}/templates/1/restore`, { headers: { "if-match": '"3"' } })
  expect([restored.status, restored.headers.get("etag")]).toStrictEqual([200, '"4"'])
  expect(restored.json).toMatchObject({ prompt_template: "Say {{text}}", variables: ["text"], name: "renamed" })
  const second = (yield* admin("GET", yield* runOf)).json
  expect([second.webhook_version, second.conversation.prompt]).toStrictEqual([4, "Say hello"])
  expect((yield* admin("GET", `${at}/templates`)).json.data.map(({ version }: any) => version)).toStrictEqual([4, 3, 1])
  const [event] = (yield* admin("GET", `/api/audit?object=${id}`)).json.data
  expect(event).toMatchObject({ action: "webhook.edited", after: { prompt_template: "Say {{text}}" } })
  for (const version of ["0", "5", "x", "1e1", "-1", "99999999999"]) {
    expect(refusal(yield* admin("GET", `${at}/templates/${version}`)), version).toStrictEqual([404, "not_found"])
  }
})

it.live("a version is restored with the language and the input that its template was written for", function* () {
  const { admin, http, team, webhook } = yield* start()
  const { id, path } = yield* webhook(yield* team("ops"), "Say {{text}}")
  const at = `/api/webhooks/${id}`
  const liquid = "{{ payload.text | upcase }}"
  yield* admin("PATCH", at, { body: { prompt_template: liquid, template_language: "liquid", input: "payload" } })
  const answer = (body: object) => Effect.map(http("POST", `${path}?wait=true`, { body }), ({ json }) => json.response)
  expect(yield* answer({ text: "hello" })).toBe("echo: HELLO")
  const restore = (version: number) =>
    Effect.map(admin("POST", `${at}/templates/${version}/restore`), ({ json }) => json)
  expect(yield* restore(1)).toMatchObject({
    ...{ prompt_template: "Say {{text}}", template_language: "simple", input: "variables", variables: ["text"] }
  })
  expect(yield* answer(hello)).toBe("echo: Say hello")
  expect(yield* restore(2)).toMatchObject({
    ...{ prompt_template: liquid, template_language: "liquid", input: "payload", variables: ["payload.text"] }
  })
  expect(yield* answer({ text: "hello" })).toBe("echo: HELLO")
  const { data } = (yield* admin("GET", `${at}/templates`)).json
  expect(data.map(({ version, template_language, input }: any) => [version, template_language, input])).toStrictEqual([
    [4, "liquid", "payload"],
    [3, "simple", "variables"],
    [2, "liquid", "payload"],
    [1, "simple", "variables"]
  ])
})

it.live(
  "a template of combined requests says what it lacks, and a run that stands alone has its own request",
  function* () {
    const { admin, team, webhook } = yield* start()
    const coalesce = { key: "payload.id", within: 60 }
    const all = { ...coalesce, collect: "all" }
    const prompt_template = "{{combined.count}} of {{payload.id}}: {{combined.requests}}"
    const { id } = yield* webhook(yield* team("ops"), prompt_template, { input: "payload", coalesce: all })
    const edit = (body: object) => admin("PATCH", `/api/webhooks/${id}`, { body })
    expect(pointers(yield* edit({ coalesce }))).toStrictEqual(["/prompt_template"])
    expect(pointers(yield* edit({ prompt_template: "{{combined.all}}" }))).toStrictEqual(["/prompt_template"])
    expect((yield* edit({ coalesce: all })).json.variables).toStrictEqual(["payload.id"])
    const sample = { payload: { id: 7, more: { deep: 1.1 } } }
    const prompt = '1 of 7: [{"payload":{"id":7,"more":{"deep":1.1}},"headers":{},"query":{}}]'
    expect((yield* admin("POST", `/api/webhooks/${id}/preview`, { body: sample })).json).toMatchObject({ prompt })
    const draft = { prompt_template, input: "payload", coalesce: all, ...sample }
    const drafted = (yield* admin("POST", "/api/templates/preview", { body: draft })).json
    expect([drafted.variables, drafted.prompt.map(({ text }: any) => text).join("")]).toStrictEqual([
      ["payload.id"],
      prompt
    ])
    const { json: first } = yield* admin("POST", `/api/webhooks/${id}/runs?wait=true`, { body: sample })
    expect(first.response).toContain(prompt)
    const { json: again } = yield* admin("POST", `/api/runs/${first.run_id}/replay?wait=true`, { body: {} })
    expect(again.response).toContain(prompt)
    const unstorable = { payload: { id: 7, deep: "\0" } }
    const refused = yield* admin("POST", `/api/webhooks/${id}/runs`, { body: unstorable })
    expect([refusal(refused), pointers(refused)]).toStrictEqual([[400, "invalid_variables"], ["/payload/deep"]])
  }
)

it.live("a caller cannot say what was combined, nor does the webhook's schema see it", function* () {
  const { admin, http, team, webhook } = yield* start()
  const { id, path } = yield* webhook(yield* team("ops"), "{{combined.count}} {{combined.requests.0.text}} {{text}}", {
    coalesce: { key: "branch", within: 60, collect: "all" },
    schema: { properties: { text: {} }, additionalProperties: { type: "string" } }
  })
  const body = { variables: { text: "x", combined: "9" } }
  const { run_id, response } = (yield* http("POST", `${path}?wait=true`, { body })).json
  expect(response).toBeUndefined()
  const sent = (yield* http("POST", path, { body })).json.run_id
  const run = yield* repeatUntil(admin("GET", `/api/runs/${sent}`), ({ json }) => json.finished_at !== undefined)
  expect([run_id, run.json.variables]).toStrictEqual([
    undefined,
    { text: "x", combined: { count: 1, requests: [{ text: "x" }], dropped: 0 } }
  ])
  expect(run.json.conversation.prompt).toBe("1 x x")
  const { variables } = run.json
  const replayed = yield* admin("POST", `/api/runs/${sent}/replay?wait=true`, { body: { variables } })
  expect([replayed.status, replayed.json.response]).toStrictEqual([200, run.json.conversation.response])
  expect((yield* admin("GET", `/api/webhooks/${id}`)).json.variables).toStrictEqual(["text"])
})
