import { once } from "node:events"
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http"
import { type AddressInfo, connect as connectTo, type Socket } from "node:net"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { ConnectionLimits, type Limits } from "../../../src/http/serve/ConnectionLimits.ts"
import * as Connections from "../../../src/http/serve/Connections.ts"
import { describe, expect, it } from "../../support/It.ts"
import { adminKey, start } from "../Server.ts"

const json = { "content-type": "application/json" }
const withKey = { authorization: `Bearer ${adminKey}` }

/** A caller with one connection, which it keeps. */
const connect = (port: number) =>
  Effect.acquireRelease(
    Effect.sync(() => new Agent({ keepAlive: true, maxSockets: 1 })),
    (agent) => Effect.sync(() => agent.destroy())
  ).pipe(
    Effect.map((agent) => {
      const send = async (method: string, path: string, headers: Record<string, string>, body?: object) => {
        const sent = request({ agent, port, host: "127.0.0.1", method, path, headers })
        sent.end(body === undefined ? undefined : JSON.stringify(body))
        const [response] = (await once(sent, "response")) as [IncomingMessage]
        const { socket } = response
        const closed = once(socket, "close")
        let text = ""
        for await (const chunk of response) text += chunk
        return { status: response.statusCode, headers: response.headers, socket, closed, text }
      }
      return (path: string, headers: Record<string, string> = {}, method = "GET", body?: object) =>
        Effect.promise(() => send(method, path, headers, body))
    })
  )

/** A server with a webhook whose leader says when it is at work, and answers when it is told to. */
const startWaiting = (limits: Limits) =>
  Effect.gen(function* () {
    const [begun, told] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const { port, team, webhook } = yield* start({ limits })
    const name = yield* team("ops", ({ reply }) =>
      Deferred.succeed(begun, undefined).pipe(
        Effect.andThen(Deferred.await(told)),
        Effect.andThen(reply({ _tag: "Answered", response: "done" }))
      )
    )
    const { path } = yield* webhook(name, "Hello")
    return { port, path, atWork: Deferred.await(begun), answer: Deferred.succeed(told, undefined) }
  })

const callers = (port: number, count: number) => Effect.replicateEffect(connect(port), count)

describe("the connections of a server that has as many as it can have", () => {
  it.live("make way for new ones, the longest idle first, those that have shown a token or a key last", function* () {
    const { port } = yield* start({ limits: { connections: 4, connectionsPerAddress: 4 } })
    const [keyed, tokened, first, second, third] = yield* callers(port, 5)
    const create = (path: string, body: object) =>
      Effect.map(keyed!(path, { ...withKey, ...json }, "POST", body), ({ text }) => JSON.parse(text))
    yield* create("/api/teams", { team: "ops" })
    const webhook = { name: "Ops", team: "ops", prompt_template: "Hello", when_team_stopped: "queue" }
    const { token } = yield* create("/api/webhooks", webhook)
    const opened = [
      yield* keyed!("/api/teams", withKey),
      yield* tokened!(`/webhook/trigger/${token}`, json, "POST", { variables: {} }),
      yield* first!("/api/teams"),
      yield* second!("/health/live")
    ]
    const statuses = opened.map(({ status }) => status)
    expect(statuses, opened.map(({ text }) => text).join("\n")).toEqual([200, 202, 401, 200])
    yield* first!("/health/live")
    // Now the second is idle for longest.
    expect((yield* third!("/health/live")).status).toBe(200)
    const again = [yield* keyed!("/api/teams"), yield* tokened!("/health/live"), yield* first!("/health/live")]
    expect(again.map(({ socket }) => socket)).toEqual([opened[0]!.socket, opened[1]!.socket, opened[2]!.socket])
    yield* Effect.promise(() => opened[3]!.closed)
  })

  it.live("with a token or a key make way when they are idle; one that waits for its answer never does", function* () {
    const { path, port, answer, atWork } = yield* startWaiting({ connections: 1, connectionsPerAddress: 1 })
    const [first, second, third] = yield* callers(port, 3)
    const keyed = yield* first!("/api/teams", withKey)
    expect(keyed.status).toBe(200)
    const waiting = yield* Effect.forkChild(second!(`${path}?wait=true`, json, "POST", { variables: {} }))
    yield* Effect.promise(() => keyed.closed)
    yield* atWork
    const refused = yield* third!("/api/teams", withKey)
    expect(refused).toMatchObject({ status: 503, headers: { connection: "close", "retry-after": "1" } })
    expect(JSON.parse(refused.text)).toMatchObject({ status: 503, code: "unavailable" })
    expect(yield* third!("/health/ready")).toMatchObject({ status: 200, headers: { connection: "close" } })
    yield* answer
    const answered = yield* Fiber.join(waiting)
    expect(answered.status).toBe(200)
    expect((yield* third!("/api/teams", withKey)).status).toBe(200)
    yield* Effect.promise(() => answered.closed)
  })
})

describe("the connections of one address", () => {
  it.live("are limited: the one used longest ago makes way", function* () {
    const { port } = yield* start({ limits: { connections: 10, connectionsPerAddress: 2 } })
    const [first, second, third] = yield* callers(port, 3)
    const send = (caller: typeof first) => caller!("/api/teams", withKey)
    const answers = [yield* send(first), yield* send(second)]
    yield* send(first)
    expect((yield* send(third)).status).toBe(200)
    yield* Effect.promise(() => answers[1]!.closed)
    expect((yield* send(first)).socket).toBe(answers[0]!.socket)
  })

  it.live("are not, if it is a trusted proxy", function* () {
    const limits = { connections: 10, connectionsPerAddress: 2 }
    const { port } = yield* start({ limits, trustedProxies: ["127.0.0.1"] })
    const all = yield* callers(port, 3)
    const answers = yield* Effect.forEach(all, (caller) => caller("/health/live"))
    const again = yield* Effect.forEach(all, (caller) => caller("/health/live"))
    expect(again.map(({ socket }) => socket)).toEqual(answers.map(({ socket }) => socket))
  })
})

it.live(
  "a connection without credentials is closed soon when it is idle, not while a pipelined request is open",
  function* () {
    const server = yield* Effect.acquireRelease(Effect.sync(createServer), (server) =>
      Effect.sync(() => server.close())
    )
    yield* Layer.build(Connections.layer(server, { limits: new ConnectionLimits() }))
    const open: Array<ServerResponse> = []
    server.on("request", (_, response: ServerResponse) => open.push(response))
    const opened = once(server.listen(0, "127.0.0.1"), "connection")
    yield* Effect.promise(() => once(server, "listening"))
    const caller = connectTo((server.address() as AddressInfo).port, "127.0.0.1")
    yield* Effect.addFinalizer(() => Effect.sync(() => caller.destroy()))
    const asked = new Promise<void>((resolve) => server.on("request", () => open.length === 2 && resolve()))
    caller.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(2))
    const [socket] = (yield* Effect.promise(() => opened)) as [Socket]
    yield* Effect.promise(() => asked)
    const answer = (response: ServerResponse) => {
      response.end()
      return Effect.promise(() => once(caller, "data"))
    }
    yield* answer(open[0]!)
    expect(socket.timeout ?? 0).toBe(0)
    yield* answer(open[1]!)
    expect(socket.timeout).toBe(5_000)
  }
)

it.live("a connection is kept when little of a refused body was left, and closed when much was", function* () {
  const { port } = yield* start()
  /** Sends a body after its response, then another request; returns what comes until the end or a second response. */
  const answersTo = (body: string) =>
    Effect.promise(async () => {
      const socket = connectTo(port, "127.0.0.1").setEncoding("utf8")
      socket.on("error", () => {})
      socket.write("POST /none HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n")
      let received = ""
      socket.on("data", (data) => {
        received += data
      })
      await once(socket, "data")
      const chunk = `${body.length.toString(16)}\r\n${body}\r\n`
      socket.write(`${chunk}0\r\n\r\nGET /health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`)
      await once(socket, "close")
      return [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
    })
  expect(yield* answersTo("little")).toEqual(["404", "200"])
  expect(yield* answersTo("much".repeat(100_000))).toEqual(["404"])
})
