import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { HistoryStore } from "../../../src/repo/history/HistoryStore.ts"
import { layerRepo } from "../../../src/testing.ts"
import { describe, expect, it } from "../../support/It.ts"
import { type Answer, refusal } from "../Client.ts"
import { hello, silent, start, startWithWebhook, unusedId } from "../Server.ts"

const withToken = (token: string) => ({ authorization: `Bearer ${token}` })

/** Everything in an answer but its date, and how long its connection is kept, which depends on earlier requests over it. */
const bytesOf = ({ headers, status, text }: Answer) => [
  status,
  [...headers].filter(([name]) => name !== "date" && name !== "keep-alive"),
  text
]

describe("a token in a header", () => {
  it.live("does what it does in the path, and Location has none", function* () {
    const { hook, http, team, webhook } = yield* startWithWebhook
    const headers = withToken(hook.token)
    const accepted = yield* http("POST", "/webhook/trigger", { body: hello, headers })
    expect(accepted.status).toBe(202)
    const location = accepted.headers.get("location")!
    expect(location).toBe(`/webhook/trigger/runs/${accepted.json.run_id}`)
    const shown = yield* http("GET", `${location}?wait=true`, { headers })
    expect([shown.status, shown.json.response]).toEqual([200, "echo: hello"])
    const waited = yield* http("POST", "/webhook/trigger?wait=true", { body: hello, headers })
    expect([waited.status, waited.json.response]).toEqual([200, "echo: hello"])
    const slow = yield* webhook(yield* team("slow", silent))
    const running = yield* http("POST", slow.path, { body: hello })
    const cancelled = yield* http("POST", `/webhook/trigger/runs/${running.json.run_id}/cancel`, {
      headers: { authorization: `bearer  ${slow.token}` }
    })
    expect([cancelled.status, cancelled.json.status]).toEqual([200, "cancelled"])
    // Its own runs only.
    expect((yield* http("GET", location, { headers: withToken(slow.token) })).status).toBe(404)
  })

  it.live("that opens nothing is answered with the same bytes as one in the path", function* () {
    const { hook, http } = yield* startWithWebhook
    const expected = bytesOf(yield* http("POST", "/webhook/trigger/x", { body: hello }))
    for (const authorization of [
      ...["", "Bearer", "Bearer x", `Bearer whk_${"0".repeat(43)}`, `Bearer ${hook.token}0`],
      ...[hook.token, `Basic ${hook.token}`, `Bearer ${hook.token} ${hook.token}`]
    ]) {
      const headers = { authorization }
      expect(bytesOf(yield* http("POST", "/webhook/trigger", { body: hello, headers })), authorization).toEqual(
        expected
      )
      const run = yield* http("GET", `/webhook/trigger/runs/${unusedId}`, { headers })
      expect(refusal(run), authorization).toEqual([404, "not_found"])
    }
    const get = yield* http("GET", "/webhook/trigger", { headers: withToken(hook.token) })
    expect([get.status, get.headers.get("allow")]).toEqual([405, "POST"])
  })
})

describe("a token's checksum", () => {
  it.live("tells a text that only looks like a token apart without the database, with the same answer", function* () {
    const { faults, hook, http } = yield* startWithWebhook
    const unknown = bytesOf(yield* http("POST", `/webhook/trigger/whk_${"0".repeat(43)}`, { body: hello }))
    faults.add("database")
    const [random, checksum] = [hook.token.slice(0, 47), hook.token.slice(47)]
    const wrong = `${random}${checksum === "000000" ? "000001" : "000000"}`
    expect(bytesOf(yield* http("POST", `/webhook/trigger/${wrong}`, { body: hello }))).toEqual(unknown)
    // The checksum is optional.
    expect((yield* http("POST", `/webhook/trigger/${random}`, { body: hello })).status).toBe(503)
  })
})

describe("a caller that waits for a run", () => {
  for (const [what, method, path, body] of [
    ["is replaced", "POST", "/token", undefined],
    ["is that of a webhook that is disabled", "PATCH", "", { enabled: false }],
    ["is that of a webhook that is deleted", "DELETE", "", undefined]
  ] as const) {
    it.live(`gets 404 on every replica when its token ${what}`, function* () {
      const held = yield* Deferred.make<void>()
      const repo = yield* Layer.build(layerRepo)
      const history = Context.get(repo, HistoryStore)
      // It is read once the watch of its end has begun.
      const run = (...args: Parameters<typeof history.run>) =>
        Effect.tap(history.run(...args), () => Deferred.succeed(held, undefined))
      const first = yield* start({ repo: Layer.succeedContext(repo) })
      const second = yield* start({
        repo: Layer.succeedContext(Context.add(repo, HistoryStore, { ...history, run }))
      })
      const hook = yield* first.webhook(yield* first.team("slow", silent))
      const { json } = yield* first.http("POST", hook.path, { body: hello })
      const waiting = yield* Effect.forkChild(second.http("GET", `${hook.path}/runs/${json.run_id}?wait=true`))
      yield* Deferred.await(held)
      yield* first.admin(method, `/api/webhooks/${hook.id}${path}`, body && { body })
      const answer = yield* Fiber.join(waiting)
      expect(bytesOf(answer)).toEqual(bytesOf(yield* second.http("GET", `${hook.path}/runs/${json.run_id}`)))
      expect(refusal(answer)).toEqual([404, "not_found"])
    })
  }
})
