import { describe, expect } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { pointers, refusal, wire, writeThenRead } from "../Client.ts"
import { hello, silent, start, startWithWebhook, triggers, unusedId } from "../Server.ts"

const unknownToken = `whk_${"0".repeat(43)}`

describe("refuses, in this order,", () => {
  triggers("1: any other method with 405 and Allow, whatever the token", () =>
    Effect.gen(function* () {
      const { http, hook, port } = yield* startWithWebhook
      for (const path of [hook.path, `/webhook/trigger/${unknownToken}`, "/webhook/trigger/x"]) {
        for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]) {
          const answer = yield* http(method, path)
          expect(answer.status, `${method} ${path}`).toBe(405)
          expect(answer.headers.get("allow")).toBe("POST")
          if (method !== "HEAD") expect(refusal(answer)).toStrictEqual([405, "method_not_allowed"])
        }
      }
      const run = yield* http("POST", `${hook.path}/runs/${unusedId}`)
      expect([run.status, run.headers.get("allow")]).toStrictEqual([405, "GET, HEAD"])
      for (const method of ["PROPFIND", "QUERY"]) {
        const odd = yield* wire(port, `${method} ${hook.path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
        expect(odd.text, method).toMatch(/^HTTP\/1\.1 405 /)
      }
    })
  )

  triggers("2: a token that does not open a webhook with the same bytes, whatever the reason and the body", () =>
    Effect.gen(function* () {
      const { port, admin, webhook, hook } = yield* startWithWebhook
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

  triggers("2: the run's address likewise, another webhook's run, and text that is no run's id", () =>
    Effect.gen(function* () {
      const { post, http, webhook, hook } = yield* startWithWebhook
      const { run_id } = (yield* post(hello)).json
      const other = yield* webhook("ops")
      const views = yield* Effect.forEach(
        [
          ...[`${other.path}/runs/${run_id}`, `/webhook/trigger/${unknownToken}/runs/${run_id}`],
          ...[`${hook.path}/runs/${unusedId}`, `${hook.path}/runs/1`, `${hook.path}/runs/${"9".repeat(3_000)}`],
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

  triggers("3: another media type, or any content encoding, with 415", () =>
    Effect.gen(function* () {
      const { http, hook, port, runs } = yield* startWithWebhook
      const raw = JSON.stringify(hello)
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "json", " "]) {
        const answer = yield* http("POST", hook.path, { raw, headers: { "content-type": type } })
        expect(refusal(answer), type).toStrictEqual([415, "unsupported_media_type"])
      }
      for (const coding of ["gzip", "identity, gzip"]) {
        const answer = yield* http("POST", hook.path, { body: hello, headers: { "content-encoding": coding } })
        expect(refusal(answer), coding).toStrictEqual([415, "unsupported_media_type"])
      }
      const headers = "a:\r\n".repeat(3_000)
      const last = `POST ${hook.path} HTTP/1.1\r\n${headers}Host: x\r\nContent-Encoding: gzip\r\n`
      const { text } = yield* wire(port, `${last}Content-Length: ${raw.length}\r\n\r\n${raw}`, (text) =>
        text.endsWith("}")
      )
      expect(text).toMatch(/^HTTP\/1\.1 415 /)
      // Before the size, the body and the query.
      const all = yield* http("POST", `${hook.path}?wait=x`, {
        raw: "x".repeat(2_000_000),
        headers: { "content-type": "text/plain" }
      })
      expect(refusal(all)).toStrictEqual([415, "unsupported_media_type"])
      expect(yield* runs).toStrictEqual([])
      const plain = yield* http("POST", hook.path, { body: hello, headers: { "content-encoding": "Identity" } })
      expect(plain.status).toBe(202)
    })
  )

  triggers("4: a body over the limit with 413, but not one of exactly the limit", () =>
    Effect.gen(function* () {
      const { http, hook, post, runs } = yield* startWithWebhook
      const limit = 1024 * 1024
      const bare = JSON.stringify({ ...hello, pad: "" }).length
      expect((yield* post({ ...hello, pad: "x".repeat(limit - bare) })).status).toBe(202)
      expect(refusal(yield* post({ ...hello, pad: "x".repeat(limit - bare + 1) }))).toStrictEqual([
        413,
        "body_too_large"
      ])
      const garbage = yield* http("POST", `${hook.path}?wait=x`, { raw: "{".repeat(limit + 1) })
      expect(refusal(garbage)).toStrictEqual([413, "body_too_large"])
      expect(yield* runs).toHaveLength(1)
    })
  )

  triggers("4: a chunked body over the limit too, before it ends", () =>
    Effect.gen(function* () {
      const { port, hook } = yield* startWithWebhook
      const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`
      const head = `POST ${hook.path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`
      // The last chunk never comes; the answer does not wait for it.
      const { text } = yield* wire(port, head + chunk.repeat(17), (text) => text.endsWith("}"))
      expect(text).toMatch(/^HTTP\/1\.1 413 [\s\S]*\r\nconnection: close\r\n[\s\S]*"code":"body_too_large"/i)
    })
  )

  triggers("4: with an answer that reaches a caller that goes on sending, without a reset", () =>
    Effect.gen(function* () {
      const { port, hook } = yield* startWithWebhook
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

  triggers("5: a body that is not the expected JSON object with 400", () =>
    Effect.gen(function* () {
      const { http, hook, runs } = yield* startWithWebhook
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

  triggers("5: `wait` that is neither `true` nor `false`, or comes twice, with 400", () =>
    Effect.gen(function* () {
      const { post, http, hook, runs } = yield* startWithWebhook
      for (const query of ["?wait", "?wait=", "?wait=TRUE", "?wait=1", "?wait=true&wait=true", "?wait=false&wait="]) {
        expect(refusal(yield* post(hello, query)), query).toStrictEqual([400, "invalid_wait"])
      }
      expect(yield* runs).toStrictEqual([])
      const { run_id } = (yield* post(hello)).json
      const view = yield* http("GET", `${hook.path}/runs/${run_id}?wait=maybe`)
      expect(refusal(view)).toStrictEqual([400, "invalid_wait"])
    })
  )

  triggers("6: variables that cannot be stored with 400, each fault with its place", () =>
    Effect.gen(function* () {
      const { http, hook, runs } = yield* startWithWebhook
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

  triggers("7: input that breaks the webhook's JSON Schema with 422, before placeholders without a value", () =>
    Effect.gen(function* () {
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
  )

  triggers("7: placeholders without a value with 422, all of them named", () =>
    Effect.gen(function* () {
      const { webhook, http } = yield* startWithWebhook
      const { path } = yield* webhook("ops", "{{a}} {{b.c}} {{constructor}} {{text}}")
      const answer = yield* http("POST", path, { body: hello })
      expect(refusal(answer)).toStrictEqual([422, "missing_variables"])
      expect(pointers(answer)).toStrictEqual(["/variables/a", "/variables/b.c", "/variables/constructor"])
    })
  )

  triggers("8: a prompt over the limit with 422", () =>
    Effect.gen(function* () {
      const { post, runs } = yield* startWithWebhook
      expect((yield* post({ variables: { text: "x".repeat(256 * 1024) } })).status).toBe(202)
      expect(refusal(yield* post({ variables: { text: "x".repeat(256 * 1024 + 1) } }))).toStrictEqual([
        422,
        "prompt_too_large"
      ])
      expect(yield* runs).toHaveLength(1)
    })
  )

  triggers("9: a team that is not running with 409", () =>
    Effect.gen(function* () {
      const { team, webhook, http, admin } = yield* startWithWebhook
      const idle = yield* team("idle", "no leader")
      const { id, path } = yield* webhook(idle)
      for (const query of ["", "?wait=true"]) {
        const answer = yield* http("POST", path + query, { body: hello })
        expect(refusal(answer)).toStrictEqual([409, "team_not_running"])
      }
      expect((yield* admin("GET", `/api/webhooks/${id}/runs`)).json.data).toStrictEqual([])
    })
  )

  triggers(
    "2: callers from an address that the webhook does not allow, before anything else is read, and on its runs",
    () =>
      Effect.gen(function* () {
        const { admin, team, webhook, http, history } = yield* start()
        const { id, path } = yield* webhook(yield* team("ops"))
        const { run_id } = (yield* http("POST", path, { body: hello })).json
        const edit = (allow_from: ReadonlyArray<string> | null) =>
          admin("PATCH", `/api/webhooks/${id}`, { body: { allow_from } })
        const answers = Effect.all([
          http("POST", path, { body: hello }),
          http("POST", path, { raw: "{" }),
          http("GET", `${path}/runs/${run_id}`),
          // Of somebody who is no trusted proxy, this says nothing.
          http("POST", path, { body: hello, headers: { "x-forwarded-for": "10.1.2.3" } })
        ])
        for (const networks of [["10.0.0.0/8"], ["127.0.0.2", "::1", "192.0.2.0/24"]]) {
          yield* edit(networks)
          const refused = yield* answers
          expect(refused.map(refusal)).toStrictEqual(refused.map(() => [401, "not_verified"]))
          expect(new Set(refused.map(({ text }) => text)).size).toBe(1)
        }
        const wrong = `${path.slice(0, -1)}${path.endsWith("x") ? "y" : "x"}`
        expect(refusal(yield* http("POST", wrong, { body: hello }))).toStrictEqual([404, "not_found"])
        for (const networks of [["10.0.0.0/8", "127.0.0.0/8"], ["::ffff:127.0.0.1"], null]) {
          yield* edit(networks)
          expect((yield* answers).map(({ status }) => status)).toStrictEqual([202, 400, 200, 202])
        }
        // An admin runs it from anywhere.
        yield* edit(["10.0.0.0/8"])
        expect((yield* admin("POST", `/api/webhooks/${id}/runs`, { body: hello })).status).toBe(202)
        expect(yield* history(id)).toHaveLength(8)
      })
  )

  triggers("2: callers behind a trusted proxy by the address that it reports", () =>
    Effect.gen(function* () {
      const { team, webhook, http } = yield* start({ trustedProxies: ["127.0.0.1"] })
      const { path } = yield* webhook(yield* team("ops"), "{{text}}", { allow_from: ["10.0.0.0/8"] })
      const from = (address: string) =>
        Effect.map(http("POST", path, { body: hello, headers: { "x-forwarded-for": address } }), ({ status }) => status)
      expect([yield* from("10.1.2.3"), yield* from("192.0.2.1"), yield* from("10.1.2.3, 192.0.2.1")]).toStrictEqual([
        202, 401, 401
      ])
    })
  )

  triggers("9: for a stopped team only callers that wait, when the webhook queues its triggers", () =>
    Effect.gen(function* () {
      const { admin, team, webhook, http } = yield* start()
      const idle = yield* team("idle", "no leader")
      const { id, path } = yield* webhook(idle, "{{text}}", { when_team_stopped: "queue", queue_for_seconds: 60 })
      expect(refusal(yield* http("POST", `${path}?wait=true`, { body: hello }))).toStrictEqual([
        409,
        "team_not_running"
      ])
      const accepted = yield* http("POST", path, { body: hello })
      expect(accepted.status).toBe(202)
      const location = accepted.headers.get("location")!
      expect((yield* http("GET", location)).json).toMatchObject({ status: "queued" })
      yield* admin("PATCH", `/api/webhooks/${id}`, { body: { when_team_stopped: "refuse" } })
      expect(refusal(yield* http("POST", path, { body: hello }))).toStrictEqual([409, "team_not_running"])
      expect((yield* http("GET", location)).json).toMatchObject({ status: "queued" })
    })
  )

  triggers("10: more runs than may be queued with 429 and Retry-After", () =>
    Effect.gen(function* () {
      const { team, webhook, http } = yield* start({ settings: { maxQueued: 2, maxConcurrent: 1 } })
      const busy = yield* team("busy", silent)
      const { path } = yield* webhook(busy, "{{text}}", { max_queued: 5 })
      const answers = yield* Effect.forEach([1, 2, 3, 4, 5], () => http("POST", path, { body: hello }))
      const last = answers.at(-1)!
      expect(answers[0]!.status).toBe(202)
      expect(refusal(last)).toStrictEqual([429, "too_many_queued"])
      expect(last.headers.get("retry-after")!).toMatch(/^\d+$/)
    })
  )

  triggers("10: more of one webhook than may be queued of it, a tenth of all by default, and not of another", () =>
    Effect.gen(function* () {
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
    })
  )

  triggers("10: more than the webhook's rate, with the seconds until it takes one again, from the web UI as well", () =>
    Effect.gen(function* () {
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
    })
  )

  triggers("11: with 503 and Retry-After while the database or the broker is out of reach", () =>
    Effect.gen(function* () {
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
  )

  triggers("11: with 503 when the server stops, naming the run that goes on", () =>
    Effect.gen(function* () {
      const { team, webhook, http, firstRuns, shutdown } = yield* start()
      const slow = yield* team("slow", silent)
      const { id, path } = yield* webhook(slow)
      const waiting = yield* Effect.fork(http("POST", `${path}?wait=true`, { body: hello }))
      const [run] = yield* firstRuns(id)
      yield* shutdown.begin
      expect(refusal(yield* http("POST", path, { body: hello }))).toStrictEqual([503, "unavailable"])
      yield* shutdown.stopWaiting
      const answer = yield* Fiber.join(waiting)
      expect(refusal(answer)).toStrictEqual([503, "unavailable"])
      expect(answer.json.run_id).toBe(run.run_id)
    })
  )
})
