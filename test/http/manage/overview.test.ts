import { describe, expect, it } from "../../support/It.ts"
import { refusal } from "../Client.ts"
import { start } from "../Server.ts"

describe("triggering with the admin key", () => {
  it.live("answers like a trigger", function* () {
    const { admin, team, webhook } = yield* start()
    const { id } = yield* webhook(yield* team("ops"))
    const run = (body: unknown, wait = "") => admin("POST", `/api/webhooks/${id}/runs${wait}`, { body })
    const accepted = yield* run({ variables: { text: "hello" } })
    expect(accepted.status).toBe(202)
    const asked = yield* run({ variables: { text: "hello" } }, "?wait=true")
    expect([asked.status, asked.json.response]).toStrictEqual([200, "echo: hello"])
    const once = { body: { variables: { text: "hello" } }, headers: { "idempotency-key": "one click" } }
    const [first, again] = [
      yield* admin("POST", `/api/webhooks/${id}/runs`, once),
      yield* admin("POST", `/api/webhooks/${id}/runs`, once)
    ]
    expect(again.json.run_id).toBe(first.json.run_id)
    expect(refusal(yield* run({ variables: {} }))).toStrictEqual([422, "missing_variables"])
    expect(refusal(yield* run({}))).toStrictEqual([422, "invalid"])
    yield* admin("PATCH", `/api/webhooks/${id}`, { body: { enabled: false } })
    expect(refusal(yield* run({ variables: { text: "hello" } }))).toStrictEqual([404, "not_found"])
    expect(refusal(yield* admin("POST", "/api/webhooks/none/runs", { body: { variables: {} } }))).toStrictEqual([
      404,
      "not_found"
    ])
  })
})

describe("the overview", () => {
  it.live("counts the runs of the last day by hour, and those of a range by its steps", function* () {
    const { admin, http, team, webhook } = yield* start({ settings: { maxConcurrent: 7 } })
    const { id } = yield* webhook(yield* team("ops"))
    yield* admin("POST", `/api/webhooks/${id}/runs?wait=true`, { body: { variables: { text: "hello" } } })
    const [activity] = (yield* admin("GET", "/api/activity")).json.data
    expect(activity.webhook_id).toBe(id)
    // The hour may have ended since.
    expect(activity.hours).toStrictEqual([{ hour: expect.any(Number), success: 1 }])
    expect([22, 23]).toContain(activity.hours[0].hour)
    const runs = (yield* admin("GET", "/api/teams/ops/runs")).json.data
    expect(runs).toHaveLength(1)
    for (const [range, count] of [
      ["24h", 24],
      ["7d", 28],
      ["30d", 30]
    ] as const) {
      const { json } = yield* admin("GET", `/api/webhooks/${id}/statistics?range=${range}`)
      expect(json).toMatchObject({ slots_in_use: 0, queued: 0, limit: 7 })
      expect(json.buckets).toHaveLength(count)
      // The last but one when an hour has just ended.
      const own = json.buckets.findLast(({ at }: { at: string }) => at <= runs[0].accepted_at)
      expect(own).toMatchObject({ success: 1, error: 0, timeout: 0, live: 0 })
      expect(Math.abs(Date.now() - Date.parse(json.buckets.at(-1).at))).toBeLessThan(24 * 3_600_000)
    }
    expect((yield* admin("GET", `/api/webhooks/${id}/statistics?range=1y`)).status).toBe(400)
    const { json: totals } = yield* admin("GET", "/api/totals")
    expect([totals.hours.length, totals.days.length]).toStrictEqual([48, 14])
    expect(totals.last_day).toMatchObject({ success: 1, error: 0, median_ms: expect.any(Number) })
    expect(totals.day_before).toMatchObject({ success: 0, at: totals.hours[0].at })
    expect(totals.last_day.at).toBe(totals.hours[24].at)
    for (const buckets of [totals.hours, totals.days]) {
      expect(buckets.findLast(({ at }: { at: string }) => at <= runs[0].accepted_at)).toMatchObject({ success: 1 })
    }
    expect((yield* admin("GET", "/api/now")).json).toStrictEqual({ work: [] })
    expect((yield* admin("GET", "/api/webhooks/none/statistics")).status).toBe(404)
    expect((yield* admin("GET", "/api/server")).json).toMatchObject({ webhook_max_concurrent: 7, agents: [] })
    // What is installed on the machine is for admins of the whole server.
    for (const limits of [{ role: "viewer" }, { role: "admin", teams: ["ops"] }]) {
      const { key } = (yield* admin("POST", "/api/keys", { body: { name: "limited", ...limits } })).json
      const { json } = yield* http("GET", "/api/server", { headers: { authorization: `Bearer ${key}` } })
      expect([json.webhook_max_concurrent, json.agents]).toStrictEqual([7, undefined])
    }
    expect((yield* admin("GET", "/api/teams/none/runs")).status).toBe(404)
  })
})
