/** Proxies and senders repeat the URL that they call, and with it the token. */
import { createHmac } from "node:crypto"
import { Context, Effect } from "effect"
import { RunStore } from "../../../src/repo/run/RunStore.ts"
import { layerRepo } from "../../../src/testing.ts"
import { expect, it } from "../../support/It.ts"
import { refusal } from "../Client.ts"
import { changed, hello, start } from "../Server.ts"

const secret = "It's a Secret to Everybody"

it.live("a token that a request repeats is neither rendered nor kept", function* () {
  const { admin, firstRuns, http, team, webhook } = yield* start()
  const template = "{{payload.url}} {{payload.list.0}} {{headers.x-original-uri}} {{headers.referer}} {{query.from}}"
  const more = { input: "payload", store_requests: "all" }
  const hook = yield* webhook(yield* team("ops"), template, more)
  const url = `https://hooks.example.com${hook.path}`
  const headers = { "content-type": "application/json", "x-original-uri": hook.path, referer: `${url}?a=b` }
  const raw = JSON.stringify({ url, list: [encodeURIComponent(url)], other: hook.token.replace("_", "%5F") })
  yield* http("POST", `${hook.path}?from=${encodeURIComponent(url)}`, { raw, headers })
  // Refused, with the end of what is kept within the token.
  yield* http("POST", hook.path, { raw: `"${"x".repeat(65_506)}${url}"`, headers })

  const variables = yield* webhook("ops", "{{text}}")
  const text = { text: `called as ${variables.path}` }
  yield* http("POST", `${variables.path}?wait=true`, { body: { variables: text } })

  const [run] = yield* firstRuns(hook.id)
  const [plain] = yield* firstRuns(variables.id)
  expect(run.conversation.prompt.split(" ").slice(2, 4)).toStrictEqual([
    "/webhook/trigger/whk_redacted",
    "https://hooks.example.com/webhook/trigger/whk_redacted?a=b"
  ])
  expect(plain.variables).toStrictEqual({ text: "called as /webhook/trigger/whk_redacted" })
  const requests = `/api/webhooks/${hook.id}/requests`
  const { data } = (yield* admin("GET", `${requests}?accepted=true`)).json
  expect(data.map(({ code }: { readonly code: string }) => code).sort()).toStrictEqual([
    "accepted",
    "missing_variables"
  ])
  const shown = yield* Effect.forEach(
    [
      ...["/api/webhooks", "/api/audit", "/api/runs", `${requests}?accepted=true`, `/api/runs/${run.run_id}`],
      ...[`/api/runs/${plain.run_id}`, ...data.map(({ request_id }: any) => `${requests}/${request_id}`)]
    ],
    (path) => admin("GET", path)
  )
  for (const { status, text } of shown) {
    expect(status).toBe(200)
    for (const { token } of [hook, variables]) {
      // Not even most of it.
      for (const part of [token.slice(4), token.slice(4, 24)]) expect(text).not.toContain(part)
    }
  }
})

it.live("a token in an idempotency key or in a delivery's id is not kept, and the key still works", function* () {
  let kept = ""
  const keeping = (store: typeof RunStore.Service): typeof RunStore.Service =>
    new Proxy(store, {
      get: (target, name, receiver) => {
        const value: unknown = Reflect.get(target, name, receiver)
        if (typeof value !== "function") return value
        return (...args: ReadonlyArray<unknown>) => {
          kept += JSON.stringify(args)
          return value(...args)
        }
      }
    })
  const repo = changed(layerRepo, (context) => Context.add(context, RunStore, keeping(Context.get(context, RunStore))))
  const { http, team, webhook } = yield* start({ repo })
  const ops = yield* team("ops")
  const verification = { preset: "hmac", header: "X-Signature", signed: "{id}{body}", id_header: "X-Id" }
  const plain = yield* webhook(ops)
  const signed = yield* webhook(ops, "{{text}}", { verification, secret })
  const raw = JSON.stringify(hello)
  const headersFor = (url: string) => ({
    "content-type": "application/json",
    "idempotency-key": `${url}#1`,
    "x-id": `${url}#2`,
    "x-signature": createHmac("sha256", secret).update(`${url}#2${raw}`).digest("hex")
  })
  for (const { path, token } of [plain, signed]) {
    const headers = headersFor(`https://hooks.example.com${path}`)
    const [first, second] = yield* Effect.replicateEffect(http("POST", path, { raw, headers }), 2)
    expect([first!.status, second!.json.run_id]).toStrictEqual([202, first!.json.run_id])
    expect(kept).not.toContain(token.slice(4))
  }
  expect(kept).toContain("/webhook/trigger/whk_redacted#1")
  expect(kept).toContain("/webhook/trigger/whk_redacted#2")
})

it.live("a signature may be over the method and the URL, which no description has to name", function* () {
  const { http, team, webhook } = yield* start({ publicUrl: "https://hooks.example.com/agents" })
  const verification = { preset: "hmac", header: "X-Signature", signed: "{method}{url}{body}" }
  const hook = yield* webhook(yield* team("ops"), "{{text}}", { verification, secret })
  const raw = JSON.stringify(hello)
  const send = (url: string, query = "?a=%2F") => {
    const signature = createHmac("sha256", secret).update(`POST${url}${raw}`).digest("hex")
    return http("POST", `${hook.path}${query}`, {
      raw,
      headers: { "content-type": "application/json", "x-signature": signature }
    })
  }
  const url = `https://hooks.example.com/agents${hook.path}`
  expect((yield* send(`${url}?a=%2F`)).status).toBe(202)
  for (const wrong of [url, `${url}?a=/`, `http://hooks.example.com/agents${hook.path}?a=%2F`, hook.path]) {
    expect(refusal(yield* send(wrong)), wrong).toStrictEqual([401, "not_verified"])
  }
  expect((yield* send(url, "")).status).toBe(202)
})

it.live("no token can be saved where the API shows it again", function* () {
  const { admin, team, webhook } = yield* start()
  const { id, path, token } = yield* webhook(yield* team("ops"))
  const url = `https://hooks.example.com${path}`
  const edits = {
    name: token,
    prompt_template: `Call ${url}`,
    accept_if: `text == '${url}'`,
    verification: { preset: "hmac", header: "x-signature", signed: `${url}{body}` }
  }
  for (const [field, value] of Object.entries(edits)) {
    const body = { [field]: value, ...(field === "verification" && { secret }) }
    const refused = yield* admin("PATCH", `/api/webhooks/${id}`, { body })
    expect(refusal(refused), field).toStrictEqual([422, "invalid"])
    expect(refused.json.errors, field).toMatchObject([
      { pointer: `/${field}`, detail: expect.stringContaining("must not contain a token") }
    ])
    expect(refused.text).not.toContain(token)
  }
})
