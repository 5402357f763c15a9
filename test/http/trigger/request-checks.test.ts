import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { shared } from "../../support/Shared.ts"
import { pointers, refusal, wire, writeThenRead } from "../Client.ts"
import { hello, start, unusedId, withWebhook } from "../Server.ts"

/** Each test has a webhook of its own, at one server. */
const ownWebhook = Effect.flatMap(shared(start()), withWebhook)

const unknownToken = `whk_${"0".repeat(43)}`

describe("refuses, in this order,", () => {
  it.live("1: any other method with 405 and Allow, whatever the token", function* () {
    const { http, hook, port } = yield* ownWebhook
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

  it.live(
    "2: a token that does not open a webhook with the same bytes, whatever the reason and the body",
    function* () {
      const { port, admin, webhook, hook } = yield* ownWebhook
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
          // After a long body, the connection closes.
          answers.set(text.replaceAll(/\r\n(Date|Connection|Keep-Alive): [^\r]*/gi, ""), `${path} ${i}`)
        }
      }
      expect([...answers], [...answers].map(([text, at]) => `${at}: ${text}`).join("\n\n")).toHaveLength(1)
      const [[text]] = [...answers] as [[string, string]]
      expect(text).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/)
      expect(text).toMatch(/"code":"not_found"/)
    }
  )

  it.live("2: the run's address likewise, another webhook's run, and text that is no run's id", function* () {
    const { post, http, webhook, hook } = yield* ownWebhook
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

  it.live("3: another media type, or another content encoding than gzip, with 415", function* () {
    const { http, hook, port, runs } = yield* ownWebhook
    const raw = JSON.stringify(hello)
    for (const type of ["text/plain", "multipart/mixed; boundary=x", "application/jsonx", "json", " "]) {
      const answer = yield* http("POST", hook.path, { raw, headers: { "content-type": type } })
      expect(refusal(answer), type).toStrictEqual([415, "unsupported_media_type"])
    }
    for (const coding of ["br", "identity, gzip"]) {
      const answer = yield* http("POST", hook.path, { body: hello, headers: { "content-encoding": coding } })
      expect(refusal(answer), coding).toStrictEqual([415, "unsupported_media_type"])
    }
    const headers = "a:\r\n".repeat(3_000)
    const last = `POST ${hook.path} HTTP/1.1\r\n${headers}Host: x\r\nContent-Encoding: br\r\n`
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

  it.live("4: a body over the limit with 413, but not one of exactly the limit", function* () {
    const { http, hook, post, runs } = yield* ownWebhook
    const limit = 1024 * 1024
    const bare = JSON.stringify({ ...hello, pad: "" }).length
    expect((yield* post({ ...hello, pad: "x".repeat(limit - bare) })).status).toBe(202)
    expect(refusal(yield* post({ ...hello, pad: "x".repeat(limit - bare + 1) }))).toStrictEqual([413, "body_too_large"])
    const garbage = yield* http("POST", `${hook.path}?wait=x`, { raw: "{".repeat(limit + 1) })
    expect(refusal(garbage)).toStrictEqual([413, "body_too_large"])
    expect(garbage.json.detail).toBe("At most 1048576 bytes are accepted, the server's `WEBHOOK_MAX_BODY`.")
    expect(yield* runs).toHaveLength(1)
  })

  it.live("4: a chunked body over the limit too, before it ends", function* () {
    const { port, hook } = yield* ownWebhook
    const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`
    const head = `POST ${hook.path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`
    // The last chunk never comes; the answer does not wait for it.
    const { text } = yield* wire(port, head + chunk.repeat(17), (text) => text.endsWith("}"))
    expect(text).toMatch(/^HTTP\/1\.1 413 [\s\S]*\r\nconnection: close\r\n[\s\S]*"code":"body_too_large"/i)
  })

  it.live("4: with an answer that reaches a caller that goes on sending, without a reset", function* () {
    const { port, hook } = yield* ownWebhook
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

  it.live("5: a body that is not the expected JSON object with 400", function* () {
    const { http, hook, runs } = yield* ownWebhook
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

  it.live("5: `wait` that is neither `true` nor `false`, or comes twice, with 400", function* () {
    const { post, http, hook, runs } = yield* ownWebhook
    for (const query of ["?wait", "?wait=", "?wait=TRUE", "?wait=1", "?wait=true&wait=true", "?wait=false&wait="]) {
      expect(refusal(yield* post(hello, query)), query).toStrictEqual([400, "invalid_wait"])
    }
    expect(yield* runs).toStrictEqual([])
    const { run_id } = (yield* post(hello)).json
    const view = yield* http("GET", `${hook.path}/runs/${run_id}?wait=maybe`)
    expect(refusal(view)).toStrictEqual([400, "invalid_wait"])
  })

  it.live("6: variables that cannot be stored with 400, each fault with its place", function* () {
    const { http, hook, runs } = yield* ownWebhook
    const raw = String.raw`{"variables":{"a":"\u0000","b":["\ud800"]}}`
    const answer = yield* http("POST", hook.path, { raw })
    expect(refusal(answer)).toStrictEqual([400, "invalid_variables"])
    expect(pointers(answer)).toStrictEqual(["/variables/a", "/variables/b/0"])
    const deep = `{"variables":{"text":${"[".repeat(500_000)}${"]".repeat(500_000)}}}`
    for (const headers of [{}, { "idempotency-key": "k" }]) {
      expect(refusal(yield* http("POST", hook.path, { raw: deep, headers }))).toStrictEqual([400, "invalid_variables"])
    }
    expect(yield* runs).toStrictEqual([])
  })
})
