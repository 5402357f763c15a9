/** Triggers that name the time before which their run does not begin. */

import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { untilEffect } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { hello, start } from "../Server.ts"

const hour = 3_600_000

const scheduled = (fields: object = {}) =>
  Effect.gen(function* () {
    const server = yield* start()
    const { admin, http } = server
    const hook = yield* server.webhook(yield* server.team("ops"), "{{text}}", fields)
    const trigger = (query: string, headers = {}) => http("POST", `${hook.path}?${query}`, { body: hello, headers })
    const shown = (id: string) => Effect.map(admin("GET", `/api/runs/${id}`), ({ json }) => json)
    const end = (id: string) =>
      untilEffect(
        "it has ended",
        Effect.map(shown(id), (run) => !["queued", "running"].includes(run.status) && run)
      )
    return { ...server, hook, trigger, shown, end }
  })

describe("a trigger with `not_before`", () => {
  it.live("starts a run that waits for its time, and that somebody can start early or cancel", function* () {
    const { admin, end, http, hook, shown, trigger } = yield* scheduled()
    const begun = Date.now()
    const accepted = yield* trigger("not_before=8h")
    expect(accepted.status).toBe(202)
    const { run_id } = accepted.json
    const run = yield* shown(run_id)
    expect(run).toMatchObject({
      ...{ status: "queued", held_for: "time" },
      waits_for: { code: "time", until: run.held_until }
    })
    expect(Date.parse(run.held_until) - begun).toBeGreaterThanOrEqual(8 * hour)
    expect(Date.parse(run.held_until) - begun).toBeLessThan(8.1 * hour)
    const other = (yield* trigger(`not_before=${new Date(begun + hour).toISOString()}`)).json.run_id
    expect((yield* shown(other)).held_until).toBe(new Date(begun + hour).toISOString())

    // Others pass them.
    yield* end((yield* http("POST", hook.path, { body: hello })).json.run_id)
    expect(yield* shown(run_id)).toMatchObject({ held_for: "time" })

    expect(yield* admin("POST", `/api/runs/${run_id}/start`)).toMatchObject({ status: 200, json: { run_id } })
    expect(yield* end(run_id)).toMatchObject({ status: "success" })
    expect(yield* admin("POST", `/api/runs/${run_id}/start`)).toMatchObject({ json: { status: "success" } })
    expect(yield* admin("POST", `/api/runs/${other}/cancel`)).toMatchObject({ json: { status: "cancelled" } })
    expect((yield* shown(other)).held_for).toBeUndefined()
    expect(refusal(yield* admin("POST", "/api/runs/00000000-0000-7000-8000-000000000000/start"))).toEqual([
      404,
      "not_found"
    ])
    const { json } = yield* admin("GET", "/api/audit?action=run.started_early")
    expect(json.data.map(({ object }: any) => object)).toEqual([run_id])
  })

  it.live("starts at once if the time has come, and when it comes", function* () {
    const { end, shown, trigger } = yield* scheduled()
    const past = (yield* trigger("not_before=2020-01-01T00:00:00%2B01:00")).json.run_id
    expect((yield* shown(past)).held_for).toBeUndefined()
    const soon = (yield* trigger("not_before=1s")).json.run_id
    const [, ended] = [yield* end(past), yield* end(soon)]
    expect(Date.parse(ended.sent_at) - Date.parse(ended.accepted_at)).toBeGreaterThanOrEqual(1_000)
  })

  it.live("is refused with a time that is none or too far, or with a caller who waits", function* () {
    const { trigger } = yield* scheduled()
    for (const [query, code] of [
      ["not_before=tomorrow", "invalid_parameter"],
      ["not_before=2026-02-30T00:00:00Z", "invalid_parameter"],
      ["not_before=-1h", "invalid_parameter"],
      ["not_before=31d", "invalid_parameter"],
      ["not_before=9999999d", "invalid_parameter"],
      ["not_before=1h&not_before=2h", "invalid_parameter"],
      ["not_before=1h&wait=true", "invalid_wait"]
    ]) {
      expect([query, ...refusal(yield* trigger(query!))]).toEqual([query, 400, code])
    }
  })

  it.live("is refused by a webhook that combines requests", function* () {
    const { trigger } = yield* scheduled({ coalesce: { key: "text", within: 60 } })
    expect(refusal(yield* trigger("not_before=1h"))).toEqual([400, "invalid_parameter"])
  })

  it.live("gets its run again with its idempotency key, and is another request with another time", function* () {
    const { trigger } = yield* scheduled()
    const key = { "idempotency-key": "nightly" }
    const first = yield* trigger("not_before=1h", key)
    expect((yield* trigger("not_before=1h", key)).json.run_id).toBe(first.json.run_id)
    expect(refusal(yield* trigger("not_before=2h", key))).toEqual([422, "idempotency_key_reused"])
  })
})
