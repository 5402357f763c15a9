import { Effect, Redacted } from "effect"
import { Repo } from "../../../src/repo/Repo.ts"
import { describe, expect, it } from "../../support/It.ts"
import { shared } from "../../support/Shared.ts"
import { pointers, refusal } from "../Client.ts"
import { hello, start } from "../Server.ts"
import { deliverTo, github, other, secret, withGithub } from "./Github.ts"

const atOneServer = shared(start())
const ownWebhook = Effect.flatMap(atOneServer, withGithub)

describe("a secret", () => {
  it.live("is replaced at once, or accepted beside the new one until it is ended", function* () {
    const { admin, hook, deliver } = yield* ownWebhook
    const edit = (body: object) => Effect.map(admin("PATCH", `/api/webhooks/${hook.id}`, { body }), ({ json }) => json)
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

  it.live("is in no answer, event, log or row as it is", function* () {
    const { admin, hook, deliver, repo } = yield* ownWebhook
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

  it.live("is in no prompt, run or kept request, and no filter sees it, whatever its header is called", function* () {
    const { admin, history, http, team, webhook } = yield* atOneServer
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

  it.live("and what asks for it are checked together, each fault with its place", function* () {
    const { admin, webhook, team } = yield* atOneServer
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
      [{ verification: { preset: "hmac", header: "X", signed: "{timestamp}{body}" }, secret }, "/verification/signed"],
      [{ verification: { preset: "hmac", header: "X", signed: "body" }, secret }, "/verification/signed"],
      [{ verification: { preset: "hmac", header: "X", timestamp_prefix: "t=" }, secret }, "/verification/separator"],
      [{ verification: { preset: "hmac", header: "X", separator: "x" }, secret }, "/verification/separator"],
      [
        { verification: { preset: "hmac", header: "X", timestamp_unit: "iso" }, secret },
        "/verification/timestamp_unit"
      ],
      [{ verification: { preset: "hmac", header: "X", key_encoding: "base64" }, secret }, "/secret"],
      [{ verification: { preset: "hmac", header: "X", signed: "{form}{body}" }, secret }, "/verification/signed"],
      [{ verification: { preset: "discord" }, secret }, "/secret"],
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

  it.live("cannot be stored without a key, and cannot be checked without the key that encrypted it", function* () {
    const none = yield* start({ secretKeys: [] })
    yield* none.team("ops")
    const draft = { name: "n", team: "ops", prompt_template: "x", ...github }
    expect(pointers(yield* none.admin("POST", "/api/webhooks", { body: draft }))).toStrictEqual(["/secret"])
    const server = yield* ownWebhook
    const elsewhere = yield* start({ repo: server.repo, secretKeys: [Redacted.make(new Uint8Array(32).fill(1))] })
    expect(refusal(yield* deliverTo(elsewhere, server.hook.path)(hello))).toStrictEqual([503, "unavailable"])
    expect((yield* server.deliver(hello)).status).toBe(202)
  })
})
