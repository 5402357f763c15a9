import { once } from "node:events"
import { Agent, type IncomingMessage, request } from "node:http"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { adminKey, start } from "./Server.ts"

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

const callers = (port: number, count: number) => Effect.replicateEffect(connect(port), count)

describe("the connections of a server that has as many as it can have", () => {
  it.scoped("make way for new ones, the longest idle first, unless they have shown a token or a key", () =>
    Effect.gen(function* () {
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
      expect(opened.map(({ status }) => status)).toEqual([200, 202, 401, 200])
      yield* first!("/health/live")
      // Now the second is idle for longest.
      expect((yield* third!("/health/live")).status).toBe(200)
      const again = [yield* keyed!("/api/teams"), yield* tokened!("/health/live"), yield* first!("/health/live")]
      expect(again.map(({ socket }) => socket)).toEqual([opened[0]!.socket, opened[1]!.socket, opened[2]!.socket])
      yield* Effect.promise(() => opened[3]!.closed)
    })
  )

  it.scoped("leave new callers with 503, except for health checks, when all of them have shown a key", () =>
    Effect.gen(function* () {
      const { port } = yield* start({ limits: { connections: 2, connectionsPerAddress: 2 } })
      const [first, second, third, fourth] = yield* callers(port, 4)
      for (const caller of [first!, second!]) expect((yield* caller("/api/teams", withKey)).status).toBe(200)
      const refused = yield* third!("/api/teams", withKey)
      expect(refused).toMatchObject({ status: 503, headers: { connection: "close", "retry-after": "1" } })
      expect(JSON.parse(refused.text)).toMatchObject({ status: 503, code: "unavailable" })
      expect(yield* fourth!("/health/ready")).toMatchObject({ status: 200, headers: { connection: "close" } })
      expect((yield* first!("/api/teams", withKey)).status).toBe(200)
    })
  )
})

describe("the connections of one address", () => {
  it.scoped("are limited", () =>
    Effect.gen(function* () {
      const { port } = yield* start({ limits: { connections: 10, connectionsPerAddress: 2 } })
      const all = yield* callers(port, 3)
      const statuses = yield* Effect.forEach(all, (caller) => caller("/api/teams", withKey))
      expect(statuses.map(({ status }) => status)).toEqual([200, 200, 503])
    })
  )

  it.scoped("are not, if it is a trusted proxy", () =>
    Effect.gen(function* () {
      const limits = { connections: 10, connectionsPerAddress: 2 }
      const { port } = yield* start({ limits, trustedProxies: ["127.0.0.1"] })
      const all = yield* callers(port, 3)
      const answers = yield* Effect.forEach(all, (caller) => caller("/health/live"))
      const again = yield* Effect.forEach(all, (caller) => caller("/health/live"))
      expect(again.map(({ socket }) => socket)).toEqual(answers.map(({ socket }) => socket))
    })
  )
})
