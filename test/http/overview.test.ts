import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refusal, start } from "./Server.ts"

describe("triggering with the admin key", () => {
  it.scopedLive("answers as a trigger does", () =>
    Effect.gen(function* () {
      const { admin, team, webhook } = yield* start()
      const { id } = yield* webhook(yield* team("ops"))
      const run = (body: unknown, wait = "") => admin("POST", `/api/webhooks/${id}/runs${wait}`, { body })
      const accepted = yield* run({ variables: { text: "hello" } })
      assert.strictEqual(accepted.status, 202)
      const asked = yield* run({ variables: { text: "hello" } }, "?wait=true")
      assert.deepStrictEqual([asked.status, asked.json.response], [200, "echo: hello"])
      assert.deepStrictEqual(refusal(yield* run({ variables: {} })), [422, "missing_variables"])
      assert.deepStrictEqual(refusal(yield* run({})), [400, "invalid_body"])
      yield* admin("PATCH", `/api/webhooks/${id}`, { body: { enabled: false } })
      assert.deepStrictEqual(refusal(yield* run({ variables: { text: "hello" } })), [404, "not_found"])
      assert.deepStrictEqual(refusal(yield* admin("POST", "/api/webhooks/none/runs", { body: { variables: {} } })), [
        404,
        "not_found"
      ])
    })
  )
})

describe("the overview", () => {
  it.scopedLive("counts the runs of a day by hour, and of a range by its steps", () =>
    Effect.gen(function* () {
      const { admin, team, webhook } = yield* start({ settings: { maxConcurrent: 7 } })
      const { id } = yield* webhook(yield* team("ops"))
      yield* admin("POST", `/api/webhooks/${id}/runs?wait=true`, { body: { variables: { text: "hello" } } })
      const [activity] = (yield* admin("GET", "/api/activity")).json
      assert.strictEqual(activity.webhook_id, id)
      assert.lengthOf(activity.hours, 24)
      assert.strictEqual(
        activity.hours.reduce((sum: number, hour: { success: number }) => sum + hour.success, 0),
        1
      )
      const runs = (yield* admin("GET", "/api/teams/ops/runs")).json
      assert.lengthOf(runs, 1)
      for (const [range, count] of [
        ["24h", 24],
        ["7d", 28],
        ["30d", 30]
      ] as const) {
        const { json } = yield* admin("GET", `/api/webhooks/${id}/statistics?range=${range}`)
        assert.deepInclude(json, { slots_in_use: 0, queued: 0, limit: 7 })
        assert.lengthOf(json.buckets, count)
        // The last but one when an hour has just ended.
        const own = json.buckets.findLast(({ at }: { at: string }) => at <= runs[0].accepted_at)
        assert.deepInclude(own, { success: 1, error: 0, timeout: 0, live: 0 })
        assert.isBelow(Math.abs(Date.now() - Date.parse(json.buckets.at(-1).at)), 24 * 3_600_000)
      }
      assert.strictEqual((yield* admin("GET", `/api/webhooks/${id}/statistics?range=1y`)).status, 400)
      assert.strictEqual((yield* admin("GET", "/api/webhooks/none/statistics")).status, 404)
      assert.deepInclude((yield* admin("GET", "/api/server")).json, { webhook_max_concurrent: 7 })
      assert.strictEqual((yield* admin("GET", "/api/teams/none/runs")).status, 404)
    })
  )
})

describe("live events", () => {
  it.scopedLive("tell whoever listens what may have changed, and nobody without the key", () =>
    Effect.gen(function* () {
      const { admin, http, origin, team, webhook } = yield* start()
      const { id } = yield* webhook(yield* team("ops"))
      assert.strictEqual((yield* http("GET", "/api/events")).status, 401)
      const response = yield* Effect.promise(() =>
        fetch(`${origin}/api/events`, { headers: { authorization: "Bearer an-admin-key-for-tests" } })
      )
      assert.strictEqual(response.headers.get("content-type"), "text/event-stream")
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
      let heard = ""
      const hear = (text: string) =>
        Effect.promise(async () => {
          while (!heard.includes(text)) heard += (await reader.read()).value
        })
      yield* hear("retry: ")
      yield* admin("PATCH", `/api/webhooks/${id}`, { body: { name: "renamed" } })
      yield* hear("event: change\ndata: webhooks\n\n")
      yield* admin("POST", `/api/webhooks/${id}/runs`, { body: { variables: { text: "hello" } } })
      yield* hear("event: change\ndata: runs\n\n")
      yield* Effect.promise(() => reader.cancel())
    })
  )
})
