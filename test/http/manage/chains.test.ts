import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { untilEffect } from "../../support/Until.ts"
import { adminKey, hello, start } from "../Server.ts"

/** Two webhooks of two teams, and the runs of each. */
const two = Effect.gen(function* () {
  const server = yield* start()
  yield* server.team("ops", ({ reply }) => reply({ _tag: "Answered", response: "42" }))
  yield* server.team("other")
  const first = yield* server.webhook("ops", "{{text}}", { name: "first" })
  const second = yield* server.webhook("other", "{{webhook.name}} said {{response}}, to {{variables.text}}")
  const link = (from: string, target: string, more: object = {}, key?: string) =>
    server.http("POST", `/api/webhooks/${from}/destinations`, {
      body: { kind: "chain", target, ...more },
      headers: { authorization: `Bearer ${key ?? adminKey}` }
    })
  const deliveries = (of: string) =>
    Effect.map(server.admin("GET", `/api/webhooks/${of}/deliveries`), (a) => a.json.data)
  const ended = (of: string, count: number) =>
    untilEffect(
      `${count} runs have ended`,
      Effect.map(server.history(of), (runs) => {
        const all = runs as ReadonlyArray<any>
        return all.length >= count && all.every(({ status }) => status === "success") && all
      })
    )
  const settled = (of: string) =>
    untilEffect(
      "no delivery is pending",
      Effect.map(deliveries(of), (all) => all.length > 0 && all.every((one: any) => one.status !== "pending") && all)
    )
  const run = (run_id: string) => Effect.map(server.admin("GET", `/api/runs/${run_id}`), ({ json }) => json)
  const trigger = server.http("POST", `${first.path}?wait=true`, { body: hello })
  return { ...server, first, second, link, deliveries, ended, settled, run, trigger }
})

describe("a destination that is another webhook", () => {
  it.scopedLive(
    "starts one run with the answer, which names its origin; a delivery that is sent again starts no other",
    () =>
      Effect.gen(function* () {
        const { admin, ended, first, link, run, second, settled, trigger } = yield* two
        const created = yield* link(first.id, second.id, { events: ["run.succeeded"] })
        expect([created.status, created.json.secret]).toStrictEqual([201, undefined])
        expect(created.json.destination).toMatchObject({ kind: "chain", target: second.id, body: "full" })
        const origin = (yield* trigger).json.run_id
        const [delivery] = yield* settled(first.id)
        const [{ run_id }] = yield* ended(second.id, 1)
        expect(delivery).toMatchObject({ status: "delivered", attempts: [{ http_status: 202, started_run: run_id }] })
        const chained = yield* run(run_id)
        expect(chained).toMatchObject({ chained_from: origin, chain_depth: 1, team: "other" })
        expect(chained.conversation.prompt).toBe("first said 42, to hello")
        yield* admin("POST", `/api/webhooks/${first.id}/deliveries/${delivery.id}/resend`)
        const again = yield* untilEffect(
          "it was sent again",
          Effect.map(settled(first.id), ([one]) => one.attempts.length === 2 && one)
        )
        expect(again.attempts.map((one: any) => one.started_run)).toEqual([run_id, run_id])
        expect(yield* ended(second.id, 1)).toHaveLength(1)
        // A replay has the same place in the chain.
        const replay = yield* admin("POST", `/api/runs/${run_id}/replay`)
        expect(yield* run(replay.json.run_id)).toMatchObject({
          chained_from: origin,
          chain_depth: 1,
          replay_of: run_id
        })
      })
  )

  it.scopedLive("ends a chain of webhooks that start each other after five runs, and says so", () =>
    Effect.gen(function* () {
      const { ended, first, link, run, second, settled, trigger } = yield* two
      const body = { body: "template", template: '{"text": "{{ run.status }}"}' }
      expect((yield* link(first.id, second.id)).status).toBe(201)
      expect((yield* link(second.id, first.id, body)).status).toBe(201)
      yield* trigger
      const last = yield* ended(second.id, 3)
      const [failed] = yield* settled(second.id)
      expect(yield* ended(first.id, 3)).toHaveLength(3)
      expect(last).toHaveLength(3)
      expect(failed).toMatchObject({ status: "failed", run_id: last[0].run_id, attempts: [{ http_status: 508 }] })
      expect(failed.attempts[0].error).toMatch(/^at most 5 runs may follow the first run of a chain/)
      expect(yield* run(last[0].run_id)).toMatchObject({ chain_depth: 5, delivery_failed: true })
    })
  )

  it.scopedLive("is refused for a webhook that the key may not use, and stops when one moves to another team", () =>
    Effect.gen(function* () {
      const { admin, first, link, second, settled, team, trigger, webhook } = yield* two
      const { key } = (yield* admin("POST", "/api/keys", { body: { name: "ops", role: "editor", teams: ["ops"] } }))
        .json
      const own = yield* webhook("ops")
      const faultOf = (answer: any) => [answer.status, answer.json.errors?.[0]]
      const notThere = [422, { pointer: "/target", detail: "is not a webhook that you can use" }]
      expect(faultOf(yield* link(first.id, second.id, {}, key))).toStrictEqual(notThere)
      const unknown = "019b7d08-0000-7000-8000-000000000000"
      expect(faultOf(yield* link(first.id, unknown))).toStrictEqual(notThere)
      expect(faultOf(yield* link(first.id, first.id))[1]).toMatchObject({ detail: "must be another webhook" })
      expect(faultOf(yield* link(first.id, "second"))[1]).toMatchObject({ detail: "must be the ID of a webhook" })
      const within = yield* link(first.id, own.id, { events: ["run.failed"] }, key)
      expect(within.status).toBe(201)
      const at = `/api/webhooks/${first.id}/destinations/${within.json.destination.id}`
      const edit = { body: { target: second.id }, headers: { authorization: `Bearer ${key}` } }
      expect(faultOf(yield* admin("PATCH", at, edit))).toStrictEqual(notThere)

      const allowed = yield* link(first.id, second.id)
      expect(allowed.status).toBe(201)
      yield* team("third")
      yield* admin("PATCH", `/api/webhooks/${second.id}`, { body: { team: "third" } })
      yield* trigger
      const [failed] = yield* settled(first.id)
      expect(failed).toMatchObject({ status: "failed", attempts: [{ http_status: 403 }] })
      expect(failed.attempts[0].error).toMatch(/moved to another team/)
      const again = `/api/webhooks/${first.id}/destinations/${allowed.json.destination.id}`
      expect((yield* admin("PATCH", again, { body: { target: second.id } })).status).toBe(200)
      yield* admin("POST", `/api/webhooks/${first.id}/deliveries/${failed.id}/resend`)
      yield* untilEffect(
        "it is delivered",
        Effect.map(settled(first.id), ([one]) => one.status === "delivered")
      )
    })
  )
})
