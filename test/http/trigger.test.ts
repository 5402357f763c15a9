import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { LeaderBus } from "../../src/bus/Bus.ts"
import { Shutdown } from "../../src/engine/Shutdown.ts"
import { pointers, refusal, start, wire, writeThenRead } from "./Server.ts"

const unknownToken = `whk_${"0".repeat(43)}`
const noRun = "01890a5d-ac96-774b-bcce-b302099a8057"
const variables = { variables: { text: "hello" } }

const ready = Effect.gen(function* () {
  const server = yield* start()
  const team = yield* server.team("ops")
  const webhook = yield* server.webhook(team)
  const post = (body: object, query = "", headers = {}) => server.http("POST", webhook.path + query, { body, headers })
  const runs = Effect.map(server.admin("GET", `/api/webhooks/${webhook.id}/runs`), ({ json }) => json.data)
  return { ...server, hook: webhook, post, runs }
})

describe("POST /webhook/trigger/:token", () => {
  it.scopedLive("answers 202 with the run's id, and Location shows what becomes of it", () =>
    Effect.gen(function* () {
      const { post, http, hook } = yield* ready
      const accepted = yield* post(variables)
      assert.strictEqual(accepted.status, 202)
      assert.hasAllKeys(accepted.json, ["status", "run_id"])
      assert.strictEqual(accepted.json.status, "accepted")
      const location = accepted.headers.get("location")
      assert.strictEqual(location, `${hook.path}/runs/${accepted.json.run_id}`)
      const run = yield* http("GET", `${location}?wait=true`)
      assert.strictEqual(run.status, 200)
      assert.hasAllKeys(run.json, ["run_id", "status", "started_at", "finished_at", "duration_ms", "response"])
      assert.deepInclude(run.json, { run_id: accepted.json.run_id, status: "success", response: "echo: hello" })
      assert.match(run.json.finished_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    })
  )

  it.scopedLive("answers 200 with the team's answer to who waits for it", () =>
    Effect.gen(function* () {
      const { post } = yield* ready
      const answered = yield* post(variables, "?wait=true")
      assert.strictEqual(answered.status, 200)
      assert.hasAllKeys(answered.json, ["status", "response", "run_id"])
      assert.deepInclude(answered.json, { status: "success", response: "echo: hello" })
    })
  )

  it.scopedLive("answers 408, and closes the connection, when the team is too slow", () =>
    Effect.gen(function* () {
      const { context, team, webhook, http, admin } = yield* start()
      const slow = yield* team("slow", { running: false })
      yield* Effect.provide(
        Effect.flatMap(LeaderBus, (bus) => bus.lead(slow, () => Effect.never)),
        context
      )
      const hook = yield* webhook(slow, "{{text}}", { timeout_seconds: 1 })
      const timeout = yield* http("POST", `${hook.path}?wait=true`, { body: variables })
      assert.strictEqual(timeout.status, 408)
      assert.strictEqual(timeout.headers.get("connection"), "close")
      assert.deepStrictEqual(timeout.json, { status: "timeout", run_id: timeout.json.run_id })
      const run = yield* admin("GET", `/api/runs/${timeout.json.run_id}`)
      assert.strictEqual(run.json.status, "timeout")
    })
  )

  it.scopedLive("answers 502 when the leader reports an error", () =>
    Effect.gen(function* () {
      const { context, team, webhook, http } = yield* start()
      const failing = yield* team("failing", { running: false })
      yield* Effect.provide(
        Effect.flatMap(LeaderBus, (bus) =>
          bus.lead(failing, ({ prompt, reply }) => reply({ _tag: "Failed", run_id: prompt.run_id, message: "no disk" }))
        ),
        context
      )
      const hook = yield* webhook(failing)
      const failed = yield* http("POST", `${hook.path}?wait=true`, { body: variables })
      assert.strictEqual(failed.status, 502)
      assert.deepStrictEqual(failed.json, {
        status: "error",
        run_id: failed.json.run_id,
        error: { code: "agent_error", message: "no disk" }
      })
      const run = yield* http("GET", `${hook.path}/runs/${failed.json.run_id}`)
      assert.deepInclude(run.json, { status: "error", error: { code: "agent_error", message: "no disk" } })
    })
  )

  it.scopedLive("ignores unknown keys, records extra variables, and takes `wait=false` for no wait", () =>
    Effect.gen(function* () {
      const { post, runs } = yield* ready
      const accepted = yield* post({ variables: { text: "t", more: { x: 1 } }, extra: true }, "?wait=false&other=1")
      assert.strictEqual(accepted.status, 202)
      assert.deepStrictEqual((yield* runs)[0].variables, { text: "t", more: { x: 1 } })
    })
  )

  it.scopedLive("takes JSON of any name, a byte order mark, and no Content-Type at all", () =>
    Effect.gen(function* () {
      const { http, hook } = yield* ready
      const raw = new TextEncoder().encode(JSON.stringify(variables))
      const withMark = new Uint8Array([0xef, 0xbb, 0xbf, ...raw])
      for (const type of ["application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"]) {
        const accepted = yield* http("POST", hook.path, { raw, headers: { "content-type": type } })
        assert.strictEqual(accepted.status, 202, type)
      }
      assert.strictEqual((yield* http("POST", hook.path, { raw })).status, 202)
      assert.strictEqual((yield* http("POST", hook.path, { raw: withMark })).status, 202)
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
          assert.strictEqual(answer.status, 405, `${method} ${path}`)
          assert.strictEqual(answer.headers.get("allow"), "POST")
          if (method !== "HEAD") assert.deepStrictEqual(refusal(answer), [405, "method_not_allowed"])
        }
      }
      const run = yield* http("POST", `${hook.path}/runs/${noRun}`)
      assert.deepStrictEqual([run.status, run.headers.get("allow")], [405, "GET, HEAD"])
      const odd = yield* wire(port, `PROPFIND ${hook.path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
      assert.match(odd.text, /^HTTP\/1\.1 405 /)
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
      assert.lengthOf([...answers], 1, [...answers].map(([text, at]) => `${at}: ${text}`).join("\n\n"))
      const [[text]] = [...answers] as [[string, string]]
      assert.match(text, /^HTTP\/1\.1 404 Not Found\r\n/)
      assert.match(text, /"code":"not_found"/)
    })
  )

  it.scopedLive("2: the view of a run likewise, and another webhook's run, and what is no run's id", () =>
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
        assert.deepStrictEqual(refusal(answer), [404, "not_found"], path)
        assert.strictEqual(answer.text, views[0]!.answer.text)
      }
      assert.strictEqual((yield* http("GET", `${hook.path}/runs/${run_id.toUpperCase()}`)).status, 200)
    })
  )

  it.scopedLive("3: another media type, or any coding, with 415", () =>
    Effect.gen(function* () {
      const { http, hook, runs } = yield* ready
      const raw = JSON.stringify(variables)
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "json", " "]) {
        const answer = yield* http("POST", hook.path, { raw, headers: { "content-type": type } })
        assert.deepStrictEqual(refusal(answer), [415, "unsupported_media_type"], type)
      }
      for (const coding of ["gzip", "identity"]) {
        const answer = yield* http("POST", hook.path, { body: variables, headers: { "content-encoding": coding } })
        assert.deepStrictEqual(refusal(answer), [415, "unsupported_media_type"], coding)
      }
      // Before the size, the body and the query.
      const all = yield* http("POST", `${hook.path}?wait=x`, {
        raw: "x".repeat(2_000_000),
        headers: { "content-type": "text/plain" }
      })
      assert.deepStrictEqual(refusal(all), [415, "unsupported_media_type"])
      assert.isEmpty(yield* runs)
    })
  )

  it.scopedLive("4: a body over the limit with 413, and takes one of exactly the limit", () =>
    Effect.gen(function* () {
      const { http, hook, post, runs } = yield* ready
      const limit = 1024 * 1024
      const bare = JSON.stringify({ ...variables, pad: "" }).length
      assert.strictEqual((yield* post({ ...variables, pad: "x".repeat(limit - bare) })).status, 202)
      assert.deepStrictEqual(refusal(yield* post({ ...variables, pad: "x".repeat(limit - bare + 1) })), [
        413,
        "body_too_large"
      ])
      const garbage = yield* http("POST", `${hook.path}?wait=x`, { raw: "{".repeat(limit + 1) })
      assert.deepStrictEqual(refusal(garbage), [413, "body_too_large"])
      assert.lengthOf(yield* runs, 1)
    })
  )

  it.scopedLive("4: a chunked body over the limit too, before it ends", () =>
    Effect.gen(function* () {
      const { port, hook } = yield* ready
      const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`
      const head = `POST ${hook.path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`
      // The last chunk never comes: the answer does not wait for it.
      const { text } = yield* wire(port, head + chunk.repeat(17), (text) => text.endsWith("}"))
      assert.match(text, /^HTTP\/1\.1 413 [\s\S]*\r\nconnection: close\r\n[\s\S]*"code":"body_too_large"/i)
    })
  )

  it.scopedLive("4: with an answer that reaches who goes on sending, and no reset", () =>
    Effect.gen(function* () {
      const { port, hook } = yield* ready
      const size = 24 * 1024 * 1024
      for (const length of [`Content-Length: ${size}`, "Transfer-Encoding: chunked"]) {
        const head = `POST ${hook.path} HTTP/1.1\r\nHost: x\r\n${length}\r\n\r\n`
        const body = length.startsWith("T")
          ? `${size.toString(16)}\r\n${"x".repeat(size)}\r\n0\r\n\r\n`
          : "x".repeat(size)
        const { text, closed } = yield* writeThenRead(port, head + body)
        assert.match(text, /^HTTP\/1\.1 413 [\s\S]*"code":"body_too_large"/, length)
        assert.strictEqual(closed, "ended", length)
      }
    })
  )

  it.scopedLive("5: a body that is not the JSON object it should be with 400", () =>
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
        assert.deepStrictEqual(refusal(answer), [400, "invalid_body"], String(raw))
      }
      assert.isEmpty(yield* runs)
    })
  )

  it.scopedLive("5: `wait` that is neither `true` nor `false`, or comes twice, with 400", () =>
    Effect.gen(function* () {
      const { post, http, hook, runs } = yield* ready
      for (const query of ["?wait", "?wait=", "?wait=TRUE", "?wait=1", "?wait=true&wait=true", "?wait=false&wait="]) {
        assert.deepStrictEqual(refusal(yield* post(variables, query)), [400, "invalid_wait"], query)
      }
      assert.isEmpty(yield* runs)
      const { run_id } = (yield* post(variables)).json
      const view = yield* http("GET", `${hook.path}/runs/${run_id}?wait=maybe`)
      assert.deepStrictEqual(refusal(view), [400, "invalid_wait"])
    })
  )

  it.scopedLive("6: variables that cannot be kept with 400, each fault with its place", () =>
    Effect.gen(function* () {
      const { http, hook, runs } = yield* ready
      const raw = String.raw`{"variables":{"a":"\u0000","b":["\ud800"],"c":1e999,"d":9007199254740992}}`
      const answer = yield* http("POST", hook.path, { raw })
      assert.deepStrictEqual(refusal(answer), [400, "invalid_variables"])
      assert.deepStrictEqual(pointers(answer), ["/variables/a", "/variables/b/0", "/variables/c", "/variables/d"])
      const deep = `{"variables":{"text":${"[".repeat(500_000)}${"]".repeat(500_000)}}}`
      for (const headers of [{}, { "idempotency-key": "k" }]) {
        assert.deepStrictEqual(refusal(yield* http("POST", hook.path, { raw: deep, headers })), [
          400,
          "invalid_variables"
        ])
      }
      assert.isEmpty(yield* runs)
    })
  )

  it.scopedLive("7: placeholders without a value with 422, all of them named", () =>
    Effect.gen(function* () {
      const { webhook, http } = yield* ready
      const { path } = yield* webhook("ops", "{{a}} {{b.c}} {{constructor}} {{text}}")
      const answer = yield* http("POST", path, { body: variables })
      assert.deepStrictEqual(refusal(answer), [422, "missing_variables"])
      assert.deepStrictEqual(pointers(answer), ["/variables/a", "/variables/b.c", "/variables/constructor"])
    })
  )

  it.scopedLive("8: a prompt over the limit with 422", () =>
    Effect.gen(function* () {
      const { post, runs } = yield* ready
      assert.strictEqual((yield* post({ variables: { text: "x".repeat(256 * 1024) } })).status, 202)
      assert.deepStrictEqual(refusal(yield* post({ variables: { text: "x".repeat(256 * 1024 + 1) } })), [
        422,
        "prompt_too_large"
      ])
      assert.lengthOf(yield* runs, 1)
    })
  )

  it.scopedLive("9: a team that is not running with 409", () =>
    Effect.gen(function* () {
      const { team, webhook, http, admin } = yield* ready
      const idle = yield* team("idle", { running: false })
      const { id, path } = yield* webhook(idle)
      for (const query of ["", "?wait=true"]) {
        const answer = yield* http("POST", path + query, { body: variables })
        assert.deepStrictEqual(refusal(answer), [409, "team_not_running"])
      }
      assert.isEmpty((yield* admin("GET", `/api/webhooks/${id}/runs`)).json.data)
    })
  )

  it.scopedLive("10: more than may wait with 429 and Retry-After", () =>
    Effect.gen(function* () {
      const { context, team, webhook, http } = yield* start({ settings: { maxQueued: 2, maxConcurrent: 1 } })
      const busy = yield* team("busy", { running: false })
      yield* Effect.provide(
        Effect.flatMap(LeaderBus, (bus) => bus.lead(busy, () => Effect.never)),
        context
      )
      const { path } = yield* webhook(busy)
      const answers = yield* Effect.forEach([1, 2, 3, 4, 5], () => http("POST", path, { body: variables }))
      const last = answers.at(-1)!
      assert.strictEqual(answers[0]!.status, 202)
      assert.deepStrictEqual(refusal(last), [429, "too_many_queued"])
      assert.match(last.headers.get("retry-after")!, /^\d+$/)
    })
  )

  it.scopedLive("11: with 503 and Retry-After while the database or the broker is out of reach", () =>
    Effect.gen(function* () {
      const { post, http, hook, faults, runs } = yield* ready
      for (const what of ["database", "broker"] as const) {
        faults.add(what)
        const answer = yield* post(variables)
        assert.deepStrictEqual(refusal(answer), [503, "unavailable"], what)
        assert.match(answer.headers.get("retry-after")!, /^\d+$/)
        faults.delete(what)
      }
      assert.isEmpty(yield* runs)
      faults.add("database")
      assert.strictEqual((yield* http("GET", `${hook.path}/runs/${noRun}`)).status, 503)
      // What needs no look-up needs no database either.
      assert.strictEqual((yield* http("POST", "/webhook/trigger/x", { body: variables })).status, 404)
    })
  )

  it.scopedLive("11: with 503 when the server stops, naming the run that goes on", () =>
    Effect.gen(function* () {
      const { context, team, webhook, http, admin } = yield* start()
      const slow = yield* team("slow", { running: false })
      yield* Effect.provide(
        Effect.flatMap(LeaderBus, (bus) => bus.lead(slow, () => Effect.never)),
        context
      )
      const { id, path } = yield* webhook(slow)
      const waiting = yield* Effect.fork(http("POST", `${path}?wait=true`, { body: variables }))
      const history = Effect.map(admin("GET", `/api/webhooks/${id}/runs`), ({ json }) => json.data)
      const [run] = yield* Effect.repeat(history, { until: (runs) => runs.length > 0 })
      const shutdown = yield* Effect.provide(Shutdown, context)
      yield* shutdown.begin
      assert.deepStrictEqual(refusal(yield* http("POST", path, { body: variables })), [503, "unavailable"])
      yield* shutdown.stopWaiting
      const told = yield* Fiber.join(waiting)
      assert.deepStrictEqual(refusal(told), [503, "unavailable"])
      assert.strictEqual(told.json.run_id, run.run_id)
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
      assert.deepStrictEqual([first.status, again.status], [202, 202])
      assert.strictEqual(again.json.run_id, first.json.run_id)
      assert.strictEqual(again.headers.get("location"), first.headers.get("location"))
      assert.lengthOf(yield* runs, 1)
    })
  )

  it.scopedLive("is refused with 422 for another request", () =>
    Effect.gen(function* () {
      const { post } = yield* ready
      const key = { "idempotency-key": "k" }
      assert.strictEqual((yield* post(variables, "", key)).status, 202)
      const other = yield* post({ variables: { text: "other" } }, "", key)
      assert.deepStrictEqual(refusal(other), [422, "idempotency_key_reused"])
    })
  )

  it.scopedLive("is refused with 400 when it is empty, too long, not printable, or given twice", () =>
    Effect.gen(function* () {
      const { post, port, hook, runs } = yield* ready
      for (const key of ["", '""', "x".repeat(256), "a\tb", "é", '"a', '"a"b"']) {
        const answer = yield* post(variables, "", { "idempotency-key": key })
        assert.deepStrictEqual(refusal(answer), [400, "invalid_idempotency_key"], key)
      }
      const twice = `POST ${hook.path} HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a\r\nIdempotency-Key: a\r\nConnection: close\r\nContent-Length: 30\r\n\r\n{"variables":{"text":"hello"}}`
      assert.match((yield* wire(port, twice)).text, /^HTTP\/1\.1 400 [\s\S]*invalid_idempotency_key/)
      assert.isEmpty(yield* runs)
      for (const key of ["x".repeat(255), "with blanks, and: signs"]) {
        assert.strictEqual((yield* post(variables, "", { "idempotency-key": key })).status, 202)
      }
    })
  )
})

it.scopedLive("Location stays under the path that the public address is mounted at", () =>
  Effect.gen(function* () {
    const { team, webhook, http } = yield* start({ publicUrl: "https://example.com/hooks/" })
    const { path } = yield* webhook(yield* team("ops"))
    const accepted = yield* http("POST", path, { body: variables })
    assert.strictEqual(accepted.headers.get("location"), `/hooks${path}/runs/${accepted.json.run_id}`)
  })
)

it.scopedLive("a caller that goes away leaves its run alone", () =>
  Effect.gen(function* () {
    const { context, team, webhook, http, admin, port } = yield* start()
    const slow = yield* team("slow", { running: false })
    const left = yield* Effect.makeLatch()
    yield* Effect.provide(
      Effect.flatMap(LeaderBus, (bus) =>
        bus.lead(slow, ({ prompt, reply }) =>
          Effect.zipRight(left.await, reply({ _tag: "Answered", run_id: prompt.run_id, response: "done" }))
        )
      ),
      context
    )
    const { id, path } = yield* webhook(slow)
    const body = JSON.stringify(variables)
    const caller = yield* Effect.fork(
      wire(port, `POST ${path}?wait=true HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    )
    const history = Effect.map(admin("GET", `/api/webhooks/${id}/runs`), ({ json }) => json.data)
    const [{ run_id }] = yield* Effect.repeat(history, { until: (runs) => runs.length > 0 })
    yield* Fiber.interrupt(caller)
    const gone = Effect.map(http("GET", "/metrics"), ({ text }) => text.includes('status="499"'))
    yield* Effect.repeat(gone, { until: (seen) => seen })
    yield* left.open
    const run = yield* http("GET", `${path}/runs/${run_id}?wait=true`)
    assert.deepInclude(run.json, { status: "success", response: "done" })
  })
)
