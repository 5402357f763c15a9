/** The owner of a shared URL is answered by its own webhook alone, whatever the others do. */

import { Context, DateTime, Deferred, Effect, Fiber, Layer } from "effect"
import { Unavailable } from "../../../src/domain/Errors.ts"
import type { Repo } from "../../../src/repo/Repo.ts"
import { type Offer, OfferStore } from "../../../src/repo/run/OfferStore.ts"
import { RunStore } from "../../../src/repo/run/RunStore.ts"
import { layerRepo } from "../../../src/testing.ts"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { changed, echo, hello, lead, repoAtNoon, start } from "../Server.ts"

/** Rows in which a test decides what becomes of the runs of some webhooks. */
const repoWith = (
  beforeRunOf: (webhook_id: string) => Effect.Effect<void, Unavailable> | undefined,
  rows: Layer.Layer<Repo> = layerRepo
) =>
  changed(rows, (context) => {
    const store = Context.get(context, RunStore)
    return Context.add(context, RunStore, {
      ...store,
      step: (input, options) => {
        const [before] = (input.accepts ?? []).flatMap(({ webhook }) => beforeRunOf(webhook?.id ?? "") ?? [])
        const stepped = store.step(input, options)
        return before === undefined ? stepped : Effect.andThen(before, stepped)
      }
    })
  })

const loops = "{% for i in (1..m) %}{% for j in (1..m) %}x{% endfor %}{% endfor %}"
const text = `${"a".repeat(62)}!`
const body = { variables: { text, n: 1_000_000_000, m: 1_000_000 } }

/** Each way in which an editor of the sharing webhook's team can make it refuse, and what it answers then. */
const ways: ReadonlyArray<readonly [way: string, settings: object, codes: ReadonlyArray<string>]> = [
  ["a rate", { rate: "1/day" }, ["rate_limited"]],
  ["a short queue", { max_queued: 1, when_team_stopped: "queue" }, ["too_many_queued_of_webhook"]],
  ["a budget of runs", { max_runs_per_day: 1 }, ["budget_exceeded"]],
  ["a template with a missing value", { prompt_template: "{{absent}}" }, ["missing_variables"]],
  [
    "a template that fails",
    { prompt_template: "{% for i in (1..n) %}{% endfor %}", template_language: "liquid" },
    ["template_failed"]
  ],
  ["a slow template", { prompt_template: loops, template_language: "liquid" }, ["template_failed", "unavailable"]],
  ["a slow ref", { workspace_ref: loops, template_language: "liquid" }, ["template_failed", "unavailable"]],
  ["a slow key of its thread", { thread_key: loops, template_language: "liquid" }, ["template_failed", "unavailable"]],
  ["a prompt that is too long", { prompt_template: "{{text}}".repeat(8_000) }, ["prompt_too_large"]],
  ["a filter that fails", { accept_if: "abs(text) > `1`" }, ["filter_failed"]],
  [
    "a filter that fails to cancel",
    { cancel_if: "abs(text) > `1`", singleton: { key: "{{text}}", on_new: "queue" } },
    ["filter_failed"]
  ],
  ["a schema that the request breaks", { schema: { required: ["absent"] } }, ["schema_mismatch"]],
  ["a slow schema", { schema: { properties: { text: { pattern: "^(a+)+$" } } } }, ["schema_mismatch", "unavailable"]],
  ["a key of its thread that is too long", { thread_key: "{{text}}".repeat(20) }, ["thread_key_too_long"]],
  ["a team without a leader", { team: "b" }, ["team_not_running"]]
]

describe("the answer of a URL that another team's webhook shares is its own webhook's", () => {
  it.live("whatever makes the other one refuse, which the answer lists, and the log of the other one", function* () {
    const { admin, history, http, team, webhook } = yield* start({ repo: repoAtNoon })
    const [a] = [yield* team("a"), yield* team("b", "no leader"), yield* team("c")]
    const logOf = (id: string): Effect.Effect<Array<any>> =>
      Effect.map(admin("GET", `/api/webhooks/${id}/requests`), ({ json }) => json.data)
    for (const [way, settings, codes] of ways) {
      const owner = yield* webhook(a)
      const isQueue = "when_team_stopped" in settings
      const other = yield* webhook(isQueue ? "b" : "c", "{{text}}", { shares: owner.id, ...settings })
      const said: Array<string> = []
      for (const n of [1, 2, 3]) {
        const headers = n === 3 ? {} : { "idempotency-key": `${way} ${n}` }
        const { headers: given, json, status } = yield* http("POST", owner.path, { body, headers })
        const { run_id } = json
        expect([status, json.status, json.runs?.[0]], way).toStrictEqual([
          202,
          "accepted",
          { webhook_id: owner.id, run_id }
        ])
        expect(given.get("location"), way).toBe(`${owner.path}/runs/${run_id}`)
        expect(given.get("retry-after"), way).toBe(null)
        // Without names, reasons and settings of the other team.
        for (const { webhook_id, code, retried, ...more } of json.refused ?? []) {
          expect([webhook_id, more], way).toStrictEqual([other.id, {}])
          said.push(code)
          const passes = ["unavailable", "too_many_queued_of_webhook", "team_not_running"].includes(code)
          expect(retried, `${way}: ${code}`).toBe(passes ? true : undefined)
        }
        for (const id of json.pending ?? []) {
          expect(id, way).toBe(other.id)
          said.push("pending")
        }
      }
      expect((yield* history(owner.id)).length, way).toBe(3)
      expect(yield* logOf(owner.id), way).toStrictEqual([])
      expect(said, way).not.toStrictEqual([])
      for (const code of said) expect(["pending", ...codes], way).toContain(code)
      const log = yield* repeatUntil(logOf(other.id), (log) => log.some(({ code }) => codes.includes(code)))
      for (const { code, detail } of log) {
        expect(codes, way).toContain(code)
        expect(detail.includes("is offered it again until"), `${way}: ${detail}`).toBe(
          ["unavailable", "too_many_queued_of_webhook", "team_not_running"].includes(code)
        )
      }
      // What it refused for a moment would be evaluated again and again.
      expect((yield* admin("DELETE", `/api/webhooks/${other.id}`)).status, way).toBe(204)
    }
  })

  it.live("also if that one refuses, ignores or waits", function* () {
    const { admin, history, http, team, webhook } = yield* start()
    const ends = yield* Deferred.make<void>()
    const a = yield* team("a", ({ reply }) =>
      Effect.andThen(Deferred.await(ends), reply({ _tag: "Answered", response: "done" }))
    )
    yield* team("b", "no leader")
    const queues = { when_team_stopped: "queue" }
    const owner = yield* webhook(a, "{{text}}", { accept_if: "text != 'skip'" })
    const taking = yield* webhook("b", "taken", { shares: owner.id, ...queues })
    const refusing = yield* webhook("b", "{{absent}}", { shares: owner.id, ...queues })
    const refused = [{ webhook_id: refusing.id, code: "missing_variables" }]
    const post = (variables: object, query = "", headers = {}) =>
      http("POST", owner.path + query, { body: { variables }, headers })
    const runs = [{ webhook_id: taking.id, run_id: expect.any(String) }]

    const unfit = yield* post({})
    expect(refusal(unfit)).toStrictEqual([422, "missing_variables"])
    expect([unfit.json.runs, unfit.json.refused]).toStrictEqual([runs, refused])
    const ignored = yield* post({ text: "skip" })
    expect([ignored.status, ignored.json]).toStrictEqual([200, { status: "ignored", runs, refused }])

    // The others get it before the caller has its answer.
    const waiting = yield* Effect.forkChild(post({ text: "hello" }, "?wait=true"))
    yield* repeatUntil(history(taking.id), ({ length }) => length === 3)
    expect(yield* Effect.sync(() => waiting.pollUnsafe())).toBeUndefined()
    yield* Deferred.succeed(ends, undefined)
    const answered = yield* Fiber.join(waiting)
    const { run_id } = answered.json
    expect([answered.status, answered.json]).toStrictEqual([
      200,
      { status: "success", response: "done", run_id, runs: [{ webhook_id: owner.id, run_id }, ...runs], refused }
    ])
    const events = yield* post({ text: "hello" }, "", { accept: "text/event-stream" })
    expect([events.status, events.text]).toStrictEqual([200, expect.stringContaining('"response":"done"')])
    expect(yield* history(taking.id)).toHaveLength(4)

    // A limit of its own is its answer, and nobody else's.
    yield* admin("PATCH", `/api/webhooks/${owner.id}`, { body: { rate: "1/day" } })
    yield* post({ text: "hello" })
    const limited = yield* post({ text: "hello" })
    expect(refusal(limited)).toStrictEqual([429, "rate_limited"])
    expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(3_600)
    expect(limited.json.runs).toStrictEqual(runs)
    expect(yield* history(taking.id)).toHaveLength(6)
  })

  it.live(
    "also while the other one's rows are locked: nobody waits for them, and its runs come later, once",
    function* () {
      let locked = ""
      const unlock = yield* Deferred.make<void>()
      const isAsked = yield* Deferred.make<void>()
      const repo = repoWith((id) =>
        id === locked ? Effect.andThen(Deferred.succeed(isAsked, undefined), Deferred.await(unlock)) : undefined
      )
      const { history, http, team, webhook } = yield* start({ repo })
      const [a, b] = [yield* team("a"), yield* team("b")]
      const owner = yield* webhook(a)
      const other = yield* webhook(b, "{{text}}", { shares: owner.id })
      locked = other.id
      for (const n of [1, 2, 3, 4, 5]) {
        const { json, status } = yield* http("POST", owner.path, { body: hello })
        expect([status, json.runs.length, json.pending], String(n)).toStrictEqual([202, 1, [other.id]])
      }
      yield* Deferred.await(isAsked)
      expect(yield* history(other.id)).toStrictEqual([])
      yield* Deferred.succeed(unlock, undefined)
      yield* repeatUntil(history(other.id), ({ length }) => length === 5)
      const after = yield* http("POST", owner.path, { body: hello })
      expect(after.status).toBe(202)
      const runs = yield* repeatUntil(history(other.id), ({ length }) => length >= 6)
      expect(runs).toHaveLength(6)
    }
  )

  it.live("also for a webhook that fails, is disabled, moved or deleted while it has not decided", function* () {
    let broken = ""
    const repo = repoWith((id) =>
      id === broken ? Effect.fail(new Unavailable({ what: "database", detail: "for this webhook" })) : undefined
    )
    const { admin, history, http, team, webhook } = yield* start({ repo })
    const [a, b, c] = [yield* team("a"), yield* team("b"), yield* team("c")]
    const of = { shares: "" }
    for (const change of [{ enabled: false }, { team: c }, { shares: null }, "delete"] as const) {
      const owner = yield* webhook(a)
      of.shares = owner.id
      const other = yield* webhook(b, "{{text}}", of)
      broken = other.id
      const { json, status } = yield* http("POST", owner.path, { body: hello })
      const refused = [{ webhook_id: other.id, code: "unavailable", retried: true }]
      expect([status, json.runs.length, json.refused]).toStrictEqual([202, 1, refused])
      const path = `/api/webhooks/${other.id}`
      if (change === "delete") yield* admin("DELETE", path)
      else expect((yield* admin("PATCH", path, { body: change })).status).toBe(200)
      broken = ""
      // What came before belongs to the team and the URL that it had then. What comes after it shows that there was time for it.
      const next = yield* webhook(b, "{{text}}", of)
      broken = next.id
      yield* http("POST", owner.path, { body: hello })
      broken = ""
      yield* repeatUntil(history(next.id), ({ length }) => length === 1)
      if (change !== "delete") {
        // A webhook that moved and still shares the URL gets what came after that: again, if one step failed for both.
        const count = "team" in change ? 1 : 0
        expect(yield* repeatUntil(history(other.id), ({ length }) => length >= count)).toHaveLength(count)
      }
    }
  })
})

describe("what a sharing webhook refused for a moment", () => {
  it.live("reaches it once, as soon as it accepts it: with and without an ID, also if it is sent again", function* () {
    const server = yield* start()
    const { admin, context, history, http, webhook } = server
    const [a] = [yield* server.team("a"), yield* server.team("b", "no leader"), yield* server.team("c", "no leader")]
    const owner = yield* webhook(a)
    const stopped = yield* webhook("b", "{{text}}", { shares: owner.id, store_requests: "refused" })
    const full = yield* webhook("c", "{{text}}", { shares: owner.id, when_team_stopped: "queue", max_queued: 1 })
    const post = (text: unknown, key?: string) =>
      http("POST", owner.path, {
        raw: `{"variables":{"text":${text}}}`,
        headers: { "content-type": "application/json", ...(key !== undefined && { "idempotency-key": key }) }
      })
    const codesOf = (json: any) => json.refused?.map(({ code, retried }: any) => [code, retried])
    const both = [
      ["team_not_running", true],
      ["too_many_queued_of_webhook", true]
    ]
    expect(codesOf((yield* post('"first"', "one")).json)).toStrictEqual(both.slice(0, 1))
    expect(codesOf((yield* post('"\\u0000 is data"')).json)?.[0]).not.toStrictEqual(both[0])
    const exact = "1.10"
    const second = yield* post(exact, "two")
    expect(codesOf(second.json)).toStrictEqual(both)
    expect(codesOf((yield* post('"third"')).json)).toStrictEqual(both)
    // A redelivery gives the owner's run again, and asks the others again.
    const redelivered = yield* post(exact, "two")
    expect([redelivered.json.run_id, codesOf(redelivered.json)]).toStrictEqual([second.json.run_id, both])

    yield* Effect.provide(lead("b", echo), context)
    yield* admin("PATCH", `/api/webhooks/${full.id}`, { body: { max_queued: 10 } })
    const promptsOf = (id: string) =>
      Effect.flatMap(history(id), (runs) =>
        Effect.forEach(runs, ({ run_id }) =>
          Effect.map(admin("GET", `/api/runs/${run_id}`), ({ json }) => json.conversation.prompt as string)
        )
      )
    const expected = ["1.10", "first", "third"]
    for (const { id } of [stopped, full]) {
      yield* repeatUntil(history(id), ({ length }) => length >= 3)
      expect((yield* promptsOf(id)).toSorted()).toStrictEqual(expected)
    }
    // Once they have it, nothing that is sent again starts another run.
    const known = yield* post(exact, "two")
    expect([known.status, known.json.run_id, known.json.runs.length]).toStrictEqual([202, second.json.run_id, 3])
    yield* post('"last"')
    yield* repeatUntil(history(stopped.id), ({ length }) => length >= 4)
    expect((yield* promptsOf(stopped.id)).toSorted()).toStrictEqual(["1.10", "first", "last", "third"])
  })

  it.live("reaches it also after a restart, with its files", function* () {
    const rows = Layer.succeedContext(yield* Layer.build(layerRepo))
    const sent = yield* Effect.scoped(
      Effect.gen(function* () {
        const { http, team, webhook } = yield* start({ repo: rows })
        const [a] = [yield* team("a"), yield* team("b", "no leader")]
        const owner = yield* webhook(a)
        const other = yield* webhook("b", "{{text}}", { shares: owner.id })
        const form = new FormData()
        form.set("text", "with a file")
        form.set("file", new Blob(["content"], { type: "text/plain" }), "a.txt")
        const raw = new Response(form)
        const bytes = Buffer.from(yield* Effect.promise(() => raw.arrayBuffer()))
        const headers = { "content-type": raw.headers.get("content-type")! }
        const { json, status } = yield* http("POST", owner.path, { raw: bytes, headers })
        const refused = [{ webhook_id: other.id, code: "team_not_running", retried: true }]
        expect([status, json.runs.length]).toStrictEqual([202, 1])
        // A busy machine may be too slow for the answer.
        if (json.pending === undefined) expect(json.refused).toStrictEqual(refused)
        return { other }
      })
    )
    const { admin, history, team } = yield* start({ repo: rows })
    yield* team("b")
    const [{ run_id }] = yield* repeatUntil(history(sent.other.id), ({ length }) => length > 0)
    const { json } = yield* admin("GET", `/api/runs/${run_id}`)
    expect([json.conversation.prompt, json.files]).toMatchObject(["with a file", [{ name: "a.txt", size: 7 }]])
  })

  it.live("reaches it also if the server ends before it has decided", function* () {
    const rows = Layer.succeedContext(yield* Layer.build(layerRepo))
    let undecided = ""
    const kept: Array<Offer> = []
    // What is kept is due at once, rather than in a minute.
    const repo = changed(
      repoWith((id) => (id === undecided ? Effect.never : undefined), rows),
      (context) => {
        const store = Context.get(context, OfferStore)
        const keepOffers: typeof store.keepOffers = (offers, limits) => {
          kept.push(...offers)
          return store.keepOffers(
            offers.map((offer) => ({ ...offer, due_at: DateTime.makeUnsafe(0) })),
            limits
          )
        }
        return Context.add(context, OfferStore, { ...store, keepOffers })
      }
    )
    const sent = yield* Effect.scoped(
      Effect.gen(function* () {
        const { http, team, webhook } = yield* start({ repo })
        const [a, b] = [yield* team("a"), yield* team("b")]
        const owner = yield* webhook(a)
        const other = yield* webhook(b, "{{text}}", { shares: owner.id })
        undecided = other.id
        const { json, status } = yield* http("POST", owner.path, { body: hello })
        expect([status, json.pending]).toStrictEqual([202, [other.id]])
        expect(kept).toMatchObject([{ webhook_id: other.id, tries: 0 }])
        return { other }
      })
    )
    const { history, team } = yield* start({ repo: rows })
    yield* team("b")
    yield* repeatUntil(history(sent.other.id), ({ length }) => length > 0)
    expect(yield* history(sent.other.id)).toHaveLength(1)
  })
})
