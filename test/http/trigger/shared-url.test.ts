/** `shares`: one URL for several webhooks. */
import { createRequire } from "node:module"
import { Context, Effect, Layer } from "effect"
import { ChangeFeed } from "../../../src/repo/ChangeFeed.ts"
import type { Repo } from "../../../src/repo/Repo.ts"
import { layerRepo } from "../../../src/testing.ts"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil, until } from "../../support/Until.ts"
import { twoTeams } from "../access/TwoTeams.ts"
import { pointers, refusal } from "../Client.ts"
import { hello, type Leader, lead, repoAtNoon, start } from "../Server.ts"

// Without types: those of whole APIs make the check of types half as long again.
const { Webhook: Svix } = createRequire(import.meta.url)("svix")

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

/** As the library of the Standard Webhooks signs. */
const signed = (id: string, body: object) => {
  const raw = JSON.stringify(body)
  const at = new Date()
  const headers = {
    "content-type": "application/json",
    "svix-id": id,
    "svix-timestamp": String(Math.floor(at.getTime() / 1000)),
    "svix-signature": new Svix(secret).sign(id, at, raw)
  }
  return { raw, headers }
}

/** A webhook that verifies requests, and two that share its URL, each with its own filter, template and team. */
const shared = (options: { readonly repo?: Layer.Layer<Repo>; readonly lastLed?: boolean } = {}) =>
  Effect.gen(function* () {
    const server = yield* start(options.repo && { repo: options.repo })
    const seen: Array<string> = []
    const leader: Leader = ({ prompt, reply }) => {
      seen.push(prompt.prompt)
      return reply({ _tag: "Answered", response: "done" })
    }
    const [a, b] = [yield* server.team("a", leader), yield* server.team("b", leader)]
    const c = yield* server.team("c", options.lastLed === false ? "no leader" : leader)
    const of = { input: "payload" }
    const verification = { preset: "standard-webhooks" }
    const owner = yield* server.webhook(a, "a: {{payload.text}}", {
      ...{ ...of, verification, secret },
      accept_if: "contains(payload.to, 'a')"
    })
    const shares = owner.id
    const second = yield* server.webhook(b, "b: {{payload.text}}", {
      ...of,
      shares,
      accept_if: "contains(payload.to, 'b')"
    })
    const third = yield* server.webhook(c, "c: {{payload.more}}", {
      ...of,
      shares,
      accept_if: "contains(payload.to, 'c')"
    })
    const deliver = (id: string, body: object, http = server.http) => http("POST", owner.path, signed(id, body))
    const runsOf = Effect.map(
      Effect.forEach([owner, second, third], ({ id }) => server.history(id)),
      (all) => all.map((runs) => runs.map(({ run_id }) => run_id as string))
    )
    return { ...server, seen, leader, owner, second, third, deliver, runsOf }
  })

describe("a URL that webhooks share", () => {
  it.live("offers a request, which a library has signed, to each webhook: its filter, template and team", function* () {
    const { deliver, http, owner, runsOf, second, seen, third } = yield* shared()
    const all = yield* deliver("msg_1", { to: "abc", text: "hello", more: "and more" })
    const [[of], [ofSecond], [ofThird]] = (yield* runsOf) as any
    expect([all.status, all.json]).toStrictEqual([
      202,
      {
        status: "accepted",
        run_id: of,
        runs: [
          { webhook_id: owner.id, run_id: of },
          { webhook_id: second.id, run_id: ofSecond },
          { webhook_id: third.id, run_id: ofThird }
        ]
      }
    ])
    expect(all.headers.get("location")).toBe(`${owner.path}/runs/${of}`)
    // One takes it, and the URL's own webhook does not.
    const one = yield* deliver("msg_2", { to: "b", text: "for b" })
    const run_id = expect.any(String)
    expect([one.status, one.json]).toStrictEqual([
      200,
      { status: "ignored", runs: [{ webhook_id: second.id, run_id }] }
    ])
    expect(one.headers.get("location")).toBe(null)
    const none = yield* deliver("msg_3", { to: "", text: "for none" })
    expect([none.status, none.json]).toStrictEqual([200, { status: "ignored" }])
    expect((yield* runsOf).map(({ length }) => length)).toEqual([1, 2, 1])
    yield* Effect.promise(() => until("all prompts have arrived", () => seen.length === 4))
    expect(seen.toSorted()).toStrictEqual(["a: hello", "b: for b", "b: hello", "c: and more"])

    // Nobody is offered what is not verified.
    const { headers, raw } = signed("msg_4", { to: "abc", text: "x", more: "x" })
    const forged = yield* http("POST", owner.path, { raw: raw.replace("abc", "abd"), headers })
    expect(refusal(forged)).toStrictEqual([401, "not_verified"])
    expect((yield* runsOf).map(({ length }) => length)).toEqual([1, 2, 1])
  })

  it.live("gives each webhook one run of a delivery: a redelivery starts only what was refused before", function* () {
    const { context, deliver, leader, runsOf, second, owner, third } = yield* shared({ lastLed: false })
    const body = { to: "abc", text: "hello", more: "and more" }
    const first = yield* deliver("msg_1", body)
    const [[of], [ofSecond], none] = (yield* runsOf) as any
    expect(none).toStrictEqual([])
    const accepted = [
      { webhook_id: owner.id, run_id: of },
      { webhook_id: second.id, run_id: ofSecond }
    ]
    const refused = [{ webhook_id: third.id, code: "team_not_running", retried: true }]
    expect([first.status, first.json.runs, first.json.refused]).toStrictEqual([202, accepted, refused])
    expect((yield* deliver("msg_1", body)).json).toStrictEqual(first.json)
    // Its own webhook alone decides how it is answered.
    const ignored = yield* deliver("msg_2", { ...body, to: "c" })
    expect([ignored.status, ignored.json]).toStrictEqual([200, { status: "ignored", refused }])
    yield* Effect.provide(lead("c", leader), context)
    const second_ = yield* deliver("msg_1", body)
    const ofThird = second_.json.runs[2].run_id
    expect([second_.status, second_.json.runs]).toStrictEqual([
      202,
      [...accepted, { webhook_id: third.id, run_id: ofThird }]
    ])
    expect((yield* deliver("msg_1", body)).json).toStrictEqual(second_.json)
    // The server itself offers both again, and only the other one is new.
    const all = yield* repeatUntil(runsOf, ([, , ofC = []]) => ofC.length === 2)
    expect(all.map(({ length }) => length)).toEqual([1, 1, 2])
    expect(all[2]).toContain(ofThird)
  })

  it.live("shows and cancels the runs of its own webhook alone", function* () {
    const { http, team, webhook } = yield* start()
    const owner = yield* webhook(yield* team("a"))
    yield* webhook("a", "{{text}}", { shares: owner.id })
    const both = yield* http("POST", owner.path, { body: hello })
    expect(both.json.runs).toHaveLength(2)
    for (const [method, more] of [
      ["GET", ""],
      ["GET", "/events"],
      ["POST", "/cancel"]
    ] as const) {
      const other = yield* http(method, `${owner.path}/runs/${both.json.runs[1].run_id}${more}`)
      expect(refusal(other), more).toStrictEqual([404, "not_found"])
    }
    expect((yield* http("GET", `${owner.path}/runs/${both.json.run_id}`)).status).toBe(200)
  })

  it.live("lists what each webhook accepted, cancelled and refused, in the answer of its own one", function* () {
    const { admin, http, team, webhook } = yield* start({ repo: repoAtNoon })
    const queues = { when_team_stopped: "queue" }
    const owner = yield* webhook(yield* team("a", "no leader"), "{{n}}", {
      ...{
        ...queues,
        singleton: { key: "{{n}}", on_new: "queue" },
        cancel_if: "text == 'stop'",
        accept_if: "text != 'skip'"
      }
    })
    const other = yield* webhook("a", "{{n}}", { shares: owner.id, ...queues, max_runs_per_day: 1 })
    let sent = 0
    const post = (text: string) => {
      const headers = { "idempotency-key": `k${sent++}` }
      return http("POST", owner.path, { body: { variables: { n: "1", text } }, headers })
    }
    const edit = (body: object) => admin("PATCH", `/api/webhooks/${other.id}`, { body })
    const [old, run] = (yield* post("go")).json.runs
    expect(run.webhook_id).toBe(other.id)
    const refused = [{ webhook_id: other.id, code: "budget_exceeded" }]
    const accepted = yield* post("go")
    const { run_id } = accepted.json
    expect([accepted.status, accepted.json]).toStrictEqual([
      202,
      { status: "accepted", run_id, runs: [{ webhook_id: owner.id, run_id }], refused }
    ])
    const cancelled = yield* post("stop")
    const { run_ids, ...rest } = cancelled.json
    expect([cancelled.status, rest]).toStrictEqual([200, { status: "cancelled", refused }])
    expect(run_ids.toSorted()).toStrictEqual([old.run_id, run_id])
    const ignored = yield* post("skip")
    expect([ignored.status, ignored.json]).toStrictEqual([200, { status: "ignored", refused }])

    yield* edit({ max_runs_per_day: null })
    const again = (yield* post("go")).json.runs[0].run_id
    const both = yield* post("stop")
    const runs = [{ webhook_id: other.id, run_id: expect.any(String) }]
    expect([both.status, both.json]).toStrictEqual([200, { status: "cancelled", run_ids: [again], runs }])
    // An answer without a run says why its own webhook started none.
    yield* edit({ accept_if: null, singleton: { key: "{{n}}", on_new: "skip" } })
    expect((yield* post("skip")).json).toMatchObject({ status: "ignored", runs: [{ webhook_id: other.id }] })
    expect((yield* post("skip")).json).toStrictEqual({ status: "ignored" })
    yield* edit({ singleton: { key: "{{n}}", on_new: "queue" }, cancel_if: "text == 'skip'" })
    const { cancelled: ofOther, ...own } = (yield* post("skip")).json
    expect([own, ofOther.length > 0]).toStrictEqual([{ status: "ignored" }, true])
  })

  it.live("keeps the requests of each webhook for its own team", function* () {
    const { admin, deliver, owner, second, third } = yield* shared()
    const edit = (id: string, body: object) => admin("PATCH", `/api/webhooks/${id}`, { body })
    yield* edit(second.id, { store_requests: "all" })
    yield* edit(third.id, { store_requests: "refused" })
    const { json } = yield* deliver("msg_1", { to: "bc", text: "hello" })
    yield* deliver("msg_2", { to: "a", text: "hello" })
    const requestsOf = (id: string) =>
      Effect.map(admin("GET", `/api/webhooks/${id}/requests?accepted=true`), ({ json: { data }, text }) => {
        // Its own webhook says which headers hold secrets.
        expect(text).not.toContain("svix-signature")
        return data.map(({ body, code, run_id }: any) => [code, run_id, body])
      })
    const bodyOf = (to: string) => JSON.stringify({ to, text: "hello" })
    expect(yield* requestsOf(second.id)).toStrictEqual([
      ["ignored", undefined, bodyOf("a")],
      ["accepted", json.runs[0].run_id, bodyOf("bc")]
    ])
    expect(yield* requestsOf(third.id)).toStrictEqual([
      ["ignored", undefined, undefined],
      ["missing_variables", undefined, bodyOf("bc")]
    ])
    expect(yield* requestsOf(owner.id)).toStrictEqual([["ignored", undefined, undefined]])
  })

  it.live("is the same on a replica that misses all notifications, from the next request on", function* () {
    const rows = yield* Layer.build(layerRepo)
    const server = yield* start({ repo: Layer.succeedContext(rows) })
    const deaf = Context.add(rows, ChangeFeed, { ...Context.get(rows, ChangeFeed), listen: () => Effect.void })
    const replica = yield* start({ repo: Layer.succeedContext(deaf) })
    const { admin, webhook } = server
    const [a, b] = [yield* server.team("a", "no leader"), yield* server.team("b", "no leader")]
    const queues = { when_team_stopped: "queue" }
    const owner = yield* webhook(a, "{{text}}", queues)
    const post = replica.http("POST", owner.path, { body: hello })
    const takers = Effect.map(post, ({ json }) => json.runs?.map(({ webhook_id }: any) => webhook_id))
    expect(Object.keys((yield* post).json)).toStrictEqual(["status", "run_id"])
    const edit = (id: string, body: object) =>
      Effect.map(admin("PATCH", `/api/webhooks/${id}`, { body }), ({ status, text }) => expect(status, text).toBe(200))

    const second = yield* webhook(b, "{{text}}", { ...queues, shares: owner.id })
    expect(yield* takers).toStrictEqual([owner.id, second.id])
    const third = yield* webhook(b, "{{text}}", { ...queues, shares: owner.id, enabled: false })
    expect(yield* takers).toStrictEqual([owner.id, second.id])
    yield* edit(third.id, { enabled: true })
    expect(yield* takers).toStrictEqual([owner.id, second.id, third.id])
    yield* edit(second.id, { enabled: false })
    yield* edit(third.id, { accept_if: "text == 'other'" })
    expect(yield* takers).toStrictEqual([owner.id])
    yield* edit(third.id, { accept_if: null, team: "a" })
    expect(yield* takers).toStrictEqual([owner.id, third.id])
    expect((yield* server.history(third.id))[0].team).toBe("a")
    // Also if the URL's own webhook takes nothing.
    yield* edit(owner.id, { accept_if: "text == 'other'" })
    expect(yield* takers).toStrictEqual([third.id])
    yield* edit(second.id, { enabled: true })
    expect(yield* takers).toStrictEqual([second.id, third.id])
    expect((yield* admin("DELETE", `/api/webhooks/${second.id}`)).status).toBe(204)
    yield* edit(third.id, { shares: null })
    expect((yield* post).json).toStrictEqual({ status: "ignored" })
    yield* edit(third.id, { shares: owner.id })
    expect(yield* takers).toStrictEqual([third.id])

    // The token and the switch of its own webhook hold for all.
    const before = yield* server.history(third.id)
    yield* edit(owner.id, { enabled: false })
    expect(refusal(yield* post)).toStrictEqual([404, "not_found"])
    yield* edit(owner.id, { enabled: true })
    yield* admin("POST", `/api/webhooks/${owner.id}/token`)
    expect(refusal(yield* post)).toStrictEqual([404, "not_found"])
    expect(yield* server.history(third.id)).toStrictEqual(before)
  })
})

describe("a webhook that shares a URL", () => {
  it.live("has no token, and gets one when it no longer shares", function* () {
    const { admin, http, team, webhook } = yield* start()
    const owner = yield* webhook(yield* team("ops"), "{{text}}")
    const body = { name: "second", team: "ops", prompt_template: "{{text}}", shares: owner.id }
    const created = yield* admin("POST", "/api/webhooks", { body })
    expect([created.status, Object.keys(created.json)]).toStrictEqual([201, ["webhook"]])
    expect(created.json.webhook).toMatchObject({ shares: owner.id })
    expect(created.json.webhook.token_hint).toBe(undefined)
    const path = `/api/webhooks/${created.json.webhook.id}`
    expect(refusal(yield* admin("POST", `${path}/token`))).toStrictEqual([409, "url_shared"])
    expect(Object.keys((yield* admin("POST", `${path}/duplicate`)).json)).toStrictEqual(["webhook"])
    // People, assistants and replays start its runs.
    const run = yield* admin("POST", `${path}/runs?wait=true`, { body: hello })
    expect([run.status, run.json.response]).toStrictEqual([200, "echo: hello"])
    expect((yield* admin("POST", `/api/runs/${run.json.run_id}/replay`, { body: {} })).status).toBe(202)

    expect((yield* admin("PATCH", path, { body: { shares: null } })).json.shares).toBe(undefined)
    const given = yield* admin("POST", `${path}/token`)
    expect((yield* http("POST", `/webhook/trigger/${given.json.token}`, { body: hello })).status).toBe(202)
    expect((yield* http("POST", owner.path, { body: hello })).json.runs).toHaveLength(2)
    // Its token ends when it shares again, with the old one.
    yield* admin("POST", `${path}/token?overlap_seconds=600`)
    yield* admin("PATCH", path, { body: { shares: owner.id } })
    for (const { token } of [given.json]) {
      expect(refusal(yield* http("POST", `/webhook/trigger/${token}`, { body: hello }))).toStrictEqual([
        404,
        "not_found"
      ])
    }
    expect((yield* http("POST", owner.path, { body: hello })).json.runs).toHaveLength(3)
  })

  it.live("is refused if it could not be offered requests, and protects the other one from deletion", function* () {
    const { admin, team, webhook } = yield* start()
    const owner = yield* webhook(yield* team("ops"), "{{payload}}", { input: "payload" })
    const second = yield* webhook("ops", "{{payload}}", { input: "payload", shares: owner.id, name: "second" })
    const draft = { name: "x", team: "ops", prompt_template: "{{payload}}", input: "payload" }
    const faultsOf = (fields: object, id?: string) =>
      Effect.map(
        id === undefined
          ? admin("POST", "/api/webhooks", { body: { ...draft, ...fields } })
          : admin("PATCH", `/api/webhooks/${id}`, { body: fields }),
        (answer) => [answer.status, pointers(answer)]
      )
    const unused = "01890a5d-ac96-774b-bcce-b302099a8057"
    for (const shares of [unused, "second", second.id]) {
      expect(yield* faultsOf({ shares })).toStrictEqual([422, ["/shares"]])
    }
    expect(yield* faultsOf({ shares: owner.id, input: "variables", prompt_template: "x" })).toStrictEqual([
      422,
      ["/input"]
    ])
    const verified = { verification: { preset: "github" }, secret: "0123456789abcdef", allow_from: ["10.0.0.0/8"] }
    expect(yield* faultsOf({ shares: owner.id, ...verified })).toStrictEqual([422, ["/verification", "/allow_from"]])
    expect(yield* faultsOf({ allow_from: ["10.0.0.0/8"] }, second.id)).toStrictEqual([422, ["/allow_from"]])
    expect(yield* faultsOf({ input: "variables", prompt_template: "x" }, owner.id)).toStrictEqual([422, ["/input"]])
    expect(yield* faultsOf({ shares: owner.id }, owner.id)).toStrictEqual([422, ["/shares"]])
    const other = yield* webhook("ops", "{{payload}}", { input: "payload" })
    expect(yield* faultsOf({ shares: other.id }, owner.id)).toStrictEqual([422, ["/shares"]])
    const kept = yield* admin("DELETE", `/api/webhooks/${owner.id}`)
    expect(refusal(kept)).toStrictEqual([409, "url_shared"])
    expect(kept.json.detail).toContain("share its URL: second.")
    yield* admin("DELETE", `/api/webhooks/${second.id}`)
    expect((yield* admin("DELETE", `/api/webhooks/${owner.id}`)).status).toBe(204)
  })

  it.live("needs the rights to the teams of both webhooks", function* () {
    const { a, b, keyFor, server } = yield* twoTeams()
    const both = yield* keyFor(["a", "b"], "editor")
    const c = yield* server.team("c")
    const draft = (team: string) => ({ name: "guest", team, prompt_template: "{{text}}", shares: a.hook.id })
    const path = (id: string) => `/api/webhooks/${id}`
    const refused = yield* b.as("POST", "/api/webhooks", { body: draft("b") })
    expect([refused.status, pointers(refused)]).toStrictEqual([422, ["/shares"]])
    const other = yield* b.as("PATCH", path(b.hook.id), { body: { shares: a.hook.id } })
    expect([other.status, pointers(other)]).toStrictEqual([422, ["/shares"]])
    const { json } = yield* both.as("POST", "/api/webhooks", { body: draft("b") })
    const guest: string = json.webhook.id

    // Each team sees its own.
    const { runs } = (yield* server.http("POST", a.hook.path, { body: hello })).json
    expect((yield* b.as("GET", `/api/runs/${runs[1].run_id}`)).status).toBe(200)
    expect((yield* a.as("GET", `/api/runs/${runs[1].run_id}`)).status).toBe(404)
    expect((yield* b.as("GET", `/api/runs/${runs[0].run_id}`)).status).toBe(404)
    // What concerns one of them only.
    expect((yield* b.as("PATCH", path(guest), { body: { accept_if: "text", shares: a.hook.id } })).status).toBe(200)
    expect((yield* a.as("PATCH", path(a.hook.id), { body: { name: "renamed", team: "a" } })).status).toBe(200)
    // A move gives a third team the requests of the first, or those of a third one to the second.
    const [withoutA, withoutB] = [yield* keyFor(["b", c], "editor"), yield* keyFor(["a", c], "editor")]
    for (const [key, id] of [
      [withoutA, guest],
      [withoutB, a.hook.id]
    ] as const) {
      const moved = yield* key.as("PATCH", path(id), { body: { team: c } })
      expect([moved.status, pointers(moved)]).toStrictEqual([422, ["/team"]])
    }
    const kept = yield* withoutB.as("DELETE", path(a.hook.id))
    expect([kept.status, kept.json.detail]).toStrictEqual([409, expect.stringContaining(": 1 of other teams.")])
    const all = yield* keyFor(["a", "b", c], "editor")
    expect((yield* all.as("PATCH", path(a.hook.id), { body: { team: c } })).status).toBe(200)
    expect((yield* server.http("POST", a.hook.path, { body: hello })).json.runs).toHaveLength(2)
    // To leave needs nobody's consent.
    expect((yield* b.as("PATCH", path(guest), { body: { shares: null } })).status).toBe(200)
    expect((yield* server.http("POST", a.hook.path, { body: hello })).json.runs).toBe(undefined)
  })
})
