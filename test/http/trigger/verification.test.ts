import { createHmac } from "node:crypto"
import { gzipSync } from "node:zlib"
import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { shared } from "../../support/Shared.ts"
import { repeatUntil } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { hello, start } from "../Server.ts"
import { countsOf, deliverTo, github, other, secret, sign, withGithub } from "./Github.ts"

const atOneServer = shared(start())
const ownWebhook = Effect.flatMap(atOneServer, withGithub)

describe("a webhook with a verification", () => {
  it.live(
    "takes what is signed, and refuses the rest with the same bytes, before anything else is said of it",
    function* () {
      const server = yield* ownWebhook
      const { hook, http, deliver, runs } = server
      expect((yield* deliver(hello)).status).toBe(202)
      const raw = JSON.stringify(hello)
      const before = yield* countsOf(server)
      const refused = yield* Effect.all([
        http("POST", hook.path, { body: hello }),
        http("POST", hook.path, { raw, headers: { ...sign(raw), "x-hub-signature-256": "sha256=abc" } }),
        http("POST", hook.path, { raw: `${raw} `, headers: sign(raw) }),
        http("POST", hook.path, { raw, headers: sign(raw, other) }),
        http("POST", `${hook.path}?wait=x`, { raw: "{", headers: { ...sign(raw), "content-type": "image/png" } }),
        http("GET", `${hook.path}/runs/x`),
        http("POST", `${hook.path}/runs/x/cancel`)
      ])
      for (const answer of refused) expect(refusal(answer)).toStrictEqual([401, "not_verified"])
      expect(new Set(refused.map(({ text }) => text)).size).toBe(1)
      const after = yield* countsOf(server)
      const counted = Object.entries(after).map(([cause, count]) => [cause, Number(count) - Number(before[cause] ?? 0)])
      expect(Object.fromEntries(counted)).toMatchObject({ missing: 3, malformed: 1, mismatch: 3 })
      // Signed, it is refused for what else is wrong with it.
      const body = "{"
      expect(refusal(yield* http("POST", hook.path, { raw: body, headers: sign(body) }))[1]).toBe("invalid_body")
      const image = yield* http("POST", hook.path, {
        raw: body,
        headers: { ...sign(body), "content-type": "image/png" }
      })
      expect(refusal(image)[1]).toBe("unsupported_media_type")
      expect(refusal(yield* deliver({ variables: {} }))[1]).toBe("missing_variables")
      expect(refusal(yield* deliver(hello, secret, { "content-encoding": "br" }))[0]).toBe(415)
      const text = JSON.stringify({ variables: { text: "packed" } })
      const packed = { raw: gzipSync(text), headers: { ...sign(text), "content-encoding": "gzip" } }
      expect((yield* http("POST", hook.path, packed)).status).toBe(202)
      expect(yield* runs).toHaveLength(2)
    }
  )

  it.live("needs the token as well, and shows runs to whoever signs an empty body", function* () {
    const { hook, http, deliver, admin } = yield* ownWebhook
    const raw = JSON.stringify(hello)
    const wrong = `${hook.path.slice(0, -1)}${hook.path.endsWith("x") ? "y" : "x"}`
    expect(refusal(yield* http("POST", wrong, { raw, headers: sign(raw) }))).toStrictEqual([404, "not_found"])
    const { run_id } = (yield* deliver(hello)).json
    expect((yield* http("GET", `${hook.path}/runs/${run_id}`, { headers: sign("") })).status).toBe(200)
    // An admin runs it without a signature.
    expect((yield* admin("POST", `/api/webhooks/${hook.id}/runs`, { body: hello })).status).toBe(202)
  })

  it.live("answers handshakes without a run, and commands with a text of its own", function* () {
    const server = yield* ownWebhook
    const { http, deliver, webhook, runs } = server
    const ping = yield* deliver({ zen: "Design for failure." }, secret, { "x-github-event": "ping" })
    expect([ping.status, ping.json]).toStrictEqual([200, { status: "ignored" }])
    expect(yield* runs).toStrictEqual([])

    const slack = yield* webhook("ops", "{{payload.text?}}", {
      ...{ input: "payload", secret, name: "slack" },
      verification: { preset: "slack", reply_text: "On it!" }
    })
    const send = (raw: string, type: string) => {
      const at = String(Math.floor(Date.now() / 1000))
      const signature = `v0=${createHmac("sha256", secret).update(`v0:${at}:${raw}`).digest("hex")}`
      const headers = { "content-type": type, "x-slack-signature": signature, "x-slack-request-timestamp": at }
      return http("POST", slack.path, { raw, headers })
    }
    const form = "application/x-www-form-urlencoded"
    const challenge = yield* send('{"type":"url_verification","challenge":"3eZbrw1aBm2rZg"}', "application/json")
    expect([challenge.status, challenge.text]).toStrictEqual([200, "3eZbrw1aBm2rZg"])
    const command = yield* send("command=%2Fdeploy&text=api&trigger_id=1.2.3", form)
    expect([command.status, command.text]).toStrictEqual([200, "On it!"])
    expect(command.headers.get("content-type")).toMatch(/^text\/plain/)
    // Sent again because the answer was lost.
    expect((yield* send("command=%2Fdeploy&text=api&trigger_id=1.2.3", form)).text).toBe("On it!")
    const dialog = yield* send(`payload=${encodeURIComponent('{"type":"view_submission","trigger_id":"2.3.4"}')}`, form)
    expect([dialog.status, dialog.text]).toStrictEqual([200, ""])
    const button = yield* send(`payload=${encodeURIComponent('{"type":"block_actions","trigger_id":"3.4.5"}')}`, form)
    expect([button.status, button.text]).toStrictEqual([200, "On it!"])
    const event = yield* send('{"type":"event_callback","event_id":"Ev1","text":"x"}', "application/json")
    expect(event.status).toBe(202)
    expect(yield* server.history(slack.id)).toHaveLength(4)
  })

  it.live("keeps of what it refuses the cause, and nothing that was sent", function* () {
    const { admin, hook, http, deliver } = yield* ownWebhook
    yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { store_requests: "refused" } })
    yield* deliver(hello, other)
    yield* http("POST", hook.path, { raw: "x".repeat(2_000_000), headers: sign("") })
    yield* deliver({ variables: { no: "text" } })
    const { data } = (yield* admin("GET", `/api/webhooks/${hook.id}/requests`)).json
    expect(data.map(({ code, body }: any) => [code, body !== undefined])).toStrictEqual([
      ["missing_variables", true],
      ["body_too_large", false],
      ["not_verified", false]
    ])
    expect(data[2].detail).toBe(
      "Its signature or secret is not that of this webhook, or its body was changed on the way."
    )
  })
})

it.live("a webhook says when the first request was verified since its secret was set", function* () {
  const { admin, deliver, hook } = yield* ownWebhook
  const shown = Effect.map(admin("GET", `/api/webhooks/${hook.id}`), ({ json }) => json)
  const verified = repeatUntil(shown, ({ verified_at }) => verified_at !== undefined)
  const edit = (body: object) => admin("PATCH", `/api/webhooks/${hook.id}`, { body })
  expect((yield* deliver(hello, other)).status).toBe(401)
  yield* admin("POST", `/api/webhooks/${hook.id}/runs`, { body: hello })
  // What was recorded before is written with this.
  yield* admin("GET", `/api/webhooks/${hook.id}/requests`)
  const before = yield* shown
  expect(before).not.toHaveProperty("verified_at")
  // A test of the URL alone does not count.
  yield* deliver({ zen: "Design for failure." }, secret, { "x-github-event": "ping" })
  yield* admin("GET", `/api/webhooks/${hook.id}/requests`)
  expect(yield* shown).not.toHaveProperty("verified_at")
  // It is no change of the webhook.
  yield* deliver(hello)
  const first = yield* verified
  expect(first.version).toBe(before.version)
  yield* deliver({ variables: { text: "another" } })
  yield* admin("GET", `/api/webhooks/${hook.id}/requests`)
  expect((yield* shown).verified_at).toBe(first.verified_at)
  yield* edit({ name: "another name" })
  expect((yield* shown).verified_at).toBe(first.verified_at)
  for (const change of [{ secret: other, keep_old_secret: true }, { verification: { preset: "github" } }]) {
    yield* edit(change)
    expect(yield* shown).not.toHaveProperty("verified_at")
    yield* deliver(hello, secret)
    yield* verified
  }
  yield* edit({ keep_old_secret: false })
  expect(yield* shown).toHaveProperty("verified_at")
  yield* edit({ verification: null })
  expect(yield* shown).not.toHaveProperty("verified_at")
})

describe("warnings", () => {
  const draft = { input: "payload", prompt_template: "{{payload}} {{headers.x-github-event}} {{query.q}}" }

  it.live(
    "say that a secret is short, and that a template names what is not signed, wherever the webhook is shown",
    function* () {
      const { admin, team } = yield* start()
      const body = { name: "n", team: yield* team("ops"), ...draft, verification: { preset: "github" } }
      const created = yield* admin("POST", "/api/webhooks", { body: { ...body, secret: "0123456789abcde" } })
      const { id, warnings } = created.json.webhook
      expect(warnings).toStrictEqual([
        { pointer: "/secret", detail: expect.stringContaining("fewer than 16 characters") },
        { pointer: "/prompt_template", detail: expect.stringContaining("(`headers.x-github-event`, `query.q`)") }
      ])
      const path = `/api/webhooks/${id}`
      const edit = (body: object) => Effect.map(admin("PATCH", path, { body }), ({ json }) => json.warnings)
      expect((yield* admin("GET", path)).json.warnings).toStrictEqual(warnings)
      expect((yield* admin("GET", "/api/webhooks")).json.data[0].warnings).toStrictEqual(warnings)
      const copy = yield* admin("POST", `${path}/duplicate`, { body: {} })
      expect(copy.json.webhook.warnings).toStrictEqual(warnings)
      expect(yield* edit({ secret: "0123456789abcdef" })).toStrictEqual(warnings.slice(1))
      expect(yield* edit({ prompt_template: "{{payload}}" })).toBeUndefined()
    }
  )

  it.live("name the keys that decide which run and which session a request joins", function* () {
    const { admin, team, webhook } = yield* atOneServer
    const { id } = yield* webhook(yield* team("ops"), "{{payload}}", { input: "payload", ...github })
    const edited = (body: object) =>
      Effect.map(admin("PATCH", `/api/webhooks/${id}`, { body }), ({ json }) => json.warnings)
    const coalesce = { key: "query.q", within: 30 }
    expect(yield* edited({ thread_key: "{{payload.id}} {{headers.x-of}}", coalesce })).toStrictEqual([
      { pointer: "/thread_key", detail: expect.stringMatching(/^The thread key uses .*\(`headers.x-of`\)/) },
      { pointer: "/coalesce", detail: expect.stringContaining("(`query.q`)") }
    ])
    const signed = { thread_key: "{% if payload.id %}{{ payload.id }}{% endif %}", template_language: "liquid" }
    expect(yield* edited({ ...signed, coalesce: { ...coalesce, key: "payload.id" } })).toBeUndefined()
  })

  it.live("are not given for what is signed, nor where the secret itself is sent", function* () {
    const server = yield* atOneServer
    const ops = yield* server.team("ops")
    const hmac = { preset: "hmac", header: "X-Signature" }
    const warned = (prompt_template: string, verification: object) =>
      Effect.gen(function* () {
        const hook = yield* server.webhook(ops, prompt_template, { input: "payload", verification, secret })
        return (yield* server.admin("GET", `/api/webhooks/${hook.id}`)).json.warnings?.length
      })
    expect(yield* warned("{{query.q}}", { ...hmac, signed: "{url}{body}" })).toBeUndefined()
    expect(yield* warned("{{query.q}}", hmac)).toBe(1)
    const idHeader = { ...hmac, id_header: "X-Id" }
    expect(yield* warned("{{headers.x-id}}", { ...idHeader, signed: "{id}.{body}" })).toBeUndefined()
    expect(yield* warned("{{headers.x-id}}", idHeader)).toBe(1)
    expect(yield* warned("{{headers}}", hmac)).toBe(1)
    expect(yield* warned("{{headers.x-id}}", { preset: "bearer" })).toBeUndefined()
  })
})

describe("a delivery", () => {
  it.live("may come again if it was refused", function* () {
    const server = yield* atOneServer
    const hook = yield* server.webhook(yield* server.team("idle", "no leader"), "{{text}}", github)
    const id = { "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958" }
    const delivered = deliverTo(server, hook.path)(hello, secret, id)
    expect((yield* delivered).status).toBe(409)
    const edit = { when_team_stopped: "queue" }
    expect((yield* server.admin("PATCH", `/api/webhooks/${hook.id}`, { body: edit })).status).toBe(200)
    expect((yield* delivered).status).toBe(202)
    expect(yield* server.history(hook.id)).toHaveLength(1)
  })

  it.live("is told apart by its id alone if the secret comes with it: then nothing is signed", function* () {
    const { history, http, team, webhook } = yield* atOneServer
    const verification = { preset: "bearer", id_header: "X-Id" }
    const hook = yield* webhook(yield* team("ops"), "{{text}}", { verification, secret })
    const send = (text: string, headers: Record<string, string>) =>
      Effect.map(
        http("POST", hook.path, {
          body: { variables: { text } },
          headers: { authorization: `Bearer ${secret}`, ...headers }
        }),
        ({ json }) => json.run_id
      )
    const first = yield* send("a", { "x-id": "1" })
    // Some services sign, or send, the time of each attempt.
    expect(yield* send("a, again", { "x-id": "1" })).toBe(first)
    yield* send("a", { "x-id": "2" })
    // A key that a caller chooses is another one than a delivery's id.
    yield* send("a", { "idempotency-key": "delivery 1" })
    expect(yield* history(hook.id)).toHaveLength(3)
  })
})
