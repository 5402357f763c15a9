import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { start } from "../Server.ts"

describe("metrics", () => {
  it.live("count the requests by route and status, with each metric's samples together", function* () {
    const { http } = yield* start()
    yield* http("POST", `/webhook/trigger/whk_${"0".repeat(43)}`, { body: {} })
    const { text, headers, status } = yield* http("GET", "/metrics")
    expect(status).toBe(200)
    expect(headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8")
    expect(text).toMatch(
      /^http_server_requests_total\{method="POST",route="\/webhook\/trigger\/:token",status="404"\} \d+$/m
    )
    const types = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
    expect(new Set(types).size).toBe(types.length)
  })

  it.live("show how long the process kept its timers waiting since the last reading", function* () {
    const { http } = yield* start()
    const delay = Effect.map(http("GET", "/metrics"), ({ text }) =>
      Number(/^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(text)![1])
    )
    const block = Effect.sync(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500))
    // On a busy machine, over a hundred measurements may come between two readings, and hide one in the 99th percentile.
    yield* repeatUntil(Effect.andThen(block, delay), (seconds) => seconds > 0.4)
  })
})

describe("metrics of runs and teams", () => {
  it.live("show each team's queue and leaders, and how runs ended", function* () {
    const { http, team, webhook } = yield* start()
    yield* team("idle", "no leader")
    const { path } = yield* webhook(yield* team("ops"), "{{a}}")
    const before = yield* http("GET", "/metrics")
    const ended = (text: string) => Number(/^webhook_runs_ended_total\{status="success"\} (\d+)$/m.exec(text)?.[1] ?? 0)
    yield* http("POST", `${path}?wait=true`, { body: { variables: { a: 1 } } })
    const { text } = yield* http("GET", "/metrics")
    expect(text).toMatch(/^webhook_team_consumers\{team="ops"\} 1$/m)
    expect(text).toMatch(/^webhook_team_consumers\{team="idle"\} 0$/m)
    expect(text).toMatch(/^webhook_team_queued\{team="ops"\} 0$/m)
    expect(ended(text)).toBe(ended(before.text) + 1)
    for (const part of ["queued", "work", "total"]) {
      expect(text, part).toMatch(
        new RegExp(`^webhook_run_${part}_seconds_bucket\\{status="success",team="ops",le="86400"\\} [1-9]`, "m")
      )
    }
    expect(text).toMatch(/^http_server_request_duration_seconds_bucket\{.*le="86400"\} /m)
  })

  it.live("count a run that was denied", function* () {
    const { admin, http, team, webhook } = yield* start()
    const { path } = yield* webhook(yield* team("guarded"), "{{a}}", { approval: "required" })
    const cancelled = Effect.map(http("GET", "/metrics"), ({ text }) =>
      Number(/^webhook_runs_ended_total\{status="cancelled"\} (\d+)$/m.exec(text)?.[1] ?? 0)
    )
    const before = yield* cancelled
    const { json } = yield* http("POST", path, { body: { variables: { a: 1 } } })
    expect((yield* admin("POST", `/api/runs/${json.run_id}/approval`, { body: { decision: "deny" } })).status).toBe(200)
    expect(yield* cancelled).toBe(before + 1)
  })

  it.live("count what becomes the run of an earlier trigger, once for each delivery", function* () {
    const { http, team, webhook } = yield* start()
    const coalesce = { key: "a", within: 3_600 }
    const { path } = yield* webhook(yield* team("merging"), "{{a}}", { coalesce })
    const post = (key: string) =>
      http("POST", path, { body: { variables: { a: 1 } }, headers: { "idempotency-key": key } })
    const answers = yield* Effect.forEach(["one", "two", "one", "two", "two", "three"], post)
    expect(new Set(answers.map(({ json }) => json.run_id)).size).toBe(1)
    const { text } = yield* http("GET", "/metrics")
    expect(text).toMatch(/^webhook_triggers_coalesced_total\{team="merging"\} 2$/m)
  })

  it.live(
    "show a team no longer once it is deleted, and the last known values while the database is away",
    function* () {
      const { http, admin, team, faults } = yield* start()
      yield* team("kept", "no leader")
      yield* team("gone", "no leader")
      const teamsShown = Effect.map(http("GET", "/metrics"), ({ text }) =>
        text.match(/^webhook_team_\w+\{team="\w+"\}/gm)
      )
      const ofKept = ["queued", "consumers", "paused", "resting"].map((gauge) => `webhook_team_${gauge}{team="kept"}`)
      expect(yield* teamsShown).toContain('webhook_team_queued{team="gone"}')
      expect((yield* admin("DELETE", "/api/teams/gone")).status).toBe(204)
      expect(yield* teamsShown).toStrictEqual(ofKept)
      faults.add("database")
      expect(yield* teamsShown).toStrictEqual(ofKept)
    }
  )
})
