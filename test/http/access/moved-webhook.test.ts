/** What a webhook had and did in another team stays that team's. */

import { Effect, Fiber } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { receiver } from "../../support/Receiver.ts"
import { untilEffect } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { openEvents } from "../events/EventReader.ts"
import { hello } from "../Server.ts"
import { twoTeams } from "./TwoTeams.ts"

const notFound = [404, "not_found"]

const paused = Effect.gen(function* () {
  const given = yield* twoTeams()
  for (const team of ["a", "b"]) yield* given.server.admin("POST", `/api/teams/${team}/pause`)
  const path = `/api/webhooks/${given.a.hook.id}`
  const moveTo = (team: string) => given.server.admin("PATCH", path, { body: { team } })
  const trigger = (headers = {}) =>
    Effect.map(given.server.http("POST", given.a.hook.path, { body: hello, headers }), ({ json }) => json)
  return { ...given, path, moveTo, trigger }
})

describe("a webhook that was moved to another team", () => {
  it.live("shows callers none of its earlier runs, nor changes one, with any of its tokens", function* () {
    const { a, b, moveTo, path, server, trigger } = yield* paused
    const before = yield* trigger({ "idempotency-key": "k" })
    yield* moveTo("b")
    const made = yield* b.as("POST", `${path}/token?overlap_seconds=3600`)
    const tokens = [a.hook.path, `/webhook/trigger/${made.json.token}`]
    const refusedOf = (run_id: string) =>
      Effect.gen(function* () {
        for (const token of tokens) {
          for (const [method, more] of [
            ["GET", ""],
            ["GET", "?wait=true"],
            ["GET", "/events"],
            ["POST", "/cancel"]
          ] as const) {
            const answer = yield* server.http(method, `${token}/runs/${run_id}${more}`)
            expect(refusal(answer), `${method} ${more}`).toStrictEqual(notFound)
          }
        }
      })
    for (const run_id of [a.run_id, before.run_id]) yield* refusedOf(run_id)
    const after = yield* trigger({ "idempotency-key": "k" })
    expect(after.run_id).not.toBe(before.run_id)
    expect(yield* trigger({ "idempotency-key": "k" })).toStrictEqual(after)
    for (const token of tokens) {
      expect((yield* server.http("GET", `${token}/runs/${after.run_id}`)).json.status).toBe("queued")
    }

    // Back in its first team, its tokens may still be those of the second.
    yield* moveTo("a")
    for (const run_id of [a.run_id, before.run_id, after.run_id]) yield* refusedOf(run_id)
    expect([before.run_id, after.run_id]).not.toContain((yield* trigger({ "idempotency-key": "k" })).run_id)
    expect((yield* a.as("GET", `/api/runs/${before.run_id}`)).json.status).toBe("queued")
  })

  it.live("joins no window of its earlier team, and knows no key of a trigger that joined one", function* () {
    const { moveTo, path, server, trigger } = yield* paused
    const coalesce = { key: "text", within: 600 }
    yield* server.admin("PATCH", path, { body: { coalesce } })
    const first = yield* trigger()
    expect((yield* trigger({ "idempotency-key": "joined" })).run_id).toBe(first.run_id)
    yield* moveTo("b")
    expect((yield* trigger({ "idempotency-key": "joined" })).run_id).not.toBe(first.run_id)
  })

  it.live("ends the streams and waits of its callers, and of the team's keys", function* () {
    const { a, moveTo, server, trigger } = yield* paused
    const { run_id } = yield* trigger()
    const run = `${a.hook.path}/runs/${run_id}`
    const ofCaller = yield* openEvents(`${server.origin}${run}/events`)
    const ofKey = yield* openEvents(`${server.origin}/api/runs/${run_id}/events`, {
      headers: { authorization: `Bearer ${a.key}` }
    })
    for (const { next } of [ofCaller, ofKey]) expect((yield* next).event).toBe("accepted")
    const waiting = yield* Effect.forkChild(server.http("GET", `${run}?wait=true`))
    yield* moveTo("b")
    expect(yield* ofCaller.rest).toStrictEqual([])
    expect(refusal(yield* Fiber.join(waiting))).toStrictEqual(notFound)
    yield* server.admin("POST", `/api/runs/${run_id}/cancel`)
    expect(yield* ofKey.rest).toStrictEqual([])
  })

  it.live("hides the requests that came in its earlier team", function* () {
    const { a, b, keyFor, moveTo, path, server, trigger } = yield* paused
    yield* server.http("POST", a.hook.path, { body: { variables: {} } })
    yield* moveTo("b")
    const { run_id } = yield* trigger()
    const seenBy = (as: typeof a.as) =>
      Effect.map(as("GET", `${path}/requests?accepted=true`), ({ json }) =>
        json.data.map((one: { code: string; team: string }) => [one.team, one.code])
      )
    const all = [
      ["b", "accepted"],
      ["a", "missing_variables"],
      ["a", "accepted"]
    ]
    expect(yield* seenBy(server.admin)).toStrictEqual(all)
    expect(yield* seenBy((yield* keyFor(["a", "b"])).as)).toStrictEqual(all)
    expect(yield* seenBy(b.as)).toStrictEqual([["b", "accepted"]])
    const { data } = (yield* server.admin("GET", `${path}/requests?accepted=true`)).json
    const one = (n: number) => b.as("GET", `${path}/requests/${data[n].request_id}`)
    expect((yield* one(0)).json.run_id).toBe(run_id)
    for (const n of [1, 2]) expect(refusal(yield* one(n))).toStrictEqual(notFound)
  })

  it.live("cancels, of its queue and of a team's, only the runs of the key's teams", function* () {
    const { a, b, keyFor, moveTo, path, trigger } = yield* paused
    yield* trigger()
    yield* moveTo("b")
    yield* trigger()
    const cancelled = (as: typeof a.as, of: string) =>
      Effect.gen(function* () {
        const dry = (yield* as("POST", `${of}/cancel-queued?dry_run=true`)).json
        expect((yield* as("POST", `${of}/cancel-queued`)).json).toStrictEqual(dry)
        return dry.cancelled
      })
    expect(yield* cancelled(a.as, "/api/teams/a")).toBe(0)
    expect(yield* cancelled(b.as, path)).toBe(1)
    expect(yield* cancelled((yield* keyFor(["a", "b"])).as, path)).toBe(1)
  })

  it.live("is deleted, with its earlier team's runs, only by a key of both teams", function* () {
    const { a, b, keyFor, moveTo, path, server } = yield* paused
    yield* moveTo("b")
    const refused = yield* b.as("DELETE", path)
    expect(refusal(refused)).toStrictEqual([403, "forbidden"])
    expect(refused.json.detail).toContain("has runs of another team")
    expect((yield* server.admin("GET", `/api/runs/${a.run_id}`)).status).toBe(200)
    expect((yield* (yield* keyFor(["a", "b"])).as("DELETE", path)).status).toBe(204)
  })

  it.live("does not see, or replay, the runs that a webhook had in another team", function* () {
    const { a, b, keyFor, server } = yield* twoTeams()
    const both = yield* keyFor(["a", "b"])
    expect((yield* both.as("PATCH", `/api/webhooks/${a.hook.id}`, { body: { team: "b" } })).status).toBe(200)
    for (const { as } of [a, b]) {
      for (const [method, path] of [
        ["GET", ""],
        ["GET", "/replays"],
        ["GET", "/steps"],
        ["GET", "/files"],
        ["GET", "/files/in-1"],
        ["POST", "/replay"],
        ["POST", "/reply"],
        ["POST", "/cancel"]
      ]) {
        const body = method === "POST" ? { body: path === "/reply" ? { message: "x" } : {} } : {}
        expect(refusal(yield* as(method!, `/api/runs/${a.run_id}${path}`, body)), path).toStrictEqual(notFound)
      }
    }
    const idsOf = (path: string) =>
      Effect.map(b.as("GET", path), ({ json }) => json.data.map(({ run_id }: { run_id: string }) => run_id))
    expect(yield* idsOf(`/api/webhooks/${a.hook.id}/runs`)).toStrictEqual([])
    expect(yield* idsOf("/api/runs")).toHaveLength(2)
    const all = { body: { webhook_id: a.hook.id, status: ["success"] } }
    expect((yield* b.as("POST", "/api/runs/replay", all)).json.matched).toBe(0)
    expect((yield* b.as("POST", "/api/runs/replay", { body: { run_ids: [a.run_id] } })).json.replayed).toEqual([])
    // Someone with both teams replays it in its new team, where the new run is seen, but not the old one.
    const again = yield* both.as("POST", `/api/runs/${a.run_id}/replay?wait=true`, { body: {} })
    expect(yield* idsOf(`/api/webhooks/${a.hook.id}/runs`)).toStrictEqual([again.json.run_id])
    expect((yield* server.admin("GET", `/api/runs/${a.run_id}/replays`)).json.data).toHaveLength(1)
  })

  it.live("gets nothing through destinations of the runs that a webhook had in another team", function* () {
    const { a, b, server } = yield* twoTeams()
    const { received, url } = yield* receiver(410, 200)
    const path = `/api/webhooks/${a.hook.id}`
    const added = yield* a.as("POST", `${path}/destinations`, { body: { url, body: "full" } })
    const destination_id: string = added.json.destination.id
    const destination = `${path}/destinations/${destination_id}`
    const trigger = server.http("POST", `${a.hook.path}?wait=true`, { body: hello })
    yield* trigger
    const listed = server.admin("GET", `${path}/deliveries?status=failed&destination_id=${destination_id}`)
    const [failed] = yield* untilEffect(
      "the delivery has failed",
      Effect.map(listed, ({ json }) => json.data.length > 0 && json.data)
    )
    yield* server.admin("PATCH", destination, { body: { enabled: true } })
    yield* server.admin("PATCH", path, { body: { team: "b" } })

    expect((yield* b.as("GET", `${path}/deliveries`)).json.data).toStrictEqual([])
    for (const [method, more] of [
      ["GET", ""],
      ["POST", "/resend"]
    ] as const) {
      expect(refusal(yield* b.as(method, `${path}/deliveries/${failed.id}${more}`))).toStrictEqual(notFound)
    }
    const refused = yield* server.admin("POST", `${path}/deliveries/${failed.id}/resend`)
    const detail = "the webhook has been moved to another team since this run"
    expect([refused.status, refused.json.errors]).toStrictEqual([422, [{ pointer: "", detail }]])
    const resent = yield* b.as("POST", `${destination}/resend?since=2026-01-01T00:00:00Z`)
    expect(resent.json).toStrictEqual({ resent: 0 })
    const test = Effect.gen(function* () {
      expect((yield* b.as("POST", `${destination}/test`)).json.http_status).toBe(200)
      return received.map(({ body }) => JSON.parse(body)).findLast(({ type }) => type === "test").data
    })
    expect(yield* test).toMatchObject({ team: "b", variables: { text: "sample" }, response: "A sample answer." })
    expect(received).toHaveLength(2)
    const { run_id } = (yield* trigger).json
    expect(yield* test).toMatchObject({ run_id, team: "b", variables: { text: "hello" } })
  })
})
