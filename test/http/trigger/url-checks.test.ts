/** Services test a webhook's URL before they send events. */

import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { start } from "../Server.ts"

const secret = "It's a Secret to Everybody"
const template = "{{payload}}"

const serve = (verification?: object, more: object = {}) =>
  Effect.gen(function* () {
    const server = yield* start()
    const team = yield* server.team("checked")
    const verified = verification && { verification, secret }
    const hook = yield* server.webhook(team, template, { input: "payload", ...verified, ...more })
    const call = (method: string, search: string, request: object = {}) =>
      server.http(method, `${hook.path}${search}`, request)
    return { ...server, hook, call }
  })

const meta = { preset: "meta", verify_token: "my token" }
const subscribe = "?hub.mode=subscribe&hub.verify_token=my+token&hub.challenge=1158201444"

describe("Meta", () => {
  it.live("gets its challenge back as text if it knows the verify token, and starts no run", function* () {
    const { call, history, hook } = yield* serve(meta)
    const answer = yield* call("GET", subscribe)
    expect([answer.status, answer.text]).toStrictEqual([200, "1158201444"])
    expect(answer.headers.get("content-type")).toMatch(/^text\/plain/)
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff")
    expect(yield* history(hook.id)).toStrictEqual([])
  })

  it.live("is refused with another verify token, which the webhook lists", function* () {
    const { admin, call, hook } = yield* serve(meta)
    expect(refusal(yield* call("GET", subscribe.replace("my+token", "other")))).toStrictEqual([401, "not_verified"])
    expect(refusal(yield* call("GET", "?hub.mode=subscribe&hub.challenge=1"))).toStrictEqual([401, "not_verified"])
    const listed = yield* repeatUntil(
      admin("GET", `/api/webhooks/${hook.id}/requests`),
      ({ json }) => json.data.length > 0
    )
    expect(listed.json.data[0]).toMatchObject({ status: 401, code: "not_verified" })
  })

  it.live("sends nothing else by GET, and must sign what it posts", function* () {
    const { call } = yield* serve(meta)
    for (const search of ["", "?hub.mode=unsubscribe&hub.challenge=1", "?hub.challenge=1"]) {
      expect(refusal(yield* call("GET", search)), search).toStrictEqual([405, "method_not_allowed"])
    }
    expect(refusal(yield* call("POST", subscribe, { body: {} }))).toStrictEqual([401, "not_verified"])
  })
})

describe("services that test the URL before they know it to be theirs", () => {
  it.live("Asana gets its secret back in a header, Okta and Lark theirs in JSON, Dropbox as text", function* () {
    const asana = yield* serve({ preset: "asana" })
    const asked = yield* asana.call("POST", "", {
      headers: { "x-hook-secret": "b537207f20cbfa02357cf448134da559" },
      raw: ""
    })
    expect([asked.status, asked.text]).toStrictEqual([200, ""])
    expect(asked.headers.get("x-hook-secret")).toBe("b537207f20cbfa02357cf448134da559")
    const okta = yield* serve({ preset: "okta" })
    const headers = { "x-okta-verification-challenge": "VSdhNgYxTvLnrkKnLBzFxVBt" }
    expect((yield* okta.call("GET", "", { headers })).json).toStrictEqual({ verification: "VSdhNgYxTvLnrkKnLBzFxVBt" })
    const lark = yield* serve({ preset: "lark" })
    const body = { type: "url_verification", challenge: "ajls384kdjx98XX", token: secret }
    expect((yield* lark.call("POST", "", { body })).json).toStrictEqual({ challenge: "ajls384kdjx98XX" })
    const dropbox = yield* serve({ preset: "dropbox" })
    const challenge = yield* dropbox.call("GET", "?challenge=abc123")
    expect([challenge.status, challenge.text]).toStrictEqual([200, "abc123"])
    expect(challenge.headers.get("x-content-type-options")).toBe("nosniff")
    const notion = yield* serve({ preset: "notion" })
    expect((yield* notion.call("POST", "", { body: { verification_token: "secret_tMrlL1qK5" } })).status).toBe(200)
    for (const { history, hook } of [asana, okta, lark, dropbox, notion]) {
      expect(yield* history(hook.id)).toStrictEqual([])
    }
  })

  it.live("start runs only with their secret or signature", function* () {
    for (const preset of ["asana", "okta", "lark", "dropbox", "notion"]) {
      const { call, history, hook } = yield* serve({ preset })
      expect(refusal(yield* call("POST", "", { body: { id: "1" } })), preset).toStrictEqual([401, "not_verified"])
      expect(yield* history(hook.id)).toStrictEqual([])
    }
    const elsewhere = yield* serve({ preset: "lark" }, { allow_from: ["192.0.2.0/24"] })
    const test = { body: { type: "url_verification", challenge: "x", token: secret } }
    expect(refusal(yield* elsewhere.call("POST", "", test))).toStrictEqual([401, "not_verified"])
    const okta = yield* serve({ preset: "okta" })
    const event = { headers: { authorization: secret }, body: { eventId: "e-1" } }
    const first = yield* okta.call("POST", "", event)
    expect(first.status).toBe(202)
    expect((yield* okta.call("POST", "", event)).json.run_id).toBe(first.json.run_id)
    const lark = yield* serve({ preset: "lark" })
    const message = { body: { schema: "2.0", header: { event_id: "e-1", token: secret }, event: {} } }
    const run = yield* lark.call("POST", "", message)
    expect(run.status).toBe(202)
    const { json } = yield* lark.admin("GET", `/api/runs/${run.json.run_id}`)
    expect(json.conversation.prompt).not.toContain(secret)
  })
})

describe("Microsoft Graph", () => {
  const token = "Validation: Testing client application reachability for subscription <b>&ü"
  const search = `?validationToken=${encodeURIComponent(token)}`
  const text = { headers: { "content-type": "text/plain; charset=utf-8" }, raw: "" }

  it.live("gets its token back as text, without a secret, and starts no run", function* () {
    const { call, history, hook } = yield* serve({ preset: "microsoft-graph" })
    const answer = yield* call("POST", search, text)
    expect([answer.status, answer.text]).toStrictEqual([200, token])
    expect(answer.headers.get("content-type")).toMatch(/^text\/plain/)
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff")
    expect(yield* history(hook.id)).toStrictEqual([])
  })

  it.live("is not answered at length, nor from an address that is not allowed, nor by other webhooks", function* () {
    const graph = { preset: "microsoft-graph" }
    const { call } = yield* serve(graph)
    expect((yield* call("POST", `?validationToken=${"x".repeat(2_001)}`, text)).status).toBe(401)
    const elsewhere = yield* serve(graph, { allow_from: ["192.0.2.0/24"] })
    expect(refusal(yield* elsewhere.call("POST", search, text))).toStrictEqual([401, "not_verified"])
    const github = yield* serve({ preset: "github" })
    expect(refusal(yield* github.call("POST", search, text))).toStrictEqual([401, "not_verified"])
  })

  it.live("opens no run to somebody who asks for a test of the URL there", function* () {
    const { call, hook, http } = yield* serve({ preset: "microsoft-graph" })
    const value = [{ changeType: "created", clientState: secret }]
    const { json } = yield* call("POST", "", { body: { value } })
    const run = `${hook.path}/runs/${json.run_id}`
    expect((yield* http("POST", `${run}/cancel${search}`, text)).status).toBe(401)
    expect((yield* http("GET", `${run}${search}`)).status).toBe(401)
  })

  it.live("leaves its secret neither in the prompt, nor in the run, nor in a stored request", function* () {
    const { admin, call, firstRuns, hook } = yield* serve({ preset: "microsoft-graph" }, { store_requests: "all" })
    const value = [{ changeType: "created", clientState: secret, resource: "me" }]
    expect((yield* call("POST", "", { body: { value } })).status).toBe(202)
    const [run] = yield* firstRuns(hook.id)
    const whole = yield* admin("GET", `/api/runs/${run.run_id}`)
    expect(whole.json.conversation.prompt).toContain('"clientState":"redacted","resource":"me"')
    const stored = yield* repeatUntil(
      admin("GET", `/api/webhooks/${hook.id}/requests?accepted=true`),
      ({ json }) => json.data.length > 0
    )
    const request = yield* admin("GET", `/api/webhooks/${hook.id}/requests/${stored.json.data[0].request_id}`)
    expect(request.json.body).toContain('"clientState":"redacted"')
    for (const { text } of [whole, stored, request]) expect(text).not.toContain(secret)
  })
})

describe("Azure Event Grid", () => {
  const grid = { preset: "event-grid", header: "X-Webhook-Secret" }
  const code = "512d38b6-c7b8-40c8-89fe-f46f9e9622b6"
  const event = {
    id: "2d1781af-3a4c-4d7c-bd0c-e34b19da4e66",
    topic: "/subscriptions/1",
    subject: "",
    data: { validationCode: code, validationUrl: "https://rp-eastus2.eventgrid.azure.net:553/eventsubscriptions/1" },
    eventType: "Microsoft.EventGrid.SubscriptionValidationEvent",
    eventTime: "2026-05-04T08:15:12.345Z",
    metadataVersion: "1",
    dataVersion: "1"
  }
  const validation = { headers: { "aeg-event-type": "SubscriptionValidation" }, body: [event] }

  it.live("gets the code of its validation event back, without the secret, and starts no run", function* () {
    const { call, history, hook } = yield* serve(grid)
    const answer = yield* call("POST", "", validation)
    expect([answer.status, answer.json]).toStrictEqual([200, { validationResponse: code }])
    expect((yield* call("POST", "", { ...validation, body: [event, event] })).status).toBe(401)
    expect((yield* call("POST", "", { body: [event] })).status).toBe(401)
    expect(yield* history(hook.id)).toStrictEqual([])
  })

  it.live("may send to every enabled webhook that it asks with OPTIONS, and to no other path", function* () {
    const origin = { headers: { "webhook-request-origin": "eventgrid.azure.net", "webhook-request-rate": "120" } }
    for (const verification of [undefined, grid, { preset: "github" }]) {
      const { call, history, hook } = yield* serve(verification)
      const answer = yield* call("OPTIONS", "", origin)
      expect([answer.status, answer.text]).toStrictEqual([200, ""])
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        allow: "POST",
        "webhook-allowed-origin": "eventgrid.azure.net",
        "webhook-allowed-rate": "*"
      })
      expect((yield* call("OPTIONS", "")).status).toBe(405)
      expect(yield* history(hook.id)).toStrictEqual([])
    }
    const { http } = yield* serve()
    expect((yield* http("OPTIONS", `/webhook/trigger/whk_${"a".repeat(43)}`, origin)).status).toBe(405)
    const { call } = yield* serve(undefined, { allow_from: ["192.0.2.0/24"] })
    expect((yield* call("OPTIONS", "", origin)).status).toBe(401)
  })
})

it.live("Trello's HEAD is 200 for its webhooks, and 405 for others", function* () {
  const { call, history, hook } = yield* serve({ preset: "trello" })
  expect((yield* call("HEAD", "")).status).toBe(200)
  expect((yield* call("GET", "")).status).toBe(405)
  expect((yield* (yield* serve({ preset: "github" })).call("HEAD", "")).status).toBe(405)
  expect(yield* history(hook.id)).toStrictEqual([])
})
