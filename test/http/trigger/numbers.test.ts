/** Numbers stay as they were sent, on a real database: in prompts, filters, schemas, keys, the history and the API. */

import { Effect } from "effect"
import fc from "fast-check"
import { serve } from "../../support/InProcess.ts"
import { expect, it } from "../../support/It.ts"
import { jsonNumber } from "../../support/JsonNumbers.ts"

const adminKey = "an-admin-key-for-the-tests-of-numbers"

const started = Effect.gen(function* () {
  const { url } = yield* serve({ ADMIN_API_KEY: adminKey })
  const send = (method: string, path: string, body?: string, headers: Record<string, string> = {}) =>
    Effect.promise(async () => {
      const answer = await fetch(new URL(path, url), {
        method,
        headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json", ...headers },
        ...(body !== undefined && { body })
      })
      const text = await answer.text()
      return { status: answer.status, text, json: text.startsWith("{") ? JSON.parse(text) : undefined }
    })
  const webhook = (settings: string) =>
    Effect.gen(function* () {
      const created = yield* send("POST", "/api/webhooks", `{"name":"numbers","team":"demo",${settings}}`)
      expect(created.status, created.text).toBe(201)
      const { id } = created.json.webhook as { readonly id: string }
      const path = new URL(created.json.trigger_url).pathname
      return {
        id,
        post: (body: string, headers = {}) => send("POST", `${path}?wait=true`, body, headers),
        trigger: (body: string) => send("POST", path, body)
      }
    })
  return { send, webhook }
})

it.live(
  "any number is itself in the prompt, the history and the API, and equal to itself in filters and schemas",
  function* () {
    const { send, webhook } = yield* started
    const languages = ["simple", "liquid"].map(
      (language) => `"prompt_template":"{{n}} {{o}}","template_language":"${language}"`
    )
    const [simple, liquid] = yield* Effect.forEach(languages, webhook)
    yield* Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(jsonNumber, jsonNumber, async (n, m) => {
          const o = `{"m":[${m},"${m}"],"n":${n}}`
          for (const { id, post } of [simple!, liquid!]) {
            const settings = { accept_if: `n == \`${n}\` && o.m[0] >= \`${m}\` && contains(o.m, \`${m}\`)` }
            const schema = `{"properties":{"n":{"const":${n}},"o":{"properties":{"m":{"contains":{"enum":[${m}]}}}}}}`
            const edit = `${JSON.stringify(settings).slice(0, -1)},"schema":${schema}}`
            const edited = await Effect.runPromise(send("PATCH", `/api/webhooks/${id}`, edit))
            expect(edited.status, edited.text).toBe(200)
            expect(edited.text).toContain(`"const":${n}`)
            const answer = await Effect.runPromise(post(`{"variables":{"n":${n},"o":${o}}}`))
            expect(answer.status, answer.text).toBe(200)
            expect(answer.json.response).toBe(`${n} ${o}`)
            const run = await Effect.runPromise(send("GET", `/api/runs/${answer.json.run_id}`))
            expect(run.text).toContain(`"variables":{"n":${n},"o":${o}}`)
          }
        }),
        { numRuns: 10 }
      )
    )
  }
)

const [one, other] = ["820982911946154508", "820982911946154509"]

it.live("numbers beyond 2^53 are told apart in filters, schemas and keys", function* () {
  const { send, webhook } = yield* started
  const template = '"prompt_template":"{{id}}"'
  const variables = (id: string) => `{"variables":{"id":${id}}}`

  const filtered = yield* webhook(`${template},"accept_if":"id == \`${one}\`"`)
  expect((yield* filtered.post(variables(one))).json).toMatchObject({ status: "success", response: one })
  expect((yield* filtered.post(variables(other))).json).toEqual({ status: "ignored" })

  const checked = yield* webhook(`${template},"schema":{"properties":{"id":{"maximum":${one}}}}`)
  expect((yield* checked.post(variables(one))).status).toBe(200)
  expect((yield* checked.post(variables(other))).json).toMatchObject({ code: "schema_mismatch" })

  const repeated = yield* webhook(template)
  const key = { "idempotency-key": "k" }
  expect((yield* repeated.post(variables(one), key)).status).toBe(200)
  expect((yield* repeated.post(variables(other), key)).json).toMatchObject({ code: "idempotency_key_reused" })

  const threaded = yield* webhook(`${template},"thread_key":"{{id}}"`)
  const threads = yield* Effect.forEach([one, other, one], (id) =>
    Effect.gen(function* () {
      const { run_id } = (yield* threaded.post(variables(id))).json
      return (yield* send("GET", `/api/runs/${run_id}`)).json.thread.key
    })
  )
  expect(threads).toEqual([one, other, one])

  const joined = yield* webhook(`${template},"coalesce":{"key":"id","within":3600}`)
  const runs = yield* Effect.forEach([one, other, `${one}.0`], (id) =>
    Effect.map(joined.trigger(variables(id)), ({ json }) => json.run_id)
  )
  expect([runs[0] === runs[1], runs[0] === runs[2]]).toEqual([false, true])

  const preview = yield* send("POST", `/api/webhooks/${filtered.id}/preview`, variables(one))
  expect(preview.json).toMatchObject({ accepted: true, prompt: one })
  const payload = yield* webhook(
    `"input":"payload","template_language":"liquid","prompt_template":"{% if payload.id == ${one} %}{{ payload.id }} {{ payload | json }}{% endif %}"`
  )
  expect((yield* payload.post(`{"id":${one},"price":1.10}`)).json.response).toBe(`${one} {"id":${one},"price":1.10}`)
  expect((yield* payload.post(`{"id":${other}}`)).json.response).toBe("")
})
