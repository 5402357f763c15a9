import { Effect, Fiber } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { pointers, refusal, sorted } from "../Client.ts"
import { failing, hello, repoWithClock, silent, start } from "../Server.ts"

describe("teams", () => {
  it.live("are created, listed, shown as running or not, and deleted", function* () {
    const { admin, team } = yield* start()
    expect((yield* admin("GET", "/api/teams")).json.data).toStrictEqual([])
    const created = yield* admin("POST", "/api/teams", { body: { team: "idle" } })
    expect(created.status).toBe(201)
    expect(sorted(Object.keys(created.json))).toStrictEqual(
      sorted(["team", "running", "consumers", "queued", "created_at"])
    )
    expect(created.json).toMatchObject({ team: "idle", running: false, consumers: 0, queued: 0 })
    expect(created.json.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    yield* team("busy")
    const busy = yield* admin("GET", "/api/teams/busy")
    expect(busy.json).toMatchObject({ running: true, consumers: 1 })
    const all = yield* admin("GET", "/api/teams")
    expect(sorted(all.json.data.map(({ team }: { team: string }) => team))).toStrictEqual(sorted(["idle", "busy"]))
    const deleted = yield* admin("DELETE", "/api/teams/idle")
    expect([deleted.status, deleted.text]).toStrictEqual([204, ""])
    expect(refusal(yield* admin("GET", "/api/teams/idle"))).toStrictEqual([404, "not_found"])
  })

  it.live(
    "are refused: 409 when they exist or are in use, 404 when unknown or malformed, 422 when not valid, 400 without JSON",
    function* () {
      const { admin, team, webhook } = yield* start()
      yield* webhook(yield* team("ops"))
      const again = yield* admin("POST", "/api/teams", { body: { team: "ops" } })
      expect(refusal(again)).toStrictEqual([409, "team_exists"])
      expect(refusal(yield* admin("DELETE", "/api/teams/ops"))).toStrictEqual([409, "team_in_use"])
      for (const name of ["none", "No_Slug", "x".repeat(64), "x".repeat(500), "%00"]) {
        for (const method of ["GET", "DELETE"]) {
          expect(refusal(yield* admin(method, `/api/teams/${name}`)), name).toStrictEqual([404, "not_found"])
        }
      }
      for (const name of ["", "Ops", "-a", "a b", "x".repeat(64), 1, null]) {
        const answer = yield* admin("POST", "/api/teams", { body: { team: name } })
        expect([refusal(answer), pointers(answer)], String(name)).toStrictEqual([[422, "invalid"], ["/team"]])
      }
      const unknownFields = yield* admin("POST", "/api/teams", { body: { teem: "a", "x/y": 1 } })
      expect(refusal(unknownFields)).toStrictEqual([422, "invalid"])
      expect(sorted(pointers(unknownFields))).toStrictEqual(sorted(["/team", "/teem", "/x~1y"]))
      expect(refusal(yield* admin("POST", "/api/teams", { raw: "[" }))).toStrictEqual([400, "invalid_body"])
      expect(refusal(yield* admin("POST", "/api/teams", { raw: "[]" }))).toStrictEqual([400, "invalid_body"])
      const text = yield* admin("POST", "/api/teams", { raw: "{}", headers: { "content-type": "text/plain" } })
      expect(refusal(text)).toStrictEqual([415, "unsupported_media_type"])
      const large = yield* admin("POST", "/api/teams", { raw: "x".repeat(1024 * 1024 + 1) })
      expect(refusal(large)).toStrictEqual([413, "body_too_large"])
    }
  )

  it.live("show what holds them, also an ended run whose agent works, and are released from it by hand", function* () {
    const { putAhead, repo } = repoWithClock()
    const { admin, http, team, webhook } = yield* start({ repo })
    const hook = yield* webhook(yield* team("slow", silent), "{{text}}", { timeout_seconds: 60 })
    const workOf = Effect.map(admin("GET", "/api/teams/slow"), ({ json }) => json.at_work)
    const waiting = yield* Effect.forkChild(http("POST", `${hook.path}?wait=true`, { body: hello }))
    const [{ run_id, ...work }] = yield* repeatUntil(workOf, (at_work) => at_work?.[0].status === "running")
    expect(Object.keys(work).sort()).toStrictEqual(["since", "status"])
    putAhead(60_000)
    const { json } = yield* Fiber.join(waiting)
    expect(json).toStrictEqual({ status: "timeout", run_id })

    const run = yield* admin("GET", `/api/runs/${run_id}`)
    const [ended] = yield* workOf
    expect(ended).toStrictEqual({ run_id, status: "timeout", since: run.json.started_at, stop_at: run.json.stop_at })
    expect(Date.parse(ended.stop_at) - Date.parse(ended.since)).toBe(3_600_000)
    expect((yield* admin("GET", "/api/teams")).json.data[0].at_work).toStrictEqual([ended])
    const cancelled = yield* http("POST", `${hook.path}/runs/${run_id}/cancel`)
    expect([cancelled.status, cancelled.json.status]).toStrictEqual([200, "timeout"])

    expect(refusal(yield* admin("POST", "/api/teams/none/release"))).toStrictEqual([404, "not_found"])
    const release = Effect.map(admin("POST", "/api/teams/slow/release"), ({ json }) => json)
    expect(yield* release).toStrictEqual({ released: [run_id] })
    expect(yield* release).toStrictEqual({ released: [] })
    const released = (yield* admin("GET", `/api/runs/${run_id}`)).json
    expect(released).toMatchObject({ status: "timeout", cancelled_by: "caller", unconfirmed: true })
    const { released_at } = released
    expect(yield* workOf).toMatchObject([{ run_id, status: "timeout", released_at }])
    const [event] = (yield* admin("GET", "/api/audit?limit=1")).json.data
    expect(event).toMatchObject({ action: "team.released", object: "slow", after: { released: [run_id] } })
  })

  it.live("are paused and resumed, which events and metrics show", function* () {
    const { admin, http, team, webhook } = yield* start()
    const { path } = yield* webhook(yield* team("ops"))
    const paused = yield* admin("POST", "/api/teams/ops/pause")
    expect(paused.status).toBe(200)
    expect(paused.json).toMatchObject({ team: "ops", running: true, queued: 0 })
    expect(paused.json.paused_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect((yield* admin("POST", "/api/teams/ops/pause")).json).toStrictEqual(paused.json)
    const { run_id } = (yield* http("POST", path, { body: hello })).json
    expect((yield* admin("GET", "/api/teams")).json.data).toStrictEqual([{ ...paused.json, queued: 1 }])
    expect((yield* http("GET", "/metrics")).text).toMatch(/^webhook_team_paused\{team="ops"\} 1$/m)
    expect((yield* http("GET", "/metrics")).text).toMatch(/^webhook_team_oldest_queued_seconds\{team="ops"\} [\d.]+$/m)

    const resumed = yield* admin("POST", "/api/teams/ops/resume")
    expect(resumed.status).toBe(200)
    expect(resumed.json).not.toHaveProperty("paused_at")
    expect((yield* http("GET", `${path}/runs/${run_id}?wait=true`)).json.status).toBe("success")
    yield* admin("POST", "/api/teams/ops/resume")
    expect((yield* http("GET", "/metrics")).text).toMatch(/^webhook_team_paused\{team="ops"\} 0$/m)
    const events = (yield* admin("GET", "/api/audit?object=ops")).json.data
    expect(events.map(({ action }: any) => action)).toStrictEqual(["team.resumed", "team.paused", "team.created"])
    for (const change of ["pause", "resume"]) {
      expect(refusal(yield* admin("POST", `/api/teams/none/${change}`))).toStrictEqual([404, "not_found"])
    }
  })

  it.live("accept chat messages, with and without waiting for the answer", function* () {
    const { admin, team } = yield* start()
    yield* team("ops")
    const accepted = yield* admin("POST", "/api/teams/ops/messages", { body: { message: "hi" } })
    expect(accepted.status).toBe(202)
    expect(accepted.json).toStrictEqual({ status: "accepted", message_id: accepted.json.message_id })
    const answered = yield* admin("POST", "/api/teams/ops/messages?wait=true", { body: { message: "hello" } })
    expect(answered.status).toBe(200)
    expect(answered.json).toMatchObject({ status: "success", response: "echo: hello" })
    const stored = yield* admin("GET", `/api/runs/${answered.json.message_id}`)
    expect(stored.json).toMatchObject({ source: "chat", team: "ops", status: "success" })
    expect(stored.json).not.toHaveProperty("webhook_id")

    const send = (message: string, headers = {}) =>
      admin("POST", "/api/teams/ops/messages", {
        body: { message },
        headers: { "idempotency-key": "once", ...headers }
      })
    const twice = yield* Effect.all([send("hi"), send("hi")], { concurrency: 2 })
    expect(twice.map(({ json, status }) => [status, json])).toEqual(twice.map(() => [202, twice[0]!.json]))
    expect(refusal(yield* send("ho"))).toStrictEqual([422, "idempotency_key_reused"])
    expect(refusal(yield* send("hi", { "idempotency-key": "ü" }))).toStrictEqual([400, "invalid_idempotency_key"])
  })

  it.live("refuse a chat message for the same reasons as a trigger", function* () {
    const { admin, team, faults } = yield* start({ settings: { maxQueued: 1 } })
    yield* team("ops")
    yield* team("idle", "no leader")
    const send = (team: string, body: object, query = "") =>
      admin("POST", `/api/teams/${team}/messages${query}`, { body })
    expect(refusal(yield* send("none", { message: "x" }))).toStrictEqual([404, "not_found"])
    expect(refusal(yield* send("No Team", { message: "x" }))).toStrictEqual([404, "not_found"])
    expect(refusal(yield* send("idle", { message: "x" }))).toStrictEqual([409, "team_not_running"])
    for (const body of [{}, { message: "" }, { message: 1 }, { message: "\0" }, { message: "\ud800" }]) {
      const answer = yield* send("ops", body)
      expect([refusal(answer), pointers(answer)]).toStrictEqual([[422, "invalid"], ["/message"]])
    }
    expect(refusal(yield* send("ops", { message: "x".repeat(300_000) }))).toStrictEqual([422, "prompt_too_large"])
    for (const query of ["?wait=1", "?wait=true&wait=true", "?wait="]) {
      expect(refusal(yield* send("ops", { message: "x" }, query)), query).toStrictEqual([400, "invalid_wait"])
    }
    faults.add("broker")
    const unavailable = yield* send("ops", { message: "x" })
    expect(refusal(unavailable)).toStrictEqual([503, "unavailable"])
    expect(unavailable.headers.get("retry-after")!).toMatch(/^\d+$/)
    faults.clear()

    yield* team("failing", failing)
    const failed = yield* send("failing", { message: "x" }, "?wait=true")
    expect(refusal(failed)).toStrictEqual([502, "agent_failed"])
    expect(failed.json.detail).toBe("no disk")
  })
})
