import { once } from "node:events"
import { connect } from "node:net"
import { Effect, Exit, Fiber, Scope } from "effect"
import * as Listener from "../../src/http/serve/Listener.ts"
import * as Program from "../cli/Program.ts"
import { wire } from "../http/Client.ts"
import { freshDatabase } from "../support/fresh.ts"
import { type Server, serve } from "../support/InProcess.ts"
import { afterAll, beforeAll, describe, expect, it } from "../support/It.ts"
import { freePort } from "../support/Process.ts"
import { until } from "../support/Until.ts"

const ADMIN_API_KEY = "a-key-for-these-tests"
const withKey = { headers: { authorization: `Bearer ${ADMIN_API_KEY}` } }

const scope = Effect.runSync(Scope.make())
let server: Server
const portOf = ({ url }: Server) => Number(new URL(url).port)

beforeAll(async () => {
  server = await Effect.runPromise(Scope.provide(serve({ ADMIN_API_KEY }), scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

/** How long the server keeps the connection that it has answered on. */
const keptFor = (url: string, options: RequestInit = {}) =>
  Effect.promise(async () => (await fetch(url, options)).headers.get("keep-alive"))

it.live(
  "a connection is kept for longer than the usual proxies keep theirs, once it has shown a valid key",
  function* () {
    expect(yield* keptFor(`${server.url}/api/teams`, withKey)).toBe("timeout=65")
  }
)

it.live("a trusted proxy's connection is kept that long from the beginning", function* () {
  const trusting = yield* serve({ ADMIN_API_KEY, TRUSTED_PROXIES: "127.0.0.1" })
  expect(yield* keptFor(`${trusting.url}/health/live`)).toBe("timeout=65")
})

describe.concurrent("a connection that is closed after a time", () => {
  it.live("has shown neither token nor key, and been without a request for 5 s", function* () {
    const port = portOf(server)
    const withKey = yield* Effect.forkChild(
      wire(port, `GET /api/teams HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_API_KEY}\r\n\r\n`)
    )
    const begun = performance.now()
    const { text } = yield* wire(port, "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
    expect(text).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nKeep-Alive: timeout=5\r\n/)
    expect(performance.now() - begun).toBeGreaterThan(4_900)
    // One that is kept for 65 s is still open.
    expect(withKey.pollUnsafe()).toBeUndefined()
    yield* Fiber.interrupt(withKey)
  })

  it.live("is of a caller that does not finish its headers in 10 s", function* () {
    const port = portOf(server)
    const begun = performance.now()
    const ends: Array<readonly [what: string, seconds: number]> = []
    const untilClosed = (what: string, bytes: string) =>
      Effect.tap(wire(port, bytes), () => Effect.sync(() => ends.push([what, (performance.now() - begun) / 1000])))
    const head = "POST /api/session HTTP/1.1\r\nHost: x\r\n"
    const body = yield* Effect.forkChild(untilClosed("body", `${head}Content-Length: 99\r\n\r\n{`))
    expect((yield* untilClosed("headers", head)).text).toMatch(/^HTTP\/1\.1 408 /)
    yield* untilClosed("headers again", head)
    // Never early.
    expect(ends).toEqual([
      ["headers", expect.toSatisfy((seconds) => seconds > 9)],
      ["headers again", expect.toSatisfy((seconds) => seconds > 18)]
    ])
    // Its body may have files, and take longer.
    expect(body.pollUnsafe()).toBeUndefined()
    yield* Fiber.interrupt(body)
  })

  it("is of a caller that does not finish its request in 5 min", () => {
    expect(Listener.make({ port: 0 }).server).toMatchObject({ requestTimeout: 300_000 })
  })
})

it.live("a server with few open files answers its health checks while 700 connections are open", function* () {
  const command = ["/bin/sh", "-c", "ulimit -n 400; exec node dist/main.js serve"] as const
  const server = yield* Program.serveBy(command, { DATABASE_URL: yield* freshDatabase, ADMIN_API_KEY })
  const port = Number(new URL(server.url).port)
  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets = Array.from({ length: 700 }, () => connect(port, "127.0.0.1").on("error", () => {}))
      await Promise.all(sockets.map((socket) => once(socket, "connect")))
      return sockets
    }),
    (sockets) => Effect.sync(() => sockets.forEach((socket) => void socket.destroy()))
  )
  const statusOf = (path: string) => fetch(`${server.url}${path}`).then(({ status }) => status)
  // Not while its database needs a second for an answer; but each check is answered.
  yield* Effect.promise(() => until("it is ready", async () => (await statusOf("/health/ready")) === 200))
  expect(yield* Effect.promise(() => statusOf("/health/live"))).toBe(200)
  expect((yield* Effect.promise(() => fetch(`${server.url}/api/teams`, withKey))).status).toBe(200)
})

it.live("the first request that is let in is answered, because the server listens once its routes exist", function* () {
  const port = yield* Effect.promise(freePort)
  const variables = { DATABASE_URL: yield* freshDatabase, ADMIN_API_KEY: "a-key-for-these-tests", PORT: String(port) }
  const starting = yield* Effect.forkChild(Program.serve(variables))
  // One at a time: a connection is refused until the server listens, and then kept.
  const first = yield* Effect.promise(() =>
    until("the server lets a request in", () =>
      fetch(`http://127.0.0.1:${port}/health/live`, { signal: AbortSignal.timeout(60_000) }).catch((error) =>
        error.name === "TimeoutError" ? error : undefined
      )
    )
  )
  expect(first).toMatchObject({ status: 200 })
  yield* Fiber.join(starting)
})
