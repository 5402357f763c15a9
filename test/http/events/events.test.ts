import { createServer } from "node:http"
import { connect } from "node:net"
import { NodeHttpServer, NodeHttpServerRequest } from "@effect/platform-node"
import { Effect, Layer, Schedule, Stream } from "effect"
import { HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as EventStreams from "../../../src/http/events/EventStreams.ts"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { type call, refusal } from "../Client.ts"
import { adminKey, listeningPort, silent, start } from "../Server.ts"

/** Opens a stream; it stays open until the scope closes. */
const openStream = (origin: string, headers: Record<string, string> = { authorization: `Bearer ${adminKey}` }) =>
  Effect.gen(function* () {
    const response = yield* Effect.promise(() => fetch(`${origin}/api/events`, { headers }))
    if (response.status !== 200) return yield* Effect.die(new Error(`answered ${response.status}`))
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    const close = Effect.promise(() => reader.cancel())
    yield* Effect.addFinalizer(() => close)
    let received = ""
    /** All events `change` so far, once `enough` says so. */
    const changes = (enough: (changes: ReadonlyArray<any>) => boolean) =>
      Effect.promise(async () => {
        for (;;) {
          const events = [...received.matchAll(/^event: change\ndata: (.*)\n\n/gm)].map(([, data]) => JSON.parse(data!))
          if (enough(events)) return events
          const { value, done } = await reader.read()
          if (done) throw new Error("the stream has ended")
          received += value
        }
      })
    const begun = Effect.promise(async () => {
      while (!received.includes("retry: ")) received += (await reader.read()).value
    })
    return { response, begun, changes, close }
  })

describe("live events", () => {
  it.live("name what has changed, to clients with the key only", function* () {
    const { admin, http, origin, team, webhook } = yield* start()
    const { id, path } = yield* webhook(yield* team("ops"))
    expect((yield* http("GET", "/api/events")).status).toBe(401)
    const { begun, changes, response } = yield* openStream(origin)
    expect(response.headers.get("content-type")).toBe("text/event-stream")
    expect(response.headers.get("cache-control")).toBe("no-store, no-transform")
    yield* begun
    yield* admin("PATCH", `/api/webhooks/${id}`, { body: { name: "renamed" } })
    const [edited] = yield* changes((all) => all.length > 0)
    expect(edited).toStrictEqual({ runs: [], webhooks: [id], requests: [], incomplete: false })

    const text = "a long text ".repeat(1_000)
    const { run_id } = (yield* admin("POST", `/api/webhooks/${id}/runs`, { body: { variables: { text } } })).json
    const all = yield* changes((all) => all.some(({ runs }) => runs[0]?.status === "success"))
    const { variables, conversation, ...state } = (yield* admin("GET", `/api/runs/${run_id}`)).json
    expect(all.at(-1)).toStrictEqual({ runs: [state], webhooks: [], requests: [], incomplete: false })

    expect((yield* http("POST", path, { body: { variables: {} } })).status).toBe(422)
    const last = (yield* changes((all) => all.some(({ requests }) => requests.length > 0))).at(-1)
    expect(last).toStrictEqual({ runs: [], webhooks: [], requests: [id], incomplete: false })
  })

  it.live("name a run that was accepted and waits", function* () {
    const { admin, origin, team, webhook } = yield* start()
    const { id } = yield* webhook(yield* team("ops", silent))
    const { begun, changes } = yield* openStream(origin)
    yield* begun
    const { run_id } = (yield* admin("POST", `/api/webhooks/${id}/runs`, { body: { variables: { text: "x" } } })).json
    const [first] = yield* changes((all) => all.length > 0)
    expect(first.runs).toHaveLength(1)
    expect(first.runs[0]).toMatchObject({ run_id, webhook_id: id, team: "ops" })
  })

  it.live("say that they are incomplete when much has changed, and stay small", function* () {
    const { admin, http, origin, team, webhook } = yield* start()
    const { id, path } = yield* webhook(yield* team("ops", silent))
    const body = { variables: { text: "x".repeat(1_000) } }
    yield* Effect.forEach(Array.from({ length: 100 }), () => http("POST", path, { body }))
    const { begun, changes } = yield* openStream(origin)
    yield* begun
    // All at once, however busy this machine is.
    yield* admin("POST", `/api/webhooks/${id}/cancel-queued`)
    const all = yield* changes((all) => all.some(({ incomplete }) => incomplete))
    for (const event of all) expect(JSON.stringify(event).length).toBeLessThan(25_000)
  })

  it.live("are refused beyond so many streams, and open again when one has closed", function* () {
    const { admin, origin } = yield* start()
    const streams = yield* Effect.forEach(Array.from({ length: 10 }), () => openStream(origin))
    const refused = yield* admin("GET", "/api/events")
    expect(refusal(refused)).toStrictEqual([429, "too_many_streams"])
    expect(refused.headers.get("retry-after")).toBe("10")
    yield* streams[0]!.close
    yield* Effect.retry(openStream(origin), Schedule.spaced("20 millis"))
  })
})

describe("streams with an API key", () => {
  type Http = ReturnType<typeof call>

  const keyWithSessions = (http: Http, admin: Http, sessions: number) =>
    Effect.gen(function* () {
      const { key } = (yield* admin("POST", "/api/keys", { body: { name: "a viewer", role: "viewer" } })).json
      const cookies = yield* Effect.replicateEffect(
        Effect.map(http("POST", "/api/session", { body: { key } }), ({ headers }) => ({
          cookie: headers.get("set-cookie")!.split("; ")[0]!
        })),
        sessions
      )
      return { bearer: { authorization: `Bearer ${key}` }, cookies }
    })

  it.live("are limited together, however many sessions it has, and leave room for others", function* () {
    const { admin, http, origin } = yield* start()
    const { bearer, cookies } = yield* keyWithSessions(http, admin, 6)
    for (let n = 0; n < 50; n++) yield* openStream(origin, cookies[n % cookies.length])
    for (const headers of [...cookies, bearer]) {
      const refused = yield* http("GET", "/api/events", { headers })
      expect(refusal(refused)).toStrictEqual([429, "too_many_streams"])
      expect(refused.json.detail).toBe("50 requests with this key are open.")
    }
    yield* openStream(origin)
  })

  it.live("of the events of a run are limited together as well", function* () {
    const { admin, http, origin, team, webhook } = yield* start({ streamLimits: { inAll: 9, ofOne: 2 } })
    const { id } = yield* webhook(yield* team("ops", silent))
    const { run_id } = (yield* admin("POST", `/api/webhooks/${id}/runs`, { body: { variables: { text: "x" } } })).json
    const { bearer, cookies } = yield* keyWithSessions(http, admin, 2)
    const stop = new AbortController()
    yield* Effect.addFinalizer(() => Effect.sync(() => stop.abort()))
    const open = (headers: Record<string, string>) =>
      Effect.promise(() => fetch(`${origin}/api/runs/${run_id}/events`, { headers, signal: stop.signal }))
    const answers = yield* Effect.forEach(
      [cookies[0]!, cookies[1]!, bearer, { authorization: `Bearer ${adminKey}` }],
      open
    )
    expect(answers.map(({ status }) => status)).toStrictEqual([200, 200, 429, 200])
  })
})

/** A server of streams only, which publishes what the test says. */
const streamServer = (limits: EventStreams.Limits) =>
  Effect.gen(function* () {
    const streams = EventStreams.make(limits)
    const handler = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      Effect.map(
        streams.open({ of: "session", id: request.headers.session ?? "" }, undefined, () =>
          NodeHttpServerRequest.toIncomingMessage(request).destroy()
        ),
        // Node sends the headers with the first bytes.
        (events) => HttpServerResponse.stream(Stream.concat(Stream.make(new TextEncoder().encode(":")), events))
      )
    ).pipe(Effect.catchTag("TooManyStreams", ({ of }) => Effect.succeed(HttpServerResponse.text(of, { status: 429 }))))
    const context = yield* Layer.build(
      HttpServer.serve(handler).pipe(
        Layer.provideMerge(
          NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1", gracefulShutdownTimeout: "100 millis" })
        )
      )
    )
    return { streams, port: yield* Effect.provide(listeningPort, context) }
  })

describe("streams of events", () => {
  it.live("of a client that does not read are closed, and delay nobody else's", function* () {
    const { streams, port } = yield* streamServer({ inAll: 9, ofOneSession: 9, ofOneKey: 9, buffered: 4 })
    const slow = yield* Effect.acquireRelease(
      Effect.sync(() => connect(port, "127.0.0.1").pause()),
      (socket) => Effect.sync(() => socket.destroy())
    )
    const isClosed = new Promise<void>((resolve) => slow.once("close", () => resolve()).on("error", () => {}))
    slow.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    yield* repeatUntil(Effect.sync(streams.isEmpty), (isEmpty) => !isEmpty)
    const reader = (yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}/`))).body!.getReader()
    const event = "x".repeat(1_000_000)
    let received = -1
    for (let published = 1; published <= 40; published++) {
      streams.publish(() => event)
      while (received < published * event.length) {
        received += (yield* Effect.promise(() => reader.read())).value!.length
      }
    }
    expect(received).toBe(40 * event.length)
    slow.resume()
    yield* Effect.promise(() => isClosed)
    yield* Effect.promise(() => reader.cancel())
  })

  it.live("are limited for each session and in all", function* () {
    const { port } = yield* streamServer({ inAll: 3, ofOneSession: 2, ofOneKey: 2, buffered: 4 })
    const stop = new AbortController()
    yield* Effect.addFinalizer(() => Effect.sync(() => stop.abort()))
    const open = (session: string) =>
      Effect.promise(() => fetch(`http://127.0.0.1:${port}/`, { headers: { session }, signal: stop.signal }))
    const answers = yield* Effect.forEach(["a", "a", "a", "b", "c"], open)
    expect(answers.map(({ status }) => status)).toStrictEqual([200, 200, 429, 200, 429])
    expect(yield* Effect.promise(() => answers[2]!.text())).toBe("session")
    expect(yield* Effect.promise(() => answers[4]!.text())).toBe("server")
    yield* Effect.promise(() => answers[0]!.body!.cancel())
    yield* repeatUntil(open("c"), ({ status }) => status === 200)
  })
})
