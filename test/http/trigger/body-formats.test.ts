/** Bodies as services and people send them: JSON sent as a form, other encodings, forms with files, and compressed. */
import { gzipSync } from "node:zlib"
import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { shared } from "../../support/Shared.ts"
import { untilEffect } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { hello, start, withWebhook } from "../Server.ts"

const formType = "application/x-www-form-urlencoded"

const atOneServer = shared(start())

/** A webhook that takes whole requests; `payload` is what its template gets of one. */
const startWith = Effect.gen(function* () {
  const server = yield* atOneServer
  const hook = yield* server.webhook(yield* server.team("ops"), "{{payload}}", {
    input: "payload",
    store_requests: "all"
  })
  const post = (raw: string | Uint8Array, type: string | undefined, headers = {}) =>
    server.http("POST", `${hook.path}?wait=true`, {
      raw,
      headers: { ...(type !== undefined && { "content-type": type }), ...headers }
    })
  const payload = (...args: Parameters<typeof post>) =>
    Effect.map(post(...args), ({ json, status, text }) => {
      expect(status, text).toBe(200)
      const got = json.response.slice("echo: ".length)
      return got.startsWith("{") || got.startsWith("[") ? JSON.parse(got) : got
    })
  /** Waits until a request with this body is stored. */
  const stored = (body: string) =>
    untilEffect(
      `a stored request has the body ${body}`,
      Effect.map(server.admin("GET", `/api/webhooks/${hook.id}/requests?accepted=true`), ({ json }) =>
        json.data.some((request: { readonly body?: string }) => request.body === body)
      )
    )
  return { ...server, hook, post, payload, stored }
})

describe("JSON that is sent as a form", () => {
  it.live("gives the variables, as `curl -d` sends it", function* () {
    const { http, hook } = yield* Effect.flatMap(atOneServer, withWebhook)
    const send = (raw: string, type = formType) =>
      http("POST", `${hook.path}?wait=true`, { raw, headers: { "content-type": type } })
    const text = "a=b&c=d+100% {x}"
    for (const raw of [
      JSON.stringify({ variables: { text } }),
      ` \n${JSON.stringify({ variables: { text } }, null, 2)}`,
      encodeURIComponent(JSON.stringify({ variables: { text } }))
    ]) {
      const answer = yield* send(raw)
      expect([answer.status, answer.json.response], raw).toEqual([200, `echo: ${text}`])
    }
    const asText = yield* send(JSON.stringify(hello), "text/json; charset=utf-8")
    expect(asText.status).toBe(200)
    for (const raw of ["text=hello", "", "{text", "%7Btext=1", `${encodeURIComponent('{"variables":{}}')}&b=1`]) {
      expect(refusal(yield* send(raw)), raw).toStrictEqual([415, "unsupported_media_type"])
    }
    expect(refusal(yield* send("[1]"))).toStrictEqual([400, "invalid_body"])
  })

  it.live("is the payload, but no form is taken for JSON", function* () {
    const { payload } = yield* startWith
    expect(yield* payload('{"a":"b&c=d"}', formType)).toEqual({ a: "b&c=d" })
    expect(yield* payload("[1,2]", formType)).toEqual([1, 2])
    expect(yield* payload('{"a":1}', "text/json")).toEqual({ a: 1 })
    expect(yield* payload("12", formType)).toEqual({ 12: "" })
    expect(yield* payload("{a=1&b=2", formType)).toEqual({ "{a": "1", b: "2" })
  })
})

describe("encodings of texts", () => {
  it.live("are those that the request declares", function* () {
    const { http, hook, payload, post, stored } = yield* startWith
    const latin = (text: string) => Buffer.from(text, "latin1")
    expect(yield* payload(latin("Grüße"), "text/plain; charset=ISO-8859-1")).toBe("Grüße")
    expect(yield* payload(latin('{"a":"é"}'), 'application/json; charset="iso-8859-1"')).toEqual({ a: "é" })
    expect(yield* payload("a=%E9+b&%FC=1", `${formType}; charset=windows-1252`)).toEqual({ a: "é b", ü: "1" })
    expect(yield* payload(Buffer.from("né", "utf16le"), "text/plain; charset=utf-16le")).toBe("né")
    expect(yield* payload("Grüße", "text/plain; charset=us-ascii")).toBe("Grüße")
    expect(yield* payload("Grüße", "text/plain; charset=unheard-of")).toBe("Grüße")
    expect(refusal(yield* post(latin("Grüße"), "text/plain"))).toStrictEqual([400, "invalid_body"])
    yield* stored('{"a":"é"}')
    expect((yield* http("POST", hook.path, { raw: "\uFEFF\uFEFF{}" })).status).toBe(202)
    expect(yield* payload("\uFEFF\uFEFFtext", "text/plain")).toBe("text")
  })
})

const boundary = "----WebKitFormBoundary7MA4YWxk"
const multipart = `multipart/form-data; boundary=${boundary}`
const part = (disposition: string, content: string | Uint8Array, more = "") =>
  Buffer.concat([
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n`),
    Buffer.from(content as string),
    Buffer.from("\r\n")
  ])
const form = (...parts: ReadonlyArray<Uint8Array>) => Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)])

describe("a form with files", () => {
  it.live("gives its fields by name, and of its files the names and the texts", function* () {
    const { payload, hook } = yield* startWith
    const token = hook.path.split("/").at(-1)!
    const sent = form(
      part('name="formID"', "42"),
      part('name="rawRequest"', '{"q1":"--x\\r\\n"}'),
      part('name="tags[]"', "a"),
      part('name="tags[]"', "b"),
      part('name="say \\"hi\\""', ""),
      part("name=__proto__", "x"),
      part('name="url"', `https://hooks.example.com/webhook/trigger/${token}`),
      part('name="mail"', Buffer.from("Grüße", "latin1")),
      part('name="old"', Buffer.from("é", "latin1"), "Content-Type: text/plain; charset=iso-8859-1\r\n"),
      part('name="log"; filename="x.log"', "line 1\r\nline 2\r\n--", "Content-Type: text/plain\r\n"),
      part("name=\"photo\"; filename*=UTF-8''%C3%BC.png", Buffer.from([0x89, 0x50, 0xff, 0, 13, 10, 45, 45])),
      part('name="none"; filename=""', "", "Content-Type: application/octet-stream\r\n")
    )
    const got = yield* payload(Buffer.concat([Buffer.from("preamble\r\n"), sent]), multipart)
    expect(Object.entries(got)).toEqual([
      ["formID", "42"],
      ["rawRequest", '{"q1":"--x\\r\\n"}'],
      ["tags[]", ["a", "b"]],
      ['say "hi"', ""],
      ["__proto__", "x"],
      ["url", "https://hooks.example.com/webhook/trigger/whk_redacted"],
      ["mail", "Grüße"],
      ["old", "é"],
      ["log", { filename: "x.log", content_type: "text/plain", text: "line 1\r\nline 2\r\n--" }],
      ["photo", { filename: "ü.png" }],
      ["none", { filename: "", content_type: "application/octet-stream", text: "" }]
    ])
    // As `fetch` and `curl -F` send it.
    const data = new FormData()
    data.set("a", "1")
    data.set("file", new File(["hello"], "a.txt", { type: "text/plain" }))
    const built = new Response(data)
    const bytes = new Uint8Array(yield* Effect.promise(() => built.arrayBuffer()))
    expect(yield* payload(bytes, built.headers.get("content-type")!)).toEqual({
      a: "1",
      file: { filename: "a.txt", content_type: "text/plain", text: "hello" }
    })
    expect(yield* payload(form(part('name="payload"', '{"a":1}')), multipart)).toEqual({ a: 1 })
    expect(yield* payload(form(), multipart)).toEqual({})
  })

  it.live("is refused if it is incomplete, or has too many parts", function* () {
    const { post } = yield* startWith
    const one = part('name="a"', "1")
    for (const [body, type, detail] of [
      [one, multipart, "ends within"],
      [form(one).subarray(0, -6), multipart, "ends within"],
      ["", multipart, "no part"],
      ["a=1", multipart, "no part"],
      [form(one), "multipart/form-data; charset=utf-8", "no `boundary`"],
      [form(part("x=1", "1")), multipart, "no name"],
      [form(...Array.from({ length: 1_001 }, () => one)), multipart, "more than 1000 parts"],
      [`--${boundary}\r\n`.repeat(30_000), multipart, "no name"],
      ["\r\n--".repeat(250_000), multipart, "no part"]
    ] as const) {
      const answer = yield* post(body, type)
      expect(refusal(answer), detail).toStrictEqual([400, "invalid_body"])
      expect(answer.json.detail).toContain(detail)
    }
  })
})

describe("a compressed body", () => {
  it.live("is read, within the limit of the whole body", function* () {
    const limit = 1024 * 1024
    const bomb = gzipSync(Buffer.alloc(64 * limit))
    const { http, hook, runs } = yield* Effect.flatMap(atOneServer, withWebhook)
    const send = (raw: Uint8Array, coding = "gzip") =>
      http("POST", hook.path, { raw, headers: { "content-type": "application/json", "content-encoding": coding } })
    const json = Buffer.from(JSON.stringify(hello))
    for (const coding of ["gzip", "x-gzip", " GZIP"]) {
      expect((yield* send(gzipSync(json), coding)).status, coding).toBe(202)
    }
    expect(refusal(yield* send(json))).toStrictEqual([400, "invalid_body"])
    expect(refusal(yield* send(gzipSync(json).subarray(0, -9)))).toStrictEqual([400, "invalid_body"])
    const padded = (size: number) => gzipSync(Buffer.concat([json, Buffer.alloc(size - json.length, " ")]))
    expect((yield* send(padded(limit))).status).toBe(202)
    expect(refusal(yield* send(padded(limit + 1)))).toStrictEqual([413, "body_too_large"])
    // 64 MiB in 64 KB.
    const answers = yield* Effect.replicateEffect(send(bomb), 10, { concurrency: "unbounded" })
    for (const answer of answers) expect(refusal(answer)).toStrictEqual([413, "body_too_large"])
    expect(yield* runs).toHaveLength(4)
  })

  it.live("is stored as what it contains", function* () {
    const { payload, stored } = yield* startWith
    expect(yield* payload(gzipSync("a=1&b=2"), formType, { "content-encoding": "gzip" })).toEqual({ a: "1", b: "2" })
    yield* stored("a=1&b=2")
  })
})
