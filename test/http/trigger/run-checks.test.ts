import { Effect, Fiber } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { untilEffect } from "../../support/Until.ts"
import { pointers, refusal } from "../Client.ts"
import { hello, repoAtNoon, silent, start, startWithWebhook, unusedId } from "../Server.ts"

describe("refuses, in this order,", () => {
  it.live("7: input that breaks the webhook's JSON Schema with 422, before placeholders without a value", function* () {
    const { admin, webhook, http, history } = yield* startWithWebhook
    const schema = { required: ["service"], properties: { text: { maxLength: 5 }, service: { type: "string" } } }
    const { id, path } = yield* webhook("ops", "{{text}} {{service}} {{more}}", { schema })
    const answer = yield* http("POST", path, { body: { variables: { text: "too long", service: 1 } } })
    expect(refusal(answer)).toStrictEqual([422, "schema_mismatch"])
    expect(pointers(answer)).toStrictEqual(["/variables/text", "/variables/service"])
    const sample = { body: { variables: {} } }
    const preview = yield* admin("POST", `/api/webhooks/${id}/preview`, sample)
    expect([refusal(preview), pointers(preview)]).toStrictEqual([[422, "schema_mismatch"], ["/variables"]])
    // An edit holds for the very next trigger.
    yield* admin("PATCH", `/api/webhooks/${id}`, { body: { schema: null } })
    expect(refusal(yield* http("POST", path, sample))).toStrictEqual([422, "missing_variables"])
    expect(yield* history(id)).toStrictEqual([])
  })

  it.live("7: placeholders without a value with 422, all of them named", function* () {
    const { webhook, http } = yield* startWithWebhook
    const { path } = yield* webhook("ops", "{{a}} {{b.c}} {{constructor}} {{text}}")
    const answer = yield* http("POST", path, { body: hello })
    expect(refusal(answer)).toStrictEqual([422, "missing_variables"])
    expect(pointers(answer)).toStrictEqual(["/variables/a", "/variables/b.c", "/variables/constructor"])
  })

  it.live("8: a prompt over the limit with 422", function* () {
    const { post, runs } = yield* startWithWebhook
    expect((yield* post({ variables: { text: "x".repeat(256 * 1024) } })).status).toBe(202)
    expect(refusal(yield* post({ variables: { text: "x".repeat(256 * 1024 + 1) } }))).toStrictEqual([
      422,
      "prompt_too_large"
    ])
    expect(yield* runs).toHaveLength(1)
  })

  it.live("9: a team that is not running with 409", function* () {
    const { team, webhook, http, admin } = yield* startWithWebhook
    const idle = yield* team("idle", "no leader")
    const { id, path } = yield* webhook(idle)
    for (const query of ["", "?wait=true"]) {
      const answer = yield* http("POST", path + query, { body: hello })
      expect(refusal(answer)).toStrictEqual([409, "team_not_running"])
    }
    expect((yield* admin("GET", `/api/webhooks/${id}/runs`)).json.data).toStrictEqual([])
  })

  it.live("9: for a stopped team only callers that wait, when the webhook queues its triggers", function* () {
    const { admin, team, webhook, http } = yield* start()
    const idle = yield* team("idle", "no leader")
    const { id, path } = yield* webhook(idle, "{{text}}", { when_team_stopped: "queue", queue_for_seconds: 60 })
    expect(refusal(yield* http("POST", `${path}?wait=true`, { body: hello }))).toStrictEqual([409, "team_not_running"])
    const accepted = yield* http("POST", path, { body: hello })
    expect(accepted.status).toBe(202)
    const location = accepted.headers.get("location")!
    expect((yield* http("GET", location)).json).toMatchObject({ status: "queued" })
    yield* admin("PATCH", `/api/webhooks/${id}`, { body: { when_team_stopped: "refuse" } })
    expect(refusal(yield* http("POST", path, { body: hello }))).toStrictEqual([409, "team_not_running"])
    expect((yield* http("GET", location)).json).toMatchObject({ status: "queued" })
  })

  it.live("10: more runs than may be queued with 429 and Retry-After", function* () {
    const { team, webhook, http } = yield* start({ settings: { maxQueued: 2, maxConcurrent: 1 } })
    const busy = yield* team("busy", silent)
    const { path } = yield* webhook(busy, "{{text}}", { max_queued: 5 })
    const answers = yield* Effect.forEach([1, 2, 3, 4, 5], () => http("POST", path, { body: hello }))
    const last = answers.at(-1)!
    expect(answers[0]!.status).toBe(202)
    expect(refusal(last)).toStrictEqual([429, "too_many_queued"])
    expect(last.headers.get("retry-after")!).toMatch(/^\d+$/)
  })

  it.live(
    "10: more of one webhook than may be queued of it, a tenth of all by default, and not of another",
    function* () {
      const { admin, team, webhook, http } = yield* start({ settings: { maxQueued: 20, maxConcurrent: 1 } })
      const busy = yield* team("busy", silent)
      const { id, path } = yield* webhook(busy)
      const refused = Effect.repeat(http("POST", path, { body: hello }), { until: ({ status }) => status !== 202 })
      expect(yield* refused).toMatchObject({
        status: 429,
        json: { code: "too_many_queued_of_webhook", detail: expect.stringContaining("2 runs of this webhook") }
      })
      expect((yield* http("POST", (yield* webhook(busy)).path, { body: hello })).status).toBe(202)
      yield* admin("PATCH", `/api/webhooks/${id}`, { body: { max_queued: 4 } })
      expect((yield* http("POST", path, { body: hello })).status).toBe(202)
      expect((yield* refused).json.detail).toContain("4 runs of this webhook")
    }
  )

  it.live(
    "10: more than the webhook's budget of the day, with the seconds until it resets, but replays are accepted",
    function* () {
      const { admin, team, webhook, http } = yield* start({ repo: repoAtNoon })
      const { id, path } = yield* webhook(yield* team("ops"), "{{text}}", { max_runs_per_day: 2 })
      const keyed = { body: hello, headers: { "idempotency-key": "k" } }
      const first = yield* http("POST", path, keyed)
      for (const request of [keyed, { body: hello }]) expect((yield* http("POST", path, request)).status).toBe(202)
      for (const answer of [
        yield* http("POST", path, { body: hello }),
        yield* admin("POST", `/api/webhooks/${id}/runs`, { body: hello })
      ]) {
        expect(answer).toMatchObject({ status: 429, json: { code: "budget_exceeded" } })
        expect(answer.json.detail).toMatch(
          /started 2 runs today, and its `max_runs_per_day` is 2.* after \d{4}-\d\d-\d\dT00:00:00/
        )
        const seconds = Number(answer.headers.get("retry-after"))
        expect(seconds).toBeGreaterThan(0)
        expect(seconds).toBeLessThanOrEqual(86_400)
      }
      expect((yield* admin("POST", `/api/runs/${first.json.run_id}/replay`)).status).toBe(202)
      yield* admin("PATCH", `/api/webhooks/${id}`, { body: { max_runs_per_day: 3 } })
      expect((yield* http("POST", path, { body: hello })).status).toBe(202)
      expect((yield* http("POST", path, { body: hello })).json.code).toBe("budget_exceeded")
    }
  )

  it.live("10: more than the webhook may cost per day, once its runs have reported as much", function* () {
    const { admin, team, webhook, http } = yield* start({ settings: { unknownCost: 0.25 }, repo: repoAtNoon })
    const ops = yield* team("ops", ({ reply }) =>
      reply({ _tag: "Answered", response: "ok", report: { usage: { cost_usd: 1.25 } } })
    )
    const { id, path } = yield* webhook(ops, "{{text}}", { max_cost_per_day: 2.5 })
    for (let run = 0; run < 2; run++)
      expect((yield* http("POST", `${path}?wait=true`, { body: hello })).status).toBe(200)
    const refused = yield* http("POST", path, { body: hello })
    expect(refused).toMatchObject({ status: 429, json: { code: "budget_exceeded" } })
    expect(refused.json.detail).toContain("used $2.5 today, and its `max_cost_per_day` is $2.5.")
    const { budget } = (yield* admin("GET", `/api/webhooks/${id}/statistics`)).json
    expect(budget).toMatchObject({ runs: 2, cost_usd: 2.5, unknown_cost_usd: 0.25 })
  })

  it.live(
    "10: of many requests at once, only those are sent that begin before the budget of cost is used up",
    function* () {
      const { admin, team, webhook, http } = yield* start({ repo: repoAtNoon })
      const seen: Array<string> = []
      const ops = yield* team("ops", ({ prompt, reply }) => {
        seen.push(prompt.prompt)
        return reply({ _tag: "Answered", response: "ok", report: { usage: { cost_usd: 0.3 } } })
      })
      const { id, path } = yield* webhook(ops, "{{text}}", { max_cost_per_day: 0.5, pause_after_failures: 2 })
      const other = yield* webhook(ops)
      const requests = Array.from({ length: 10 }, () => http("POST", path, { body: hello }))
      const answers = yield* Effect.all(requests, { concurrency: "unbounded" })
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202))
      // The lane goes on with runs of other webhooks.
      expect((yield* http("POST", `${other.path}?wait=true`, { body: hello })).status).toBe(200)
      const { data } = (yield* admin("GET", `/api/webhooks/${id}/runs`)).json
      const statuses: ReadonlyArray<string> = data.map((run: any) => run.status)
      expect(statuses.filter((status) => status === "success")).toHaveLength(2)
      for (const run of data.filter((run: any) => run.status !== "success")) {
        expect(run).toMatchObject({ status: "error", error: { code: "budget_exceeded" } })
        expect(run.error.message).toBe("This webhook has used $0.6 today, and its `max_cost_per_day` is $0.5.")
        expect(run).not.toHaveProperty("sent_at")
      }
      expect(seen).toHaveLength(3)
      const refused = yield* http("POST", path, { body: hello })
      expect(refused.json.detail).toContain("used $0.6 today")
      // A person may still repeat one.
      const replay = yield* admin("POST", `/api/runs/${data[0].run_id}/replay`)
      const path2 = `/api/runs/${replay.json.run_id}`
      yield* untilEffect(
        "the replay has succeeded",
        Effect.map(admin("GET", path2), ({ json }) => json.status === "success")
      )
    }
  )

  it.live(
    "10: more than the webhook's rate, with the seconds until it takes one again, from the web UI as well",
    function* () {
      const { admin, team, webhook, http } = yield* start()
      const { id, path } = yield* webhook(yield* team("ops"), "{{text}}", { rate: "2/hour" })
      const keyed = { body: hello, headers: { "idempotency-key": "k" } }
      for (const request of [keyed, keyed, { body: hello }])
        expect((yield* http("POST", path, request)).status).toBe(202)
      for (const answer of [
        yield* http("POST", path, { body: hello }),
        yield* admin("POST", `/api/webhooks/${id}/runs`, { body: hello })
      ]) {
        expect(answer).toMatchObject({ status: 429, json: { code: "rate_limited" } })
        expect(answer.json.detail).toContain("2/hour")
        const seconds = Number(answer.headers.get("retry-after"))
        expect(seconds).toBeGreaterThan(1_700)
        expect(seconds).toBeLessThanOrEqual(1_800)
      }
      expect((yield* http("POST", path, keyed)).status).toBe(202)
      yield* admin("PATCH", `/api/webhooks/${id}`, { body: { rate: null } })
      expect((yield* http("POST", path, { body: hello })).status).toBe(202)
    }
  )

  it.live("11: with 503 and Retry-After while the database or the broker is out of reach", function* () {
    const { post, http, hook, faults, runs } = yield* startWithWebhook
    for (const what of ["database", "broker"] as const) {
      faults.add(what)
      const answer = yield* post(hello)
      expect(refusal(answer), what).toStrictEqual([503, "unavailable"])
      expect(answer.headers.get("retry-after")!).toMatch(/^\d+$/)
      faults.delete(what)
    }
    expect(yield* runs).toStrictEqual([])
    faults.add("database")
    expect((yield* http("GET", `${hook.path}/runs/${unusedId}`)).status).toBe(503)
    // A token that is not well formed is not looked up.
    expect((yield* http("POST", "/webhook/trigger/x", { body: hello })).status).toBe(404)
  })

  it.live("11: with 503 when the server stops, naming the run that goes on", function* () {
    const { team, webhook, http, firstRuns, shutdown } = yield* start()
    const slow = yield* team("slow", silent)
    const { id, path } = yield* webhook(slow)
    const waiting = yield* Effect.forkChild(http("POST", `${path}?wait=true`, { body: hello }))
    const [run] = yield* firstRuns(id)
    yield* shutdown.begin
    expect(refusal(yield* http("POST", path, { body: hello }))).toStrictEqual([503, "unavailable"])
    yield* shutdown.stopWaiting
    const answer = yield* Fiber.join(waiting)
    expect(refusal(answer)).toStrictEqual([503, "unavailable"])
    expect(answer.json.run_id).toBe(run.run_id)
  })
})
