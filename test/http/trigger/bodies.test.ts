/** What callers cost who send bodies that nobody reads, or many at once. */
import type { Server } from "node:http"
import { Effect } from "effect"
import { expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { dialog, flood, refusal, wire } from "../Client.ts"
import { hello, start, startWithWebhook } from "../Server.ts"

const MiB = 1024 * 1024

/** Far below what is announced, and above what fits into the buffers of both ends of a connection. */
const little = 32 * MiB

const announced = `Content-Length: ${1024 * MiB}\r\n\r\n`

it.live("a refused caller that goes on sending gets its answer and is disconnected", function* () {
  const { port, hook } = yield* startWithWebhook
  const unknown = `/webhook/trigger/whk_${"0".repeat(43)}`
  const callers = [
    [404, `POST ${unknown} HTTP/1.1\r\nHost: x\r\n${announced}`],
    [405, `PUT ${hook.path} HTTP/1.1\r\nHost: x\r\n${announced}`],
    [415, `POST ${hook.path} HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n${announced}`],
    [404, `GET /no/such/path HTTP/1.1\r\nHost: x\r\n${announced}`],
    [401, `POST /api/webhooks HTTP/1.1\r\nHost: x\r\n${announced}`],
    [200, `GET /health/live HTTP/1.1\r\nHost: x\r\n${announced}`]
  ] as const
  yield* Effect.forEach(
    callers,
    ([status, head]) =>
      Effect.map(flood(port, head, Buffer.alloc(0x10000, "x")), ({ sent, text }) => {
        expect(text, head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
        expect(sent, head).toBeLessThan(little)
      }),
    { concurrency: "unbounded" }
  )
  const chunked = `POST ${unknown} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`
  const { sent, text } = yield* flood(port, chunked, `10000\r\n${"x".repeat(0x10000)}\r\n`)
  expect(text).toMatch(/^HTTP\/1\.1 404 /)
  expect(sent).toBeLessThan(little)
})

it.live("a body in many pieces adds no more listeners to its response than one in one piece", function* () {
  const listeners: Array<number> = []
  const onServer = (server: Server) =>
    server.on("request", (_, response) => {
      response.on("newListener", (event) => {
        if (event === "close") listeners.push(response.listenerCount("close") + 1)
      })
    })
  const { port, team, webhook } = yield* start({ onServer })
  const { path } = yield* webhook(yield* team("ops"))
  const body = JSON.stringify({ ...hello, pad: "x".repeat(1000) })
  const inPieces = (count: number) => {
    const size = Math.ceil(body.length / count)
    const pieces = Array.from({ length: count }, (_, n) => body.slice(n * size, (n + 1) * size))
    const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join("")
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n`
    listeners.length = 0
    return Effect.map(wire(port, `${head}${chunks}0\r\n\r\n`), ({ text }) => {
      expect(text).toMatch(/^HTTP\/1\.1 202 /)
      return listeners.length
    })
  }
  expect(yield* inPieces(50)).toBe(yield* inPieces(1))
})

it.live("a refused caller with a small body keeps its connection", function* () {
  const { port } = yield* startWithWebhook
  const request = `POST /webhook/trigger/x HTTP/1.1\r\nHost: x\r\nContent-Length: 65536\r\n\r\n${"x".repeat(65_536)}`
  const { text } = yield* wire(port, request + request, (text) => text.split("HTTP/1.1 404 ").length === 3)
  expect(text.split("HTTP/1.1 404 ")).toHaveLength(3)
})

it.live("a caller that waits for 100 is asked for its body only when nothing else is wrong", function* () {
  const { port, hook, runs } = yield* startWithWebhook
  const body = JSON.stringify(hello)
  const head = (path: string, more = "", length = body.length) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n${more}Content-Length: ${length}\r\n\r\n`
  for (const [status, request] of [
    [404, head(`/webhook/trigger/whk_${"0".repeat(43)}`)],
    [415, head(hook.path, "Content-Type: text/plain\r\n")],
    [413, head(hook.path, "", 2 * MiB)],
    [401, head("/api/webhooks")]
  ] as const) {
    const { text } = yield* wire(port, request, (text) => text.endsWith("}"))
    expect(text, request).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(text).not.toContain("100 Continue")
  }
  const { text } = yield* dialog(
    port,
    [
      [/^/, head(hook.path)],
      [/^HTTP\/1\.1 100 Continue\r\n\r\n/, body]
    ],
    /"run_id"/
  )
  expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 202 /)
  expect(yield* runs).toHaveLength(1)
})

it.live(
  "bodies over the server's budget are refused with 503, of the webhook that has the most, until some have ended",
  function* () {
    const { http, port, team, webhook } = yield* start({ settings: { maxBodies: 2 * MiB } })
    const greedy = yield* webhook(yield* team("ops"))
    const other = yield* webhook("ops")
    const large = { ...hello, pad: "x".repeat(0.9 * MiB) }
    const post = (path: string, body: object) => http("POST", path, { body })
    yield* Effect.gen(function* () {
      // Nine tenths of a body, and then nothing more.
      const head = `POST ${greedy.path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${MiB}\r\n\r\n`
      yield* Effect.forkScoped(wire(port, head + "x".repeat(0.9 * MiB)))
      const refused = yield* repeatUntil(post(greedy.path, large), ({ status }) => status !== 202)
      expect(refusal(refused)).toStrictEqual([503, "unavailable"])
      expect(refused.headers.get("retry-after")).toMatch(/^\d+$/)
      expect((yield* post(greedy.path, hello)).status).toBe(202)
      expect((yield* post(other.path, { ...hello, pad: "x".repeat(0.5 * MiB) })).status).toBe(202)
    }).pipe(Effect.scoped)
    const again = yield* repeatUntil(post(greedy.path, large), ({ status }) => status !== 503)
    expect(again.status).toBe(202)
  }
)
