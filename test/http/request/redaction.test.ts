/** What the server records about its requests: the route's pattern, never a token. */

import { Cause, Effect, Exit, Fiber, Layer, Logger, Option, Redacted, Tracer } from "effect"
import { FetchHttpClient, HttpMiddleware, HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import * as Client from "../../../src/api/Client.ts"
import * as Routes from "../../../src/http/serve/Routes.ts"
import { describe, expect, it } from "../../support/It.ts"
import { call, wire } from "../Client.ts"
import { adminKey, echo, lead, listening, listeningPort, services, start } from "../Server.ts"

/** Everything that is logged or traced while the layer is provided, as text. */
const recorder = Effect.map(Effect.tracer, (native) => {
  const logs: Array<string> = []
  const spans: Array<Tracer.Span> = []
  const logger = Logger.make((entry) => {
    logs.push(`${Logger.formatLogFmt.log(entry)} ${Cause.pretty(entry.cause)} ${JSON.stringify(entry.message)}`)
  })
  const tracer = Tracer.make({
    context: native.context,
    span: (...args) => {
      const span = native.span(...args)
      spans.push(span)
      return span
    }
  })
  const spanText = (span: Tracer.Span) =>
    JSON.stringify({
      name: span.name,
      attributes: [...span.attributes],
      links: span.links,
      status:
        span.status._tag === "Ended" && Exit.isFailure(span.status.exit) ? Cause.pretty(span.status.exit.cause) : ""
    })
  return {
    layer: Layer.merge(Logger.layer([logger]), Layer.succeed(Tracer.Tracer, tracer)),
    logs,
    spans,
    text: () => [...logs, ...spans.map(spanText)].join("\n")
  }
})

/** Everything that the process prints. */
const printed = Effect.acquireRelease(
  Effect.sync(() => {
    const outputs: Array<string> = []
    const streams = [process.stdout, process.stderr].map((stream) => ({ stream, write: stream.write }))
    for (const { stream, write } of streams) {
      stream.write = ((chunk: any, ...rest: Array<any>) => {
        outputs.push(String(chunk))
        return write.call(stream, chunk, ...rest)
      }) as typeof stream.write
    }
    return { outputs, streams }
  }),
  ({ streams }) =>
    Effect.sync(() => {
      for (const { stream, write } of streams) stream.write = write
    })
)

/** Headers in which a token comes along. */
const tokenHeaders = (path: string) => ({
  ...{
    "x-original-uri": path,
    "x-forwarded-uri": path,
    "x-rewrite-url": path,
    referer: `https://hooks.example.com${path}`
  },
  ...{
    "user-agent": path,
    origin: `https://hooks.example.com${path}`,
    "x-forwarded-host": path,
    forwarded: `host="${path}"`
  },
  ...{ b3: `${path.slice(path.lastIndexOf("/") + 1)}-b7ad6b7169203331-1`, tracestate: `a=${path}` }
})

const secret = "s3cr3t"

/** Headers in which callers send secrets of their own. */
const secretHeaders = {
  ...{ authorization: `Basic ${secret}`, "proxy-authorization": `Basic ${secret}`, cookie: `session=${secret}` },
  ...{
    "x-api-key": secret,
    "x-gitlab-token": secret,
    "stripe-signature": `t=1,v1=${secret}`,
    "x-hub-signature-256": secret
  },
  ...{ "x-anything-else": secret }
}

/** Every way in which a token can come to the server. */
const requests = (port: number, token: string) =>
  Effect.gen(function* () {
    const http = call(`http://127.0.0.1:${port}`)
    const path = `/webhook/trigger/${token}`
    const body = { variables: { text: "x" } }
    const accepted = yield* http("POST", path, { body, headers: { ...tokenHeaders(path), ...secretHeaders } })
    expect(accepted.status).toBe(202)
    expect(accepted.headers.get("location")!).toContain(token)
    yield* http("GET", `${accepted.headers.get("location")}?wait=true`)
    expect((yield* http("POST", `${path}?wait=true`, { body })).status).toBe(200)
    yield* http("POST", path, { raw: "x".repeat(2_000_000) })
    yield* http("POST", `${path}?wait=x`, { body })
    yield* http("POST", path, { body: { variables: {} } })
    yield* http("DELETE", path)
    yield* http("POST", `//Webhook//Trigger/${token}/`, { body })
    const elsewhere = [
      ...[`${path}%ZZ`, `${path}/more`, `${path}/runs/1`, `${path}${"0".repeat(200)}`, path.replace("_", "%5f")],
      ...[path.replace("trigger", "triger"), `/${token}`, `/api/webhooks/${token}`, `/?token=${token}`],
      ...[`/%77ebhook/trigger/${token}%`]
    ]
    const answers = yield* Effect.forEach(elsewhere, (path) => http("POST", path, { body }))
    // To a webhook that asks for the secret, which is wrong, and right.
    const key = { authorization: `Bearer ${adminKey}` }
    const draft = { name: "n", team: "ops", prompt_template: "{{text}}", verification: { preset: "gitlab" }, secret }
    const { json } = yield* http("POST", "/api/webhooks", { body: draft, headers: key })
    const verified = `/webhook/trigger/${json.token}`
    expect((yield* http("POST", verified, { body, headers: secretHeaders })).status).toBe(202)
    expect((yield* http("POST", verified, { body, headers: { "x-gitlab-token": `${secret}?` } })).status).toBe(401)
    yield* http("PATCH", `/api/webhooks/${json.webhook.id}`, { body: { secret: `${secret}!` }, headers: key })
    yield* http("GET", `/host?${token}`)
    yield* http("GET", "/host", { headers: tokenHeaders(path) })
    for (const ours of ["/api/webhooks", "/health/live", "/metrics", "/API/teams", `${path}/runs/x`]) {
      yield* http("GET", ours, { headers: { ...tokenHeaders(path), ...secretHeaders } })
    }
    // As a proxy is asked (RFC 9112, 3.2.2).
    const absolute = [`http://x${path}`, `HTTPS://x${path}`, `http://x:80${path}/runs/1`, `http://${token}${path}`]
    for (const method of ["GET", "POST"]) {
      for (const target of [...absolute, `ftp://x${path}`, `http:${path}`, `http://x/${token}`]) {
        yield* wire(port, `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
      }
    }
    yield* wire(port, `GET /health/live HTTP/1.1\r\nHost: ${token}\r\nConnection: close\r\n\r\n`)
    yield* wire(port, `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{`, () => true).pipe(
      Effect.timeoutOption("50 millis")
    )
    return answers.map(({ text }) => text).join("\n")
  })

const webhook = (port: number) =>
  Effect.gen(function* () {
    const http = call(`http://127.0.0.1:${port}`)
    const headers = { authorization: `Bearer ${adminKey}` }
    const body = { name: "n", team: "ops", prompt_template: "{{text}}" }
    const { json } = yield* http("POST", "/api/webhooks", { body, headers })
    const second = yield* http("POST", `/api/webhooks/${json.webhook.id}/token`, { headers })
    return [json.token, second.json.token] as const
  })

/** All that spans may say, here and in the bus's place in memory. A statement's text has no values. */
const attributes = [
  ...["db.system.name", "effect.sql.method", "db.query.text"],
  ...["http.request.method", "http.route", "http.response.status_code", "run.id"],
  ...["team", "run_id", "replies", "prompts", "runs", "messaging.system"]
]

describe("a token is in no log line, span, metric or output", () => {
  it.live("of the server itself", function* () {
    const recorded = yield* recorder
    const { outputs } = yield* printed
    yield* Effect.gen(function* () {
      const { port, http, team, faults } = yield* start()
      yield* team("ops")
      const [dead, token] = yield* webhook(port)
      const answers = yield* requests(port, token)
      faults.add("bug")
      const broken = yield* http("POST", `/webhook/trigger/${token}`, { body: { variables: { text: "x" } } })
      expect(broken.status).toBe(500)
      expect(broken.json.code).toBe("internal_error")
      expect(broken.text).not.toContain("a bug")
      const everything = [recorded.text(), answers, (yield* http("GET", "/metrics")).text, ...outputs].join("\n")
      for (const own of [token, dead]) {
        expect(everything).not.toContain(own)
        expect(everything).not.toContain(own.slice(4))
      }
      expect(everything).not.toContain(secret)
      const names = new Set(recorded.spans.flatMap((span) => [...span.attributes.keys()]))
      expect(attributes).toStrictEqual(expect.arrayContaining([...names]))
      // The recorder does record.
      expect(everything).toContain("POST /webhook/trigger/:token")
      expect(everything).toContain("Error: a bug")
      expect(everything).not.toContain(adminKey)
    }).pipe(Effect.provide(recorded.layer))
  })

  const ownRoutes = HttpRouter.add("GET", "/host", HttpServerResponse.text("the host's own"))

  /** Hosts that leave Effect's logger and tracer on, as they are by default. */
  const hosts = {
    "of a host that serves the routes beside its own": HttpRouter.serve(Layer.merge(ownRoutes, Routes.layer), {
      disableListenLog: true
    }),
    "of a host whose server was built before the routes": Layer.unwrap(
      Effect.gen(function* () {
        // In a fiber that keeps its settings to itself, so that only what happens on each request has an effect.
        const building = yield* Effect.forkScoped(HttpRouter.toHttpEffect(Layer.merge(ownRoutes, Routes.layer)))
        const app = yield* Effect.flatten(Fiber.await(building))
        return HttpServer.serve(app as any, HttpMiddleware.logger)
      })
    ) as Layer.Layer<never, never, any>
  }

  for (const [name, host] of Object.entries(hosts)) {
    it.live(name, () =>
      Effect.gen(function* () {
        const recorded = yield* recorder
        yield* Effect.gen(function* () {
          const context = yield* Layer.build(
            (host as Layer.Layer<never, never, any>).pipe(Layer.provideMerge(listening), Layer.provideMerge(services()))
          )
          const port = yield* Effect.provide(listeningPort, context as any) as Effect.Effect<number>
          const http = call(`http://127.0.0.1:${port}`)
          yield* http("POST", "/api/teams", { body: { team: "ops" }, headers: { authorization: `Bearer ${adminKey}` } })
          const [dead, token] = yield* webhook(port)
          yield* Effect.provide(lead("ops", echo), context as any) as Effect.Effect<unknown>
          yield* requests(port, token)
          expect((yield* http("GET", "/host")).text).toBe("the host's own")
          expect((yield* http("GET", "/nothing-here")).text).toBe("")
          const everything = recorded.text()
          for (const own of [token, dead]) {
            expect(everything).not.toContain(own)
            expect(everything).not.toContain(own.slice(4))
          }
          expect(everything).not.toContain(secret)
          // The host's own requests are logged and traced as before.
          expect(recorded.logs.some((line) => line.includes("http.url=/host"))).toBe(true)
          expect(recorded.spans.some((span) => String(span.attributes.get("url.path")) === "/host")).toBe(true)
        }).pipe(Effect.provide(recorded.layer))
      })
    )
  }
})

it.live("a token is in no span of the typed client either", function* () {
  const recorded = yield* recorder
  yield* Effect.gen(function* () {
    const { origin, team, webhook } = yield* start()
    const { token } = yield* webhook(yield* team("ops"))
    const client = yield* Client.make({ url: origin, adminKey: Redacted.make(adminKey) })
    const payload = { variables: { text: "x" } }
    yield* client.trigger.trigger({ params: { token }, query: {}, headers: {}, payload })
    yield* client.teams.list()
    expect(recorded.spans.some(({ kind, name }) => kind === "client" && name === "GET")).toBe(true)
    expect(recorded.text()).not.toContain(token)
  }).pipe(Effect.provide(recorded.layer), Effect.provide(FetchHttpClient.layer))
})

describe("a request", () => {
  it.live("has one log line with route, status, duration and run, and a span of the same name", function* () {
    const recorded = yield* recorder
    yield* Effect.gen(function* () {
      const { http, team, webhook } = yield* start()
      const { path } = yield* webhook(yield* team("ops"))
      recorded.logs.length = 0
      const { run_id } = (yield* http("POST", path, { body: { variables: { text: "x" } } })).json
      const lines = recorded.logs.filter((line) => line.includes("/webhook/trigger"))
      expect(lines).toHaveLength(1)
      expect(lines[0]!).toMatch(/message="POST \/webhook\/trigger\/:token" /)
      expect(lines[0]!).toMatch(/ status=202 /)
      expect(lines[0]!).toMatch(/ duration_ms=\d+ /)
      expect(lines[0]!).toContain(`run_id=${run_id}`)
      const span = recorded.spans.find(({ name }) => name === "POST /webhook/trigger/:token")!
      expect(span.kind).toBe("server")
      expect(Object.fromEntries(span.attributes)).toStrictEqual({
        "http.request.method": "POST",
        "http.route": "/webhook/trigger/:token",
        "http.response.status_code": 202,
        "run.id": run_id
      })
    }).pipe(Effect.provide(recorded.layer))
  })

  it.live("continues its caller's trace", function* () {
    const recorded = yield* recorder
    yield* Effect.gen(function* () {
      const { http, team, webhook } = yield* start()
      const { path } = yield* webhook(yield* team("ops"))
      const traceId = "0af7651916cd43dd8448eb211c80319c"
      const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
      yield* http("POST", path, { body: { variables: { text: "x" } }, headers })
      const span = recorded.spans.find(({ name }) => name === "POST /webhook/trigger/:token")!
      expect(span.traceId).toBe(traceId)
      expect(Option.getOrThrow(span.parent).spanId).toBe("b7ad6b7169203331")
    }).pipe(Effect.provide(recorded.layer))
  })
})
