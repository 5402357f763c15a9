/** Webhooks that ask their callers for a signature or a secret. */
import { createHmac } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Repo } from "../../../src/repo/Repo.ts"
import { pointers, refusal } from "../Client.ts"
import { hello, start, triggers } from "../Server.ts"

type Server = Effect.Effect.Success<ReturnType<typeof start>>

const secret = "It's a Secret to Everybody"
const other = "Another secret that is long"

const sign = (body: string, key = secret, more: Record<string, string> = {}) => ({
  "content-type": "application/json",
  "x-hub-signature-256": `sha256=${createHmac("sha256", key).update(body).digest("hex")}`,
  ...more
})

const github = { verification: { preset: "github" }, secret }

/** A webhook that GitHub calls. */
const startWithGithub = Effect.gen(function* () {
  const server = yield* start()
  const hook = yield* server.webhook(yield* server.team("ops"), "{{text}}", github)
  return { ...server, hook, deliver: deliverTo(server, hook.path), runs: server.history(hook.id) }
})

const deliverTo =
  ({ http }: Pick<Server, "http">, path: string) =>
  (body: object, key?: string, headers?: Record<string, string>) => {
    const raw = JSON.stringify(body)
    return http("POST", path, { raw, headers: sign(raw, key, headers) })
  }

/** The counts of refused requests, by cause. */
const countsOf = ({ http }: Pick<Server, "http">) =>
  Effect.map(http("GET", "/metrics"), ({ text }) =>
    Object.fromEntries(
      [...text.matchAll(/^webhook_not_verified_total\{cause="(\w+)"\} (\d+)/gm)].map(([, name, n]) => [name, Number(n)])
    )
  )

describe("a webhook with a verification", () => {
  triggers("takes what is signed, and refuses the rest with the same bytes, before anything else is said of it", () =>
    Effect.gen(function* () {
      const server = yield* startWithGithub
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
      expect(refusal(yield* deliver(hello, secret, { "content-encoding": "gzip" }))[0]).toBe(415)
      expect(yield* runs).toHaveLength(1)
    })
  )

  triggers("needs the token as well, and shows runs to whoever signs an empty body", () =>
    Effect.gen(function* () {
      const { hook, http, deliver, admin } = yield* startWithGithub
      const raw = JSON.stringify(hello)
      const wrong = `${hook.path.slice(0, -1)}${hook.path.endsWith("x") ? "y" : "x"}`
      expect(refusal(yield* http("POST", wrong, { raw, headers: sign(raw) }))).toStrictEqual([404, "not_found"])
      const { run_id } = (yield* deliver(hello)).json
      expect((yield* http("GET", `${hook.path}/runs/${run_id}`, { headers: sign("") })).status).toBe(200)
      // An admin runs it without a signature.
      expect((yield* admin("POST", `/api/webhooks/${hook.id}/runs`, { body: hello })).status).toBe(202)
    })
  )

  triggers("answers handshakes without a run, and commands with a text of its own", () =>
    Effect.gen(function* () {
      const server = yield* startWithGithub
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
      const dialog = yield* send(
        `payload=${encodeURIComponent('{"type":"view_submission","trigger_id":"2.3.4"}')}`,
        form
      )
      expect([dialog.status, dialog.text]).toStrictEqual([200, ""])
      const button = yield* send(`payload=${encodeURIComponent('{"type":"block_actions","trigger_id":"3.4.5"}')}`, form)
      expect([button.status, button.text]).toStrictEqual([200, "On it!"])
      const event = yield* send('{"type":"event_callback","event_id":"Ev1","text":"x"}', "application/json")
      expect(event.status).toBe(202)
      expect(yield* server.history(slack.id)).toHaveLength(4)
    })
  )

  triggers("keeps of what it refuses the cause, and nothing that was sent", () =>
    Effect.gen(function* () {
      const { admin, hook, http, deliver } = yield* startWithGithub
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
  )
})

it.scopedLive("a webhook says when the first request was verified since its secret was set", () =>
  Effect.gen(function* () {
    const { admin, deliver, hook } = yield* startWithGithub
    const shown = Effect.map(admin("GET", `/api/webhooks/${hook.id}`), ({ json }) => json)
    const verified = Effect.repeat(shown, { until: ({ verified_at }) => verified_at !== undefined })
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
)

describe("a secret", () => {
  it.scopedLive("is replaced at once, or accepted beside the new one until it is ended", () =>
    Effect.gen(function* () {
      const { admin, hook, deliver } = yield* startWithGithub
      const edit = (body: object) =>
        Effect.map(admin("PATCH", `/api/webhooks/${hook.id}`, { body }), ({ json }) => json)
      const statuses = Effect.map(Effect.all([deliver(hello), deliver(hello, other)]), (all) =>
        all.map((one) => one.status)
      )
      expect(yield* statuses).toStrictEqual([202, 401])
      const both = yield* edit({ secret: other, keep_old_secret: true })
      expect([both.secret_hint, both.old_secret_hint]).toStrictEqual(["…long", "…body"])
      expect(yield* statuses).toStrictEqual([202, 202])
      expect(yield* edit({ keep_old_secret: false })).not.toHaveProperty("old_secret_hint")
      expect(yield* statuses).toStrictEqual([401, 202])
      yield* edit({ secret })
      expect(yield* statuses).toStrictEqual([202, 401])
      const none = yield* edit({ verification: null })
      expect(Object.keys(none).filter((name) => /secret|verification/.test(name))).toStrictEqual([])
      expect(yield* statuses).toStrictEqual([202, 202])
    })
  )

  it.scopedLive("is in no answer, event, log or row as it is", () =>
    Effect.gen(function* () {
      const { admin, hook, deliver, repo } = yield* startWithGithub
      yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { secret: other, keep_old_secret: true } })
      yield* deliver(hello)
      yield* deliver(hello, "wrong")
      const wrong = yield* admin("PATCH", `/api/webhooks/${hook.id}`, {
        body: { secret: [other], name: "", verification: { preset: "hmac" } }
      })
      const paths = ["/api/webhooks", `/api/webhooks/${hook.id}`, "/api/audit", `/api/webhooks/${hook.id}/requests`]
      const answers = yield* Effect.forEach([...paths, `/api/webhooks/${hook.id}/runs`, "/metrics"], (path) =>
        admin("GET", path)
      )
      const row = yield* Effect.provide(
        Effect.flatMap(Repo, (repo) => repo.webhookRow(hook.id as never)),
        repo
      )
      const everything = JSON.stringify([wrong.text, answers.map(({ text }) => text), row])
      for (const one of [secret, other]) {
        expect(everything).not.toContain(one)
        expect(everything).not.toContain(Buffer.from(one).toString("base64").slice(0, -4))
        expect(everything).not.toContain(Buffer.from(one).toString("hex"))
      }
      expect(everything).toContain("…long")
    })
  )

  it.scopedLive("is in no prompt, run or kept request, and no filter sees it, whatever its header is called", () =>
    Effect.gen(function* () {
      const { admin, history, http, team, webhook } = yield* start()
      const hook = yield* webhook(yield* team("ops"), "{{headers}}", {
        ...{ verification: { preset: "header", header: "X-Proof", prefix: "is " }, secret, input: "payload" },
        ...{ store_requests: "all", accept_if: "!contains(keys(headers), 'x-proof') && payload" }
      })
      const headers = { "content-type": "application/json", "x-proof": `is ${secret}`, "x-event": "push" }
      const trigger = http("POST", `${hook.path}?wait=true`, { raw: '{"a":1}', headers })
      const { response } = (yield* trigger).json
      expect(response).toContain('"x-event":"push"')
      const runs = yield* history(hook.id)
      const kept = (yield* admin("GET", `/api/webhooks/${hook.id}/requests?accepted=true`)).json.data
      const shown = yield* admin("GET", `/api/webhooks/${hook.id}/requests/${kept[0].request_id}`)
      expect(shown.json.headers).toMatchObject({ "x-event": "push" })
      expect(JSON.stringify([response, runs, kept, shown.json])).not.toContain(secret)

      const edit = (body: object) => admin("PATCH", `/api/webhooks/${hook.id}`, { body })
      const own = [{ pointer: "/prompt_template", detail: expect.stringContaining("may hold a secret") }]
      expect((yield* edit({ prompt_template: "{{headers.x-proof?}}" })).json.errors).toStrictEqual(own)
      yield* edit({ prompt_template: "{{headers.x-event}}" })
      const verification = { preset: "header", header: "X-Event" }
      expect((yield* edit({ verification })).json.errors).toStrictEqual(own)
      expect((yield* edit({ verification, prompt_template: "{{headers.x-other?}}" })).status).toBe(200)
      expect(refusal(yield* trigger)).toStrictEqual([401, "not_verified"])
    })
  )

  it.scopedLive("and what asks for it are checked together, each fault with its place", () =>
    Effect.gen(function* () {
      const { admin, webhook, team } = yield* start()
      yield* team("ops")
      const create = (more: object) =>
        admin("POST", "/api/webhooks", { body: { name: "n", team: "ops", prompt_template: "x", ...more } })
      const faults: ReadonlyArray<readonly [object, string]> = [
        [{ verification: { preset: "github" } }, "/secret"],
        [{ secret }, "/verification"],
        [{ verification: { preset: "githup" }, secret }, "/verification/preset"],
        [{ verification: { preset: "github", header: "x" }, secret }, "/verification/header"],
        [{ verification: { preset: "hmac" }, secret }, "/verification/header"],
        [{ verification: { preset: "hmac", header: "a b" }, secret }, "/verification/header"],
        [
          { verification: { preset: "hmac", header: "X", signed: "{timestamp}{body}" }, secret },
          "/verification/signed"
        ],
        [{ verification: { preset: "hmac", header: "X", signed: "body" }, secret }, "/verification/signed"],
        [{ verification: { preset: "basic", username: "a:b" }, secret }, "/verification/username"],
        [{ verification: { preset: "slack", tolerance_seconds: 9 }, secret }, "/verification/tolerance_seconds"],
        [{ verification: { preset: "standard-webhooks" }, secret }, "/secret"],
        [{ verification: { preset: "standard-webhooks" }, secret: "whpk_AAAA" }, "/secret"],
        [{ verification: { preset: "github" }, secret: "" }, "/secret"],
        [{ verification: { preset: "github" }, secret: "a\nb" }, "/secret"]
      ]
      for (const [more, pointer] of faults) {
        const answer = yield* create(more)
        expect([answer.status, pointers(answer)], JSON.stringify(more)).toStrictEqual([422, [pointer]])
      }
      const { id } = yield* webhook("ops", "x", github)
      const edit = (body: object) => admin("PATCH", `/api/webhooks/${id}`, { body })
      expect(pointers(yield* edit({ verification: { preset: "standard-webhooks" } }))).toStrictEqual(["/secret"])
      expect(pointers(yield* edit({ verification: null, secret }))).toStrictEqual(["/verification"])
      expect((yield* edit({ verification: { preset: "jira" } })).json.secret_hint).toBe("…body")
    })
  )

  it.scopedLive("cannot be stored without a key, and cannot be checked without the key that encrypted it", () =>
    Effect.gen(function* () {
      const none = yield* start({ secretKeys: [] })
      yield* none.team("ops")
      const draft = { name: "n", team: "ops", prompt_template: "x", ...github }
      expect(pointers(yield* none.admin("POST", "/api/webhooks", { body: draft }))).toStrictEqual(["/secret"])
      const server = yield* startWithGithub
      const elsewhere = yield* start({ repo: server.repo, secretKeys: [Redacted.make(new Uint8Array(32).fill(1))] })
      expect(refusal(yield* deliverTo(elsewhere, server.hook.path)(hello))).toStrictEqual([503, "unavailable"])
      expect((yield* server.deliver(hello)).status).toBe(202)
    })
  )
})

describe("warnings", () => {
  const draft = { input: "payload", prompt_template: "{{payload}} {{headers.x-github-event}} {{query.q}}" }

  it.scopedLive(
    "say that a secret is short, and that a template names what is not signed, wherever the webhook is shown",
    () =>
      Effect.gen(function* () {
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
        expect((yield* admin("GET", "/api/webhooks")).json[0].warnings).toStrictEqual(warnings)
        const copy = yield* admin("POST", `${path}/duplicate`, { body: {} })
        expect(copy.json.webhook.warnings).toStrictEqual(warnings)
        expect(yield* edit({ secret: "0123456789abcdef" })).toStrictEqual(warnings.slice(1))
        expect(yield* edit({ prompt_template: "{{payload}}" })).toBeUndefined()
      })
  )

  it.scopedLive("are not given for what is signed, nor where the secret itself is sent", () =>
    Effect.gen(function* () {
      const server = yield* start()
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
  )
})

describe("a delivery", () => {
  it.scopedLive("is one run, however often it comes and wherever, and may come again if it was refused", () =>
    Effect.gen(function* () {
      const server = yield* start()
      const idle = yield* server.team("idle", "no leader")
      const hook = yield* server.webhook(idle, "{{text}}", github)
      const replica = yield* start({ repo: server.repo })
      const id = { "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958" }
      const deliver = deliverTo(server, hook.path)
      expect((yield* deliver(hello, secret, id)).status).toBe(409)
      const edit = { when_team_stopped: "queue" }
      expect((yield* server.admin("PATCH", `/api/webhooks/${hook.id}`, { body: edit })).status).toBe(200)
      const ten = yield* Effect.forEach(
        Array.from({ length: 10 }, (_, i) => i),
        (i) => deliverTo(i % 2 ? server : replica, hook.path)(hello, secret, id),
        { concurrency: "unbounded" }
      )
      expect(new Set(ten.map(({ status }) => status))).toStrictEqual(new Set([202]))
      expect(new Set(ten.map(({ json }) => json.run_id)).size).toBe(1)
      expect((yield* deliver({ ...hello, more: true }, secret, id)).status).toBe(202)
      expect(yield* server.history(hook.id)).toHaveLength(2)
    })
  )

  it.scopedLive("is told apart by its id alone if the secret comes with it: then nothing is signed", () =>
    Effect.gen(function* () {
      const { history, http, team, webhook } = yield* start()
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
  )
})
