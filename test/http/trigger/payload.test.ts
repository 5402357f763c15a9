/** A webhook that takes whole requests: what its template reaches of them, and what is kept. */

import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { shared } from "../../support/Shared.ts"
import { pointers, refusal } from "../Client.ts"
import { start } from "../Server.ts"

const formType = { "content-type": "application/x-www-form-urlencoded" }
const textType = { "content-type": "text/plain; charset=utf-8" }

const atOneServer = shared(start())

/** A webhook that takes whole requests; `prompt` is what its team gets of one, `refused` why it gets nothing. */
const startWith = (template: string, more: object = {}) =>
  Effect.gen(function* () {
    const server = yield* atOneServer
    const hook = yield* server.webhook(yield* server.team("ops"), template, { input: "payload", ...more })
    const post = (raw: string | Uint8Array, headers = {}, query = "") =>
      server.http("POST", `${hook.path}${query}`, { raw, headers })
    const send = (raw: string | Uint8Array, headers = {}, query = "") =>
      Effect.map(post(raw, headers, `?wait=true${query}`), (answer) => {
        expect(answer.status, answer.text).toBe(200)
        return answer
      })
    const prompt = (...args: Parameters<typeof send>) =>
      Effect.map(send(...args), ({ json }) => json.response.slice("echo: ".length) as string)
    const edit = (body: object) => server.admin("PATCH", `/api/webhooks/${hook.id}`, { body })
    const run = (run_id: string) => Effect.map(server.admin("GET", `/api/runs/${run_id}`), ({ json }) => json)
    return { ...server, hook, post, send, prompt, edit, run }
  })

const github = {
  action: "opened",
  pull_request: { title: "Fix {{it}}", body: null, labels: [{ name: "bug" }, { name: "p1" }] },
  repository: { full_name: "a/b", "custom properties": { "app/tier": "one" } }
}

describe("a webhook that takes the whole request", () => {
  it.live("reaches its payload, headers and query by path", function* () {
    const { prompt, send, run } = yield* startWith(
      '{{headers.x-github-event}} {{payload.action}}: {{payload.pull_request.title}} [{{payload.pull_request.labels.1.name}}] {{payload.repository."custom properties"."app/tier"}} {{query.env}} {{query.tag}}'
    )
    const headers = { "content-type": "application/json", "x-github-event": "pull_request", "x-other": "y" }
    const query = "&env=live%20one&tag=a&tag=b&unused=z"
    expect(yield* prompt(JSON.stringify(github), headers, query)).toBe(
      'pull_request opened: Fix {{it}} [p1] one live one ["a","b"]'
    )
    const { json } = yield* send(JSON.stringify(github), headers, query)
    expect((yield* run(json.run_id)).variables).toEqual({
      headers: { "x-github-event": "pull_request" },
      payload: {
        action: "opened",
        pull_request: { title: "Fix {{it}}", labels: { 1: { name: "p1" } } },
        repository: { "custom properties": { "app/tier": "one" } }
      },
      query: { env: "live one", tag: ["a", "b"] }
    })
  })

  it.live("names what is missing, and leaves out what is optional", function* () {
    const { prompt, post, edit } = yield* startWith("{{payload.a}} {{payload.b.c}} {{headers.x-y}} {{query.wait}}")
    const missing = yield* post('{"a":1}')
    expect(refusal(missing)).toStrictEqual([422, "missing_variables"])
    expect(pointers(missing)).toStrictEqual(["/payload/b/c", "/headers/x-y", "/query/wait"])
    yield* edit({ prompt_template: "<{{payload.a?}}{{payload.b.c?}}{{payload.d.0?}}{{payload.n?}}{{headers.x-y?}}>" })
    expect(yield* prompt('{"a":1,"n":null,"d":[]}')).toBe("<1>")
  })

  it.live("takes any JSON, forms and text", function* () {
    const { prompt, edit } = yield* startWith("{{payload}}")
    const json = { "content-type": "application/vnd.x+json" }
    for (const body of ['{"a":[1,null]}', "[1,2]", "3", "true", "null", '{"__proto__":{"a":1}}']) {
      expect(yield* prompt(body, json)).toBe(body)
    }
    expect(yield* prompt('"a text"')).toBe("a text")
    expect(yield* prompt("a=1&b=%7B%7Bx%7D%7D+y&c&a=2&__proto__=p&=e", formType)).toBe(
      '{"a":["1","2"],"b":"{{x}} y","c":"","__proto__":"p","":"e"}'
    )
    expect(yield* prompt("Ünïcode,\n{{payload}} & {% for %}", textType)).toBe("Ünïcode,\n{{payload}} & {% for %}")
    expect(yield* prompt("<a>1</a>", { "content-type": "application/xml" })).toBe("<a>1</a>")
    yield* edit({ prompt_template: "<{{payload}}>" })
    expect(yield* prompt("")).toBe("<>")
  })

  it.live("takes a Slack command, and the JSON in a form's field as GitHub and Slack send it", function* () {
    const { prompt, edit } = yield* startWith("{{payload.user_name}} wants {{payload.text}}")
    const command = "token=x&team_domain=example&command=%2Fask&text=what+is+up%3F&user_name=steve"
    expect(yield* prompt(command, formType)).toBe("steve wants what is up?")
    yield* edit({ prompt_template: "{{payload.pull_request.title}}" })
    expect(yield* prompt(`payload=${encodeURIComponent(JSON.stringify(github))}`, formType)).toBe("Fix {{it}}")
    yield* edit({ prompt_template: "{{payload.payload}}" })
    expect(yield* prompt("payload=not+JSON", formType)).toBe("not JSON")
    expect(yield* prompt("payload=1&other=2", formType)).toBe("1")
  })

  it.live("gives no template a header that may hold a secret", function* () {
    const { admin, prompt, edit, hook, team } = yield* startWith("{{headers}}")
    const secret = {
      authorization: "Bearer hunter2",
      cookie: "s=hunter2",
      "proxy-authorization": "hunter2",
      "x-hub-signature-256": "sha256=hunter2",
      "x-gitlab-token": "hunter2",
      "stripe-signature": "hunter2",
      "x-telegram-bot-api-secret-token": "hunter2",
      "x-api-key": "hunter2",
      "x-functions-key": "hunter2",
      "x-goog-access-key-id": "hunter2",
      "x-twilio-sig": "hunter2",
      "pin-code": "hunter2",
      "x-otp": "hunter2",
      "x-passcode": "hunter2"
    }
    const plain = { "x-github-event": "push", "x-author": "me", "x-ping": "1", "x-design": "2", "x-option": "3" }
    const shown = JSON.parse(yield* prompt("{}", { ...secret, ...plain }))
    expect(JSON.stringify(shown)).not.toContain("hunter2")
    expect(shown).toMatchObject(plain)
    for (const name of Object.keys(secret)) {
      const refused = yield* edit({ prompt_template: `{{headers.${name}?}}` })
      expect(refusal(refused)).toStrictEqual([422, "invalid"])
      expect(refused.json.errors).toStrictEqual([
        { pointer: "/prompt_template", detail: `\`headers.${name}\` may hold a secret, which no template gets` }
      ])
    }
    expect((yield* edit({ prompt_template: "{{headers.X-GitHub-Event}}" })).json.errors[0].detail).toContain(
      "lower case"
    )
    // The half that was there before counts too.
    yield* edit({ input: null, prompt_template: "{{headers.cookie}}" })
    expect(refusal(yield* edit({ input: "payload" }))).toStrictEqual([422, "invalid"])
    expect((yield* admin("GET", `/api/webhooks/${hook.id}`)).json).not.toHaveProperty("input")
    const draft = { name: "n", team: yield* team("new"), prompt_template: "{{headers.cookie}}", input: "payload" }
    expect(refusal(yield* admin("POST", "/api/webhooks", { body: draft }))).toStrictEqual([422, "invalid"])
  })

  it.live("has the same limits", function* () {
    const { post, prompt, edit } = yield* startWith("{{payload.a?}}")
    const refusedWith = (status: number, code: string, ...args: Parameters<typeof post>) =>
      Effect.map(post(...args), (answer) => expect(refusal(answer)).toStrictEqual([status, code]))
    yield* refusedWith(415, "unsupported_media_type", "x", { "content-type": "application/octet-stream" })
    yield* refusedWith(415, "unsupported_media_type", "x", { "content-type": "multipart/mixed; boundary=x" })
    yield* refusedWith(415, "unsupported_media_type", "x", { ...textType, "content-encoding": "br" })
    yield* refusedWith(413, "body_too_large", "x".repeat(1024 * 1024 + 1), textType)
    yield* refusedWith(400, "invalid_body", "{")
    yield* refusedWith(400, "invalid_body", "", { "content-type": "application/json" })
    yield* refusedWith(400, "invalid_body", new Uint8Array([0x22, 0xff, 0x22]))
    yield* refusedWith(400, "invalid_body", new Uint8Array([0xff]), textType)
    yield* refusedWith(400, "invalid_body", "a=%ff", formType)
    yield* refusedWith(400, "invalid_body", "a=%", formType)
    yield* refusedWith(400, "invalid_wait", "{}", {}, "?wait=x")
    const deep = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`
    expect(yield* prompt(deep(32))).toBe("")
    yield* refusedWith(400, "invalid_variables", deep(33))
    yield* refusedWith(400, "invalid_variables", deep(400_000))
    const key = { "idempotency-key": "k" }
    yield* refusedWith(400, "invalid_variables", deep(400_000), key)
    const nul = yield* post('{"a":"\\u0000"}')
    expect(refusal(nul)).toStrictEqual([400, "invalid_variables"])
    expect(pointers(nul)).toStrictEqual(["/payload/a"])
    yield* refusedWith(400, "invalid_variables", '{"a":["\\ud800"]}')
    // What the template does not name is neither stored nor sent.
    expect(yield* prompt('{"a":1,"b":"\\u0000"}')).toBe("1")
    yield* edit({ prompt_template: "{{payload.a}}{{payload.a}}" })
    yield* refusedWith(422, "prompt_too_large", JSON.stringify({ a: "x".repeat(200_000) }))
  })

  it.live("is read by what the webhook takes now, from one trigger to the next", function* () {
    const { edit, post } = yield* startWith("{{payload.a?}}{{variables?}}")
    for (let round = 0; round < 5; round++) {
      yield* edit({ input: null })
      expect((yield* post('{"variables":{}}')).status).toBe(202)
      expect((yield* post("text", textType)).status).toBe(415)
      yield* edit({ input: "payload" })
      expect((yield* post("text", textType)).status).toBe(202)
      yield* edit({ input: null })
      expect((yield* post('{"a":1}')).status).toBe(400)
      yield* edit({ input: "payload" })
      expect((yield* post('{"a":1}')).status).toBe(202)
    }
  })

  it.live("gives a repeat of its payload the first run, whatever its other headers are", function* () {
    const { post } = yield* startWith("{{payload.a}} {{headers.x-sent-at}} {{query.env}}")
    const key = { "idempotency-key": "k" }
    const first = yield* post('{"a":{"b":1,"c":2}}', { ...key, "x-sent-at": "1" }, "?env=x")
    expect(first.status).toBe(202)
    const again = yield* post('{ "a": {"c":2, "b":1} }', { ...key, "x-sent-at": "2" }, "?env=x")
    expect(again.json).toStrictEqual(first.json)
    const other = yield* post('{"a":{"b":2}}', { ...key, "x-sent-at": "1" }, "?env=x")
    expect(refusal(other)).toStrictEqual([422, "idempotency_key_reused"])
    const elsewhere = yield* post('{"a":{"b":1,"c":2}}', { ...key, "x-sent-at": "1" }, "?env=y")
    expect(refusal(elsewhere)).toStrictEqual([422, "idempotency_key_reused"])
  })

  it.live("may have a template in Liquid, of which the parts have to fit together", function* () {
    const { admin, edit, hook, post, prompt, run, send } = yield* startWith("{{payload.alerts.0.status}}")
    const lines = "{% for alert in payload.alerts %}- {{ alert.status | upcase }}\n{% endfor %}"
    // Each of both languages refuses the other's template.
    expect(pointers(yield* edit({ prompt_template: lines }))).toStrictEqual(["/prompt_template"])
    expect((yield* edit({ prompt_template: lines, template_language: "liquid" })).status).toBe(200)
    expect(pointers(yield* edit({ template_language: null }))).toStrictEqual(["/prompt_template"])
    expect((yield* admin("GET", `/api/webhooks/${hook.id}`)).json.variables).toStrictEqual(["payload.alerts"])
    const body = JSON.stringify({
      version: "4",
      alerts: ["firing", "resolved", "{{x}}"].map((status) => ({ status }))
    })
    expect(yield* prompt(body)).toBe("- FIRING\n- RESOLVED\n- {{X}}\n")
    const { json } = yield* send(body)
    expect((yield* run(json.run_id)).variables).toEqual({ payload: { alerts: JSON.parse(body).alerts } })
    expect(pointers(yield* post("{}"))).toStrictEqual(["/payload/alerts"])
    const secret = yield* edit({ prompt_template: "{% if headers.authorization %}x{% endif %}" })
    expect(secret.json.errors[0].detail).toContain("may hold a secret")
    const billion = yield* edit({ prompt_template: "a\n {% for i in (1..1000000000) %}{% endfor %}" })
    expect(billion.json.errors).toStrictEqual([
      {
        pointer: "/prompt_template",
        detail: expect.stringMatching(/^line 2, column 2: this needs too much work/)
      }
    ])
    yield* edit({ prompt_template: "{% for i in (1..payload.n) %}{% endfor %}" })
    const refused = yield* post('{"n":1000000000}')
    expect(refusal(refused)).toStrictEqual([422, "template_failed"])
    expect(refused.json.detail).toContain("Line 1, column 1 of the template: this needs too much work")
  })

  it.live("is previewed and tested with a request that an admin has written", function* () {
    const { admin, hook, edit } = yield* startWith("{{headers.x-github-event}} {{payload.a.0}} {{query.env?}}")
    const at = `/api/webhooks/${hook.id}`
    const sample = { payload: { a: ["x"] }, headers: { "x-github-event": "push" }, query: { env: "live" } }
    expect((yield* admin("POST", `${at}/preview`, { body: sample })).json).toStrictEqual({
      prompt: "push x live",
      missing: []
    })
    expect((yield* admin("POST", `${at}/preview`, { body: { payload: null } })).json).toStrictEqual({
      missing: ["headers.x-github-event", "payload.a.0"]
    })
    const wrong = yield* admin("POST", `${at}/preview`, { body: { variables: {} } })
    expect(refusal(wrong)).toStrictEqual([422, "invalid"])
    expect(pointers(wrong)).toStrictEqual(["/payload"])
    const tested = yield* admin("POST", `${at}/runs?wait=true`, { body: sample })
    expect(tested.json.response).toBe("echo: push x live")
    // A test stands alone: nobody waits for the end of a window.
    yield* edit({ coalesce: { key: "payload.a.0", within: 3600 } })
    const alone = yield* admin("POST", `${at}/runs?wait=true`, { body: sample })
    expect(alone.json.response).toBe("echo: push x live")
    yield* edit({ coalesce: null })
    yield* edit({ input: null, prompt_template: "{{a}}" })
    const without = yield* admin("POST", `${at}/preview`, { body: sample })
    expect(pointers(without)).toStrictEqual(["/variables"])
  })
})
