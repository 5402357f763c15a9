import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { pointers, refusal, sorted, wire, writeThenRead } from "./Client.ts"
import { failing, silent, start } from "./Server.ts"

const unknownToken = `whk_${"0".repeat(43)}`
const noRun = "01890a5d-ac96-774b-bcce-b302099a8057"
const variables = { variables: { text: "hello" } }

const ready = Effect.gen(function* () {
  const server = yield* start()
  const team = yield* server.team("ops")
  const webhook = yield* server.webhook(team)
  const post = (body: object, query = "", headers = {}) => server.http("POST", webhook.path + query, { body, headers })
  return { ...server, hook: webhook, post, runs: server.history(webhook.id) }
})

describe("POST /webhook/trigger/:token", () => {
  it.scopedLive("answers 202 with the run's id, and Location points at the run", () =>
    Effect.gen(function* () {
      const { post, http, hook } = yield* ready
      const accepted = yield* post(variables)
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
  )

  it.scopedLive("answers 200 with the team's answer to a caller that waits for it", () =>
    Effect.gen(function* () {
      const { post } = yield* ready
      const answered = yield* post(variables, "?wait=true")
      expect(answered.status).toBe(200)
      expect(sorted(Object.keys(answered.json))).toStrictEqual(sorted(["status", "response", "run_id"]))
      expect(answered.json).toMatchObject({ status: "success", response: "echo: hello" })
    })
  )

  it.scopedLive("answers 408, and closes the connection, when the team is too slow", () =>
    Effect.gen(function* () {
      const { team, webhook, http, admin } = yield* start()
      const slow = yield* team("slow", silent)
      const hook = yield* webhook(slow, "{{text}}", { timeout_seconds: 1 })
      const timeout = yield* http("POST", `${hook.path}?wait=true`, { body: variables })
      expect(timeout.status).toBe(408)
      expect(timeout.headers.get("connection")).toBe("close")
      expect(timeout.json).toStrictEqual({ status: "timeout", run_id: timeout.json.run_id })
      const run = yield* admin("GET", `/api/runs/${timeout.json.run_id}`)
      expect(run.json.status).toBe("timeout")
    })
  )

  it.scopedLive("answers 502 when the leader reports an error", () =>
    Effect.gen(function* () {
      const { team, webhook, http } = yield* start()
      const broken = yield* team("failing", failing)
      const hook = yield* webhook(broken)
      const failed = yield* http("POST", `${hook.path}?wait=true`, { body: variables })
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
  )

  it.scopedLive("ignores unknown keys, records extra variables, and does not wait with `wait=false`", () =>
    Effect.gen(function* () {
      const { post, runs } = yield* ready
      const accepted = yield* post({ variables: { text: "t", more: { x: 1 } }, extra: true }, "?wait=false&other=1")
      expect(accepted.status).toBe(202)
      expect((yield* runs)[0].variables).toStrictEqual({ text: "t", more: { x: 1 } })
    })
  )

  it.scopedLive("accepts JSON under any JSON media type, a byte order mark, and no Content-Type at all", () =>
    Effect.gen(function* () {
      const { http, hook } = yield* ready
      const raw = new TextEncoder().encode(JSON.stringify(variables))
      const withMark = new Uint8Array([0xef, 0xbb, 0xbf, ...raw])
      for (const type of ["application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"]) {
        const accepted = yield* http("POST", hook.path, { raw, headers: { "content-type": type } })
        expect(accepted.status, type).toBe(202)
      }
      expect((yield* http("POST", hook.path, { raw })).status).toBe(202)
      expect((yield* http("POST", hook.path, { raw: withMark })).status).toBe(202)
    })
  )
})

describe("refuses, in this order,", () => {
  it.scopedLive("1: any other method with 405 and Allow, whatever the token", () =>
    Effect.gen(function* () {
      const { http, hook, port } = yield* ready
      for (const path of [hook.path, `/webhook/trigger/${unknownToken}`, "/webhook/trigger/x"]) {
        for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]) {
          const answer = yield* http(method, path)
          expect(answer.status, `${method} ${path}`).toBe(405)
          expect(answer.headers.get("allow")).toBe("POST")
          if (method !== "HEAD") expect(refusal(answer)).toStrictEqual([405, "method_not_allowed"])
        }
      }
      const run = yield* http("POST", `${hook.path}/runs/${noRun}`)
      expect([run.status, run.headers.get("allow")]).toStrictEqual([405, "GET, HEAD"])
      const odd = yield* wire(port, `PROPFIND ${hook.path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
      expect(odd.text).toMatch(/^HTTP\/1\.1 405 /)
    })
  )

  it.scopedLive("2: a token that does not open a webhook with the same bytes, whatever the reason and the body", () =>
    Effect.gen(function* () {
      const { port, admin, webhook, hook } = yield* ready
      const gone = yield* webhook("ops")
      yield* admin("DELETE", `/api/webhooks/${gone.id}`)
      const off = yield* webhook("ops")
      yield* admin("PATCH", `/api/webhooks/${off.id}`, { body: { enabled: false } })
      const replaced = yield* webhook("ops")
      yield* admin("POST", `/api/webhooks/${replaced.id}/token`)
      const encoded = hook.path.replace("whk_", "%77hk_")
      const paths = [
        ...[gone.path, off.path, replaced.path, encoded, `/webhook/trigger/${unknownToken}`],
        ...["/webhook/trigger/x", `/webhook/trigger/${"w".repeat(90)}`, `/webhook/trigger/${"w".repeat(5_000)}`],
        ...[`${hook.path}0`, hook.path.slice(0, -1), `${hook.path}%00`, `${hook.path}%ZZ`, "/webhook/trigger/%E0%A4%A"],
        ...["/webhook/trigger/..%2f..", `${hook.path}/`.replace("trigger/whk", "trigger/WHK"), "/webhook/trigger"]
      ]
      const bodies = [
        'Content-Length: 30\r\n\r\n{"variables":{"text":"hello"}}',
        "Content-Length: 4\r\n\r\n\xff\xfe{]",
        "Content-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        `Content-Length: 2000000\r\n\r\n${"x".repeat(2_000_000)}`,
        `Transfer-Encoding: chunked\r\n\r\n${`1000\r\n${"x".repeat(0x1000)}\r\n`.repeat(400)}0\r\n\r\n`
      ]
      const answers = new Map<string, string>()
      for (const path of paths) {
        for (const [i, body] of bodies.entries()) {
          const request = `POST ${path} HTTP/1.1\r\nHost: x\r\nIdempotency-Key: ""\r\n${body}`
          const complete = (text: string) => text.endsWith("}")
          const { text } = yield* wire(port, Buffer.from(request, "latin1"), complete)
          answers.set(text.replace(/\r\nDate: [^\r]*/, ""), `${path} ${i}`)
        }
      }
      expect([...answers], [...answers].map(([text, at]) => `${at}: ${text}`).join("\n\n")).toHaveLength(1)
      const [[text]] = [...answers] as [[string, string]]
      expect(text).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/)
      expect(text).toMatch(/"code":"not_found"/)
    })
  )

  it.scopedLive("2: the run's address likewise, another webhook's run, and text that is no run's id", () =>
    Effect.gen(function* () {
      const { post, http, webhook, hook } = yield* ready
      const { run_id } = (yield* post(variables)).json
      const other = yield* webhook("ops")
      const views = yield* Effect.forEach(
        [
          ...[`${other.path}/runs/${run_id}`, `/webhook/trigger/${unknownToken}/runs/${run_id}`],
          ...[`${hook.path}/runs/${noRun}`, `${hook.path}/runs/1`, `${hook.path}/runs/${"9".repeat(3_000)}`],
          ...[`${hook.path.replace("whk", "%77hk")}/runs/${run_id}`, `${hook.path}/runs`]
        ],
        (path) => Effect.map(http("GET", path), (answer) => ({ path, answer }))
      )
      for (const { path, answer } of views) {
        expect(refusal(answer), path).toStrictEqual([404, "not_found"])
        expect(answer.text).toBe(views[0]!.answer.text)
      }
      expect((yield* http("GET", `${hook.path}/runs/${run_id.toUpperCase()}`)).status).toBe(200)
    })
  )

  it.scopedLive("3: another media type, or any content encoding, with 415", () =>
    Effect.gen(function* () {
      const { http, hook, runs } = yield* ready
      const raw = JSON.stringify(variables)
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "json", " "]) {
        const answer = yield* http("POST", hook.path, { raw, headers: { "content-type": type } })
        expect(refusal(answer), type).toStrictEqual([415, "unsupported_media_type"])
      }
      for (const coding of ["gzip", "identity"]) {
        const answer = yield* http("POST", hook.path, { body: variables, headers: { "content-encoding": coding } })
        expect(refusal(answer), coding).toStrictEqual([415, "unsupported_media_type"])
      }
      // Before the size, the body and the query.
      const all = yield* http("POST", `${hook.path}?wait=x`, {
        raw: "x".repeat(2_000_000),
        headers: { "content-type": "text/plain" }
      })
      expect(refusal(all)).toStrictEqual([415, "unsupported_media_type"])
      expect(yield* runs).toStrictEqual([])
    })
  )

  it.scopedLive("4: a body over the limit with 413, but not one of exactly the limit", () =>
    Effect.gen(function* () {
      const { http, hook, post, runs } = yield* ready
      const limit = 1024 * 1024
      const bare = JSON.stringify({ ...variables, pad: "" }).length
      expect((yield* post({ ...variables, pad: "x".repeat(limit - bare) })).status).toBe(202)
      expect(refusal(yield* post({ ...variables, pad: "x".repeat(limit - bare + 1) }))).toStrictEqual([
        413,
        "body_too_large"
      ])
      const garbage = yield* http("POST", `${hook.path}?wait=x`, { raw: "{".repeat(limit + 1) })
      expect(refusal(garbage)).toStrictEqual([413, "body_too_large"])
      expect(yield* runs).toHaveLength(1)
    })
  )

  it.scopedLive("4: a chunked body over the limit too, before it ends", () =>
    Effect.gen(function* () {
      const { port, hook } = yield* ready
      const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`
      const head = `POST ${hook.path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`
      // The last chunk never comes; the answer does not wait for it.
      const { text } = yield* wire(port, head + chunk.repeat(17), (text) => text.endsWith("}"))
      expect(text).toMatch(/^HTTP\/1\.1 413 [\s\S]*\r\nconnection: close\r\n[\s\S]*"code":"body_too_large"/i)
    })
  )

  it.scopedLive("4: with an answer that reaches a caller that goes on sending, without a reset", () =>
    Effect.gen(function* () {
      const { port, hook } = yield* ready
      const size = 24 * 1024 * 1024
      for (const length of [`Content-Length: ${size}`, "Transfer-Encoding: chunked"]) {
        const head = `POST ${hook.path} HTTP/1.1\r\nHost: x\r\n${length}\r\n\r\n`
        const body = length.startsWith("T")
          ? `${size.toString(16)}\r\n${"x".repeat(size)}\r\n0\r\n\r\n`
          : "x".repeat(size)
        const { text, closed } = yield* writeThenRead(port, head + body)
        expect(text, length).toMatch(/^HTTP\/1\.1 413 [\s\S]*"code":"body_too_large"/)
        expect(closed, length).toBe("ended")
      }
    })
  )

  it.scopedLive("5: a body that is not the expected JSON object with 400", () =>
    Effect.gen(function* () {
      const { http, hook, runs } = yield* ready
      const bodies = [
        ...["", "{", "[]", "null", '"text"', "1", "{}", '{"variables":null}', '{"variables":[]}', '{"variables":"x"}'],
        ...['{"variables":{}', "{'variables':{}}", '{"variables":{}}x', '{"__proto__":{"variables":{}}}'],
        new Uint8Array([...new TextEncoder().encode('{"variables":{"text":"'), 0xff, 0x22, 0x7d, 0x7d]),
        new Uint8Array([0x7b, 0x22, 0xc0, 0xaf, 0x22])
      ]
      for (const raw of bodies) {
        const answer = yield* http("POST", hook.path, { raw, headers: { "content-type": "application/json" } })
        expect(refusal(answer), String(raw)).toStrictEqual([400, "invalid_body"])
      }
      expect(yield* runs).toStrictEqual([])
    })
  )

  it.scopedLive("5: `wait` that is neither `true` nor `false`, or comes twice, with 400", () =>
    Effect.gen(function* () {
      const { post, http, hook, runs } = yield* ready
      for (const query of ["?wait", "?wait=", "?wait=TRUE", "?wait=1", "?wait=true&wait=true", "?wait=false&wait="]) {
        expect(refusal(yield* post(variables, query)), query).toStrictEqual([400, "invalid_wait"])
      }
      expect(yield* runs).toStrictEqual([])
      const { run_id } = (yield* post(variables)).json
      const view = yield* http("GET", `${hook.path}/runs/${run_id}?wait=maybe`)
      expect(refusal(view)).toStrictEqual([400, "invalid_wait"])
    })
  )

  it.scopedLive("6: variables that cannot be stored with 400, each fault with its place", () =>
    Effect.gen(function* () {
      const { http, hook, runs } = yield* ready
      const raw = String.raw`{"variables":{"a":"\u0000","b":["\ud800"],"c":1e999,"d":9007199254740992}}`
      const answer = yield* http("POST", hook.path, { raw })
      expect(refusal(answer)).toStrictEqual([400, "invalid_variables"])
      expect(pointers(answer)).toStrictEqual(["/variables/a", "/variables/b/0", "/variables/c", "/variables/d"])
      const deep = `{"variables":{"text":${"[".repeat(500_000)}${"]".repeat(500_000)}}}`
      for (const headers of [{}, { "idempotency-key": "k" }]) {
        expect(refusal(yield* http("POST", hook.path, { raw: deep, headers }))).toStrictEqual([
          400,
          "invalid_variables"
        ])
      }
      expect(yield* runs).toStrictEqual([])
    })
  )

  it.scopedLive("7: placeholders without a value with 422, all of them named", () =>
    Effect.gen(function* () {
      const { webhook, http } = yield* ready
      const { path } = yield* webhook("ops", "{{a}} {{b.c}} {{constructor}} {{text}}")
      const answer = yield* http("POST", path, { body: variables })
      expect(refusal(answer)).toStrictEqual([422, "missing_variables"])
      expect(pointers(answer)).toStrictEqual(["/variables/a", "/variables/b.c", "/variables/constructor"])
    })
  )

  it.scopedLive("8: a prompt over the limit with 422", () =>
    Effect.gen(function* () {
      const { post, runs } = yield* ready
      expect((yield* post({ variables: { text: "x".repeat(256 * 1024) } })).status).toBe(202)
      expect(refusal(yield* post({ variables: { text: "x".repeat(256 * 1024 + 1) } }))).toStrictEqual([
        422,
        "prompt_too_large"
      ])
      expect(yield* runs).toHaveLength(1)
    })
  )

  it.scopedLive("9: a team that is not running with 409", () =>
    Effect.gen(function* () {
      const { team, webhook, http, admin } = yield* ready
      const idle = yield* team("idle", "no leader")
      const { id, path } = yield* webhook(idle)
      for (const query of ["", "?wait=true"]) {
        const answer = yield* http("POST", path + query, { body: variables })
        expect(refusal(answer)).toStrictEqual([409, "team_not_running"])
      }
      expect((yield* admin("GET", `/api/webhooks/${id}/runs`)).json.data).toStrictEqual([])
    })
  )

  it.scopedLive("10: more runs than may be queued with 429 and Retry-After", () =>
    Effect.gen(function* () {
      const { team, webhook, http } = yield* start({ settings: { maxQueued: 2, maxConcurrent: 1 } })
      const busy = yield* team("busy", silent)
      const { path } = yield* webhook(busy)
      const answers = yield* Effect.forEach([1, 2, 3, 4, 5], () => http("POST", path, { body: variables }))
      const last = answers.at(-1)!
      expect(answers[0]!.status).toBe(202)
      expect(refusal(last)).toStrictEqual([429, "too_many_queued"])
      expect(last.headers.get("retry-after")!).toMatch(/^\d+$/)
    })
  )

  it.scopedLive("11: with 503 and Retry-After while the database or the broker is out of reach", () =>
    Effect.gen(function* () {
      const { post, http, hook, faults, runs } = yield* ready
      for (const what of ["database", "broker"] as const) {
        faults.add(what)
        const answer = yield* post(variables)
        expect(refusal(answer), what).toStrictEqual([503, "unavailable"])
        expect(answer.headers.get("retry-after")!).toMatch(/^\d+$/)
        faults.delete(what)
      }
      expect(yield* runs).toStrictEqual([])
      faults.add("database")
      expect((yield* http("GET", `${hook.path}/runs/${noRun}`)).status).toBe(503)
      // A token that is not well formed is not looked up.
      expect((yield* http("POST", "/webhook/trigger/x", { body: variables })).status).toBe(404)
    })
  )

  it.scopedLive("11: with 503 when the server stops, naming the run that goes on", () =>
    Effect.gen(function* () {
      const { team, webhook, http, firstRuns, shutdown } = yield* start()
      const slow = yield* team("slow", silent)
      const { id, path } = yield* webhook(slow)
      const waiting = yield* Effect.fork(http("POST", `${path}?wait=true`, { body: variables }))
      const [run] = yield* firstRuns(id)
      yield* shutdown.begin
      expect(refusal(yield* http("POST", path, { body: variables }))).toStrictEqual([503, "unavailable"])
      yield* shutdown.stopWaiting
      const answer = yield* Fiber.join(waiting)
      expect(refusal(answer)).toStrictEqual([503, "unavailable"])
      expect(answer.json.run_id).toBe(run.run_id)
    })
  )
})

describe("Idempotency-Key", () => {
  it.scopedLive("makes a repeat return the first run, however the body is written", () =>
    Effect.gen(function* () {
      const { http, hook, runs } = yield* ready
      const send = (raw: string, key: string) =>
        http("POST", hook.path, { raw, headers: { "content-type": "application/json", "idempotency-key": key } })
      const first = yield* send('{"variables":{"text":"a","more":[1,{"x":null}]}}', "key-1")
      const again = yield* send(
        '{ "other": 1, "variables": { "more": [1, {"x": null}], "text": "\\u0061" } }',
        '"key-1"'
      )
      expect([first.status, again.status]).toStrictEqual([202, 202])
      expect(again.json.run_id).toBe(first.json.run_id)
      expect(again.headers.get("location")).toBe(first.headers.get("location"))
      expect(yield* runs).toHaveLength(1)
    })
  )

  it.scopedLive("is refused with 422 for another request", () =>
    Effect.gen(function* () {
      const { post } = yield* ready
      const key = { "idempotency-key": "k" }
      expect((yield* post(variables, "", key)).status).toBe(202)
      const other = yield* post({ variables: { text: "other" } }, "", key)
      expect(refusal(other)).toStrictEqual([422, "idempotency_key_reused"])
    })
  )

  it.scopedLive("is refused with 400 when it is empty, too long, not printable, or given twice", () =>
    Effect.gen(function* () {
      const { post, port, hook, runs } = yield* ready
      for (const key of ["", '""', "x".repeat(256), "a\tb", "é", '"a', '"a"b"']) {
        const answer = yield* post(variables, "", { "idempotency-key": key })
        expect(refusal(answer), key).toStrictEqual([400, "invalid_idempotency_key"])
      }
      const twice = `POST ${hook.path} HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a\r\nIdempotency-Key: a\r\nConnection: close\r\nContent-Length: 30\r\n\r\n{"variables":{"text":"hello"}}`
      expect((yield* wire(port, twice)).text).toMatch(/^HTTP\/1\.1 400 [\s\S]*invalid_idempotency_key/)
      expect(yield* runs).toStrictEqual([])
      for (const key of ["x".repeat(255), "with blanks, and: signs"]) {
        expect((yield* post(variables, "", { "idempotency-key": key })).status).toBe(202)
      }
    })
  )
})

it.scopedLive("Location stays under the path that the public address is mounted at", () =>
  Effect.gen(function* () {
    const { team, webhook, http } = yield* start({ publicUrl: "https://example.com/hooks/" })
    const { path } = yield* webhook(yield* team("ops"))
    const accepted = yield* http("POST", path, { body: variables })
    expect(accepted.headers.get("location")).toBe(`/hooks${path}/runs/${accepted.json.run_id}`)
  })
)

it.scopedLive("a caller that goes away leaves its run alone", () =>
  Effect.gen(function* () {
    const { team, webhook, http, firstRuns, port } = yield* start()
    const gone = yield* Effect.makeLatch()
    const slow = yield* team("slow", ({ prompt, reply }) =>
      Effect.zipRight(gone.await, reply({ _tag: "Answered", run_id: prompt.run_id, response: "done" }))
    )
    const { id, path } = yield* webhook(slow)
    const body = JSON.stringify(variables)
    const caller = yield* Effect.fork(
      wire(port, `POST ${path}?wait=true HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    )
    const [{ run_id }] = yield* firstRuns(id)
    yield* Fiber.interrupt(caller)
    const counted = Effect.map(http("GET", "/metrics"), ({ text }) => text.includes('status="499"'))
    yield* Effect.repeat(counted, { until: (seen) => seen })
    yield* gone.open
    const run = yield* http("GET", `${path}/runs/${run_id}?wait=true`)
    expect(run.json).toMatchObject({ status: "success", response: "done" })
  })
)
