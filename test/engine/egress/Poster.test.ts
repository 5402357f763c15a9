import type { ServerResponse } from "node:http"
import { expect, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Option, Result, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { AddressPolicy } from "../../../src/engine/egress/AddressPolicy.ts"
import { NoAnswer, Poster } from "../../../src/engine/egress/Poster.ts"
import { cut, hang, receiver } from "../../support/Receiver.ts"
import { untilEffect } from "../../support/Until.ts"

const onThisMachine = Layer.provide(
  Poster.layer,
  AddressPolicy.layer(Option.some({ hosts: [], networks: ["127.0.0.1"] }))
)

const send = (url: string, body = "{}") =>
  Effect.flatMap(Poster, ({ post }) => post({ url, headers: { "content-type": "application/json" }, body }))

const test = (name: string, body: Effect.Effect<unknown, unknown, Poster | Scope.Scope>) =>
  it.effect(name, () => Effect.provide(body, onThisMachine))

test(
  "keeps the beginning of an answer, and reads no more than it needs",
  Effect.gen(function* () {
    const { url } = yield* receiver({ status: 200, body: "x".repeat(1_000_000) })
    const answer = yield* send(url)
    expect(answer).toEqual({ http_status: 200, answer: "x".repeat(4_096) })
  })
)

const drip = (response: ServerResponse) => void response.writeHead(200).write("x")
const half = (response: ServerResponse) => {
  response.writeHead(200, { "content-length": "10" }).write("half", () => response.destroy())
}

test(
  "gives up after 15 seconds, whether nothing is answered or, of what is read, a little at a time",
  Effect.gen(function* () {
    const { port, received } = yield* receiver({ "/hang": hang, "/drip": drip })
    const posts = [
      send,
      (url: string) => Effect.flatMap(Poster, ({ post }) => post({ method: "GET", url, headers: {} }))
    ]
    for (const [n, path] of ["/hang", "/drip"].entries()) {
      const sent = yield* Effect.forkChild(Effect.flip(posts[n]!(`http://127.0.0.1:${port}${path}`)))
      yield* untilEffect(
        "the request has arrived",
        Effect.sync(() => received.length > n)
      )
      yield* TestClock.adjust("14999 millis")
      expect(sent.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 millis")
      expect((yield* Fiber.join(sent)).reason).toBe("no answer within 15s")
    }
  })
)

test(
  "fails when the connection is cut before the answer, or in what is read",
  Effect.gen(function* () {
    const { url } = yield* receiver(cut, half)
    expect((yield* Effect.flip(send(url))).reason).toMatch(/hang up|ECONNRESET/)
    const read = Effect.flatMap(Poster, ({ post }) => post({ method: "GET", url, headers: {} }))
    expect((yield* Effect.flip(read)).reason).toMatch(/aborted/)
  })
)

test(
  "counts the status of what it has sent, whatever comes after it",
  Effect.gen(function* () {
    const withBody = (response: ServerResponse) => void response.socket!.end("HTTP/1.1 204 No Content\r\n\r\nbody")
    const garbage = (response: ServerResponse) =>
      void response.socket!.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno chunk")
    const { url } = yield* receiver(half, withBody, garbage, drip)
    expect(yield* send(url)).toEqual({ http_status: 200, answer: "half" })
    expect(yield* send(url)).toEqual({ http_status: 204, answer: "" })
    expect(yield* send(url)).toEqual({ http_status: 200, answer: "" })
    // The time is up before the answer begins, or after that.
    let pause = 5
    yield* untilEffect(
      "an endless answer counts as far as it has come",
      Effect.gen(function* () {
        const endless = yield* Effect.forkChild(Effect.result(send(url)))
        pause *= 2
        yield* TestClock.withLive(Effect.sleep(pause))
        yield* TestClock.adjust("15 seconds")
        const answer = yield* Fiber.join(endless)
        expect(answer).toEqual(
          Result.isSuccess(answer)
            ? Result.succeed({ http_status: 200, answer: "x" })
            : Result.fail(new NoAnswer({ reason: "no answer within 15s" }))
        )
        return Result.isSuccess(answer)
      })
    )
  })
)

test(
  "does not fail because the receiver has closed a connection that was idle",
  Effect.gen(function* () {
    // Answers the first request of a connection, and resets it at the second.
    const once = (response: ServerResponse) => {
      const { socket } = response
      response.end("ok")
      socket?.once("data", () => socket.resetAndDestroy())
    }
    const { connections, url } = yield* receiver(once)
    expect((yield* send(url)).answer).toBe("ok")
    expect((yield* send(url)).answer).toBe("ok")
    expect(connections()).toBe(2)
  })
)

test(
  "follows no redirect, not even to where it may send",
  Effect.gen(function* () {
    const inside = yield* receiver(200)
    const { url } = yield* receiver({ status: 307, headers: { location: inside.url } })
    expect((yield* send(url)).http_status).toBe(307)
    expect(inside.connections()).toBe(0)
  })
)

test(
  "answers of one destination wait for no other at the same host",
  Effect.gen(function* () {
    const { port, received } = yield* receiver({ "/slow": hang, "/fast": 200 })
    const slow = yield* Effect.forkChild(
      Effect.all(
        Array.from({ length: 20 }, () => send(`http://127.0.0.1:${port}/slow`)),
        { concurrency: "unbounded" }
      )
    )
    yield* untilEffect(
      "all slow requests have arrived",
      Effect.sync(() => received.length === 20)
    )
    expect((yield* send(`http://127.0.0.1:${port}/fast`)).http_status).toBe(200)
    yield* Fiber.interrupt(slow)
  })
)

test(
  "reads Retry-After as seconds or as a date",
  Effect.gen(function* () {
    const after = (value: string) => ({ status: 503, headers: { "retry-after": value } })
    const past = new Date(0).toUTCString()
    const date = Date.now() + 3_600_000
    const { url } = yield* receiver(after("120"), after(new Date(date).toUTCString()), after(past))
    const millis = Effect.map(send(url), ({ retryAfter }) => retryAfter && Duration.toMillis(retryAfter))
    expect(yield* millis).toBe(120_000)
    const untilDate = yield* millis
    // The header has whole seconds.
    expect(untilDate).toBeGreaterThan(date - 1_000 - Date.now())
    expect(untilDate).toBeLessThanOrEqual(3_600_000)
    expect(yield* millis).toBeUndefined()
  })
)

test(
  "waits as long as rate limits last, in seconds since 1970 or from now on, with 403 as well",
  Effect.gen(function* () {
    const reset = Math.ceil(Date.now() / 1000) + 3_600
    const limited = (status: number, headers: Record<string, string>) => ({ status, headers })
    const used = { "x-ratelimit-remaining": "0" }
    const { url } = yield* receiver(
      limited(403, { ...used, "x-ratelimit-reset": String(reset) }),
      limited(429, { "x-ratelimit-reset": String(reset) }),
      limited(429, { "ratelimit-remaining": "0", "ratelimit-reset": "60" }),
      limited(429, { ...used, "x-ratelimit-reset": String(reset), "retry-after": "5" }),
      // Forbidden, but not by a limit.
      limited(403, { "x-ratelimit-remaining": "4999", "x-ratelimit-reset": String(reset) }),
      limited(403, { "x-ratelimit-reset": String(reset) }),
      limited(200, { ...used, "x-ratelimit-reset": String(reset) })
    )
    const seconds = Effect.map(send(url), ({ retryAfter }) => retryAfter && Math.round(Duration.toSeconds(retryAfter)))
    for (const expected of [3_600, 3_600]) {
      const waits = yield* seconds
      expect(waits).toBeGreaterThan(expected - 60)
      expect(waits).toBeLessThanOrEqual(expected + 1)
    }
    expect(yield* Effect.all(Array.from({ length: 5 }, () => seconds))).toEqual([
      60,
      5,
      undefined,
      undefined,
      undefined
    ])
  })
)
