import { Effect, Fiber, Latch } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { sorted, wire } from "../Client.ts"
import { failing, hello, silent, start, startWithWebhook } from "../Server.ts"

describe("POST /webhook/trigger/:token", () => {
  it.live("answers 202 with the run's id, and Location points at the run", function* () {
    const { post, http, hook } = yield* startWithWebhook
    const accepted = yield* post(hello)
    expect(accepted.status).toBe(202)
    expect(sorted(Object.keys(accepted.json))).toStrictEqual(sorted(["status", "run_id"]))
    expect(accepted.json.status).toBe("accepted")
    const location = accepted.headers.get("location")
    expect(location).toBe(`${hook.path}/runs/${accepted.json.run_id}`)
    const run = yield* http("GET", `${location}?wait=true`)
    expect(run.status).toBe(200)
    expect(sorted(Object.keys(run.json))).toStrictEqual(
      sorted(["run_id", "status", "started_at", "finished_at", "duration_ms", "response"])
    )
    expect(run.json).toMatchObject({ run_id: accepted.json.run_id, status: "success", response: "echo: hello" })
    expect(run.json.finished_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  it.live("answers 200 with the team's answer to a caller that waits for it", function* () {
    const { post } = yield* startWithWebhook
    const answered = yield* post(hello, "?wait=true")
    expect(answered.status).toBe(200)
    expect(sorted(Object.keys(answered.json))).toStrictEqual(sorted(["status", "response", "run_id"]))
    expect(answered.json).toMatchObject({ status: "success", response: "echo: hello" })
  })

  it.live("answers a caller that waits for too slow a team with 408, but a page in a browser with 504", function* () {
    const { team, webhook, http, admin } = yield* start()
    const hook = yield* webhook(yield* team("slow", silent), "{{text}}", { timeout_seconds: 1 })
    const [timeout, ...ofPages] = yield* Effect.forEach(
      [{}, { "sec-fetch-site": "cross-site" }, { origin: "http://intranet" }],
      (headers) => http("POST", `${hook.path}?wait=true`, { body: hello, headers }),
      { concurrency: "unbounded" }
    )
    expect(timeout!.status).toBe(408)
    expect(timeout!.headers.get("connection")).toBe("close")
    expect(timeout!.json).toStrictEqual({ status: "timeout", run_id: timeout!.json.run_id })
    const run = yield* admin("GET", `/api/runs/${timeout!.json.run_id}`)
    expect(run.json.status).toBe("timeout")
    // After a 408, a browser would send the POST again.
    for (const answer of ofPages) {
      expect(answer.status).toBe(504)
      expect(answer.json).toStrictEqual({ status: "timeout", run_id: answer.json.run_id })
    }
  })

  it.live("answers 502 when the leader reports an error", function* () {
    const { team, webhook, http } = yield* start()
    const broken = yield* team("failing", failing)
    const hook = yield* webhook(broken)
    const failed = yield* http("POST", `${hook.path}?wait=true`, { body: hello })
    expect(failed.status).toBe(502)
    expect(failed.json).toStrictEqual({
      status: "error",
      run_id: failed.json.run_id,
      error: { code: "agent_error", message: "no disk" }
    })
    const run = yield* http("GET", `${hook.path}/runs/${failed.json.run_id}`)
    expect(run.json).toEqual(
      expect.objectContaining({ status: "error", error: { code: "agent_error", message: "no disk" } })
    )
  })

  it.live("ignores unknown keys, records extra variables, and does not wait with `wait=false`", function* () {
    const { post, runs } = yield* startWithWebhook
    const accepted = yield* post({ variables: { text: "t", more: { x: 1 } }, extra: true }, "?wait=false&other=1")
    expect(accepted.status).toBe(202)
    expect((yield* runs)[0].variables).toStrictEqual({ text: "t", more: { x: 1 } })
  })

  it.live("accepts JSON under any JSON media type, a byte order mark, and no Content-Type at all", function* () {
    const { http, hook } = yield* startWithWebhook
    const raw = new TextEncoder().encode(JSON.stringify(hello))
    const withMark = new Uint8Array([0xef, 0xbb, 0xbf, ...raw])
    for (const type of ["application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"]) {
      const accepted = yield* http("POST", hook.path, { raw, headers: { "content-type": type } })
      expect(accepted.status, type).toBe(202)
    }
    expect((yield* http("POST", hook.path, { raw })).status).toBe(202)
    expect((yield* http("POST", hook.path, { raw: withMark })).status).toBe(202)
  })
})

it.live("Location stays under the path that the public address is mounted at", function* () {
  const { team, webhook, http } = yield* start({ publicUrl: "https://example.com/hooks/" })
  const { path } = yield* webhook(yield* team("ops"))
  const accepted = yield* http("POST", path, { body: hello })
  expect(accepted.headers.get("location")).toBe(`/hooks${path}/runs/${accepted.json.run_id}`)
})

it.live("a caller that goes away leaves its run alone", function* () {
  const { team, webhook, http, firstRuns, port } = yield* start()
  const gone = yield* Latch.make()
  const slow = yield* team("slow", ({ reply }) =>
    Effect.andThen(gone.await, reply({ _tag: "Answered", response: "done" }))
  )
  const { id, path } = yield* webhook(slow)
  const body = JSON.stringify(hello)
  const caller = yield* Effect.forkChild(
    wire(port, `POST ${path}?wait=true HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  )
  const [{ run_id }] = yield* firstRuns(id)
  yield* Fiber.interrupt(caller)
  const counted = Effect.map(http("GET", "/metrics"), ({ text }) => text.includes('status="499"'))
  yield* repeatUntil(counted, (seen) => seen)
  yield* gone.open
  const run = yield* http("GET", `${path}/runs/${run_id}?wait=true`)
  expect(run.json).toMatchObject({ status: "success", response: "done" })
})
