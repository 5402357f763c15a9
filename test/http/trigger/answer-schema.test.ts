/** Answers with a shape: `answer_schema`. */

import { Deferred, Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { receiver } from "../../support/Receiver.ts"
import { repeatUntil } from "../../support/Until.ts"
import { adminKey, hello, start } from "../Server.ts"

const schema = {
  type: "object",
  properties: { verdict: { enum: ["approve", "reject"] }, score: { type: "number" } },
  required: ["verdict"]
}

/** A leader that answers with the prompt, and a webhook whose answers have the schema. */
const asked = (answer_schema: object = schema, fields: object = {}) =>
  Effect.gen(function* () {
    const server = yield* start()
    const team = yield* server.team("review", ({ prompt: { prompt }, reply }) =>
      prompt.startsWith("ask ")
        ? reply({ _tag: "Answered", response: prompt.slice(4), report: { asks: [] } })
        : reply({ _tag: "Answered", response: prompt, report: { session_id: "s-1" } })
    )
    const hook = yield* server.webhook(team, "{{text}}", { answer_schema, ...fields })
    const ask = (text: string) => server.http("POST", `${hook.path}?wait=true`, { body: { variables: { text } } })
    const run = (run_id: string) => Effect.map(server.admin("GET", `/api/runs/${run_id}`), ({ json }) => json)
    return { ...server, hook, ask, run }
  })

describe("an answer with a schema", () => {
  it.live(
    "is a value, beside its text, for the caller and in the run, with its numbers as they were written",
    function* () {
      const { admin, ask, hook, http, run } = yield* asked()
      const texts = [
        '{"verdict":"approve","score":1.10}',
        '```json\n{"verdict":"approve","score":1.10}\n```',
        'I read it.\n\n```\n{"verdict":"approve","score":1.10}\n```\nThat is all.'
      ]
      for (const text of texts) {
        const answered = yield* ask(text)
        expect(answered.status).toBe(200)
        expect(answered.json).toMatchObject({ status: "success", response: text, session_id: "s-1" })
        expect(answered.text).toContain('"answer":{"verdict":"approve","score":1.10}')
        const { run_id } = answered.json
        expect(yield* run(run_id)).toMatchObject({
          status: "success",
          conversation: { response: text },
          answer: { verdict: "approve", score: 1.1 },
          agent: { answer_schema: schema }
        })
        const own = yield* http("GET", `${hook.path}/runs/${run_id}`)
        expect(own.text).toContain('"answer":{"verdict":"approve","score":1.10}')
      }
      for (const format of ["", "?format=ai-sdk"]) {
        const headers = { accept: "text/event-stream" }
        const body = { variables: { text: texts[0] } }
        const { text } = yield* http("POST", `${hook.path}${format}`, { headers, body })
        expect(text).toContain('"answer":{"verdict":"approve","score":1.10}')
      }
      const [listed] = (yield* admin("GET", "/api/runs")).json.data
      expect(listed).not.toHaveProperty("answer")
      expect(listed).not.toHaveProperty("agent")
      expect((yield* admin("GET", "/api/runs/export.jsonl")).text).toContain(
        '"answer":{"verdict":"approve","score":1.10}'
      )
    }
  )

  it.live("that does not match ends the run as `answer_invalid`, with its faults, its text and no retry", function* () {
    const { ask, http, hook, run } = yield* asked(schema, { retries: { max_retries: 2, backoff_seconds: 1 } })
    const cases = [
      ["Looks good to me.", "- the answer: is not JSON"],
      ['{"verdict":"maybe"}', "- /verdict: "],
      ['{"score":1}', "- the answer: "],
      [`${"[".repeat(40)}${"]".repeat(40)}`, "must not be nested deeper than 32"],
      ['{"verdict":"approve","note":"\\u0000"}', "/note: "]
    ] as const
    for (const [text, fault] of cases) {
      const { json, status } = yield* ask(text)
      expect([status, json.status, json.error.code]).toEqual([502, "error", "answer_invalid"])
      expect(json.error.message).toContain(fault)
      expect(json.session_id).toBe("s-1")
      const ended = yield* run(json.run_id)
      expect(ended.conversation.response).toBe(text)
      expect(ended).not.toHaveProperty("answer")
    }
    const { json } = yield* http("POST", hook.path, { body: { variables: { text: "no" } } })
    const failed = yield* repeatUntil(run(json.run_id), ({ status }) => status === "error")
    expect(failed).not.toHaveProperty("retry_at")
  })

  it.live(
    "is not checked if it is a question, or if the webhook had no schema when the run was accepted",
    function* () {
      const { admin, ask, hook, http } = yield* asked()
      const question = yield* ask("ask Which branch?")
      expect(question.json).toMatchObject({ status: "success", response: "Which branch?", asks: [] })
      expect(question.json).not.toHaveProperty("answer")
      yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { answer_schema: null } })
      const plain = yield* http("POST", `${hook.path}?wait=true`, { body: hello })
      expect(plain.json.status).toBe("success")
      expect(plain.json).not.toHaveProperty("answer")
    }
  )

  it.live("is checked, and no question, if the agent may not ask", function* () {
    const { ask, run } = yield* asked(schema, { agent_asks: "refuse" })
    const question = yield* ask("ask Which branch?")
    expect(question.json.error.code).toBe("answer_invalid")
    const answered = yield* ask('ask {"verdict":"approve"}')
    expect(answered.json).toMatchObject({ status: "success", answer: { verdict: "approve" } })
    for (const { json } of [question, answered]) expect(yield* run(json.run_id)).not.toHaveProperty("asks")
  })

  it.live("is checked by the schema that the webhook had when the run was accepted, and once", function* () {
    const server = yield* start()
    const edited = yield* Deferred.make<void>()
    const team = yield* server.team("review", ({ prompt: { agent }, reply }) =>
      Effect.gen(function* () {
        yield* Deferred.await(edited)
        const response = JSON.stringify(agent?.answer_schema === undefined ? "none" : { verdict: "reject" })
        yield* reply({ _tag: "Answered", response })
        yield* reply({ _tag: "Answered", response: "again" })
      })
    )
    const hook = yield* server.webhook(team, "{{text}}", { answer_schema: schema })
    const { json } = yield* server.http("POST", hook.path, { body: hello })
    yield* server.admin("PATCH", `/api/webhooks/${hook.id}`, { body: { answer_schema: { type: "number" } } })
    yield* Deferred.succeed(edited, undefined)
    const run = yield* repeatUntil(
      server.admin("GET", `/api/runs/${json.run_id}`),
      ({ json }) => json.finished_at !== undefined
    )
    expect(run.json).toMatchObject({ status: "success", answer: { verdict: "reject" } })
    expect(run.json.sent_at).toBeDefined()
  })

  it.live("may be any JSON, also null, and one that takes too long to check is invalid", function* () {
    const anything = yield* asked({})
    expect((yield* anything.ask("null")).json).toMatchObject({ status: "success", answer: null })
    const { ask } = yield* asked({ type: "string", pattern: "^(a+)+$" })
    expect((yield* ask('"aaaa"')).json).toMatchObject({ status: "success", answer: "aaaa" })
    const slow = yield* ask(JSON.stringify(`${"a".repeat(60)}!`))
    expect(slow.json.error).toMatchObject({ code: "answer_invalid", message: expect.stringContaining("too long") })
  })

  it.live(
    "is in events, templates and chains of destinations, and is the structured content of a tool's result",
    function* () {
      const { admin, ask, hook, http, webhook } = yield* asked(schema, { mcp_tool: "review" })
      const { received, url } = yield* receiver(200)
      const next = yield* webhook("review", "Next: {{verdict}} {{whole.score}}")
      const add = (fields: object) => admin("POST", `/api/webhooks/${hook.id}/destinations`, { body: fields })
      const template = (template: string) => ({ body: "template", template })
      expect((yield* add({ url, body: "full" })).status).toBe(201)
      yield* add({ url, ...template('{"is": "{{ run.answer.verdict }}"}') })
      const variables = { verdict: "{{ run.answer.verdict }}", whole: "{{ run.answer | json }}" }
      expect((yield* add({ kind: "chain", target: next.id, ...template(JSON.stringify(variables)) })).status).toBe(201)
      yield* ask('{"verdict":"approve","score":1.10}')
      const bodies = yield* repeatUntil(
        Effect.sync(() => received.map(({ body }) => body)),
        ({ length }) => length === 2
      )
      expect(bodies.find((body) => body.startsWith('{"type"'))).toContain('"answer":{"verdict":"approve","score":1.10}')
      expect(bodies).toContain('{"is": "approve"}')
      const chained = yield* repeatUntil(
        admin("GET", `/api/webhooks/${next.id}/runs`),
        ({ json }) => json.data.length === 1
      )
      expect(chained.json.data[0].conversation.prompt).toBe("Next: approve 1.10")

      const result = yield* http("POST", "/mcp", {
        headers: { authorization: `Bearer ${adminKey}`, accept: "application/json" },
        body: {
          ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
          params: { name: "review", arguments: { text: '{"verdict":"reject","score":1.10}' } }
        }
      })
      expect(result.json.result).toMatchObject({
        content: [{ type: "text", text: '{"verdict":"reject","score":1.10}' }],
        structuredContent: { verdict: "reject", score: 1.1 }
      })
    }
  )

  it.live("needs a schema that can be used", function* () {
    const { admin, hook } = yield* asked()
    const edit = (answer_schema: object) => admin("PATCH", `/api/webhooks/${hook.id}`, { body: { answer_schema } })
    const refused = yield* edit({ type: "strnig" })
    expect([refused.status, refused.json.errors[0].pointer]).toEqual([422, "/answer_schema"])
    expect((yield* edit({ title: "x".repeat(17_000) })).status).toBe(422)
    expect((yield* edit({ $ref: "https://example.com/schema.json" })).status).toBe(422)
  })
})
