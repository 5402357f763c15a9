/** What the server writes down about its requests: with the route's pattern, never with a token. */
import { FetchHttpClient, HttpLayerRouter, HttpMiddleware, HttpServer, HttpServerResponse } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, Logger, Option, Redacted, Tracer } from "effect"
import * as Client from "../../src/api/Client.ts"
import * as Routes from "../../src/http/Routes.ts"
import { address, adminKey, call, listening, services, start, wire } from "./Server.ts"

/** Everything that is logged or traced while the layer is there, as text. */
const recorder = Effect.map(Effect.tracer, (native) => {
  const logs: Array<string> = []
  const spans: Array<Tracer.Span> = []
  const logger = Logger.make((entry) => {
    logs.push(`${Logger.logfmtLogger.log(entry)} ${Cause.pretty(entry.cause)} ${JSON.stringify(entry.message)}`)
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
    layer: Layer.merge(Logger.replace(Logger.defaultLogger, logger), Layer.setTracer(tracer)),
    logs,
    spans,
    text: () => [...logs, ...spans.map(spanText)].join("\n")
  }
})

/** All that the process prints, too. */
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

/** Every way in which a token can come to the server. */
const requests = (port: number, token: string) =>
  Effect.gen(function* () {
    const http = call(`http://127.0.0.1:${port}`)
    const path = `/webhook/trigger/${token}`
    const body = { variables: { text: "x" } }
    const accepted = yield* http("POST", path, { body, headers: { "x-original-uri": path, referer: path } })
    assert.strictEqual(accepted.status, 202)
    assert.include(accepted.headers.get("location")!, token)
    yield* http("GET", `${accepted.headers.get("location")}?wait=true`)
    assert.strictEqual((yield* http("POST", `${path}?wait=true`, { body })).status, 200)
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
    yield* http("GET", `/host?${token}`)
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

describe("a token is in no log line, span, metric or output", () => {
  it.scopedLive("of the server itself", () =>
    Effect.gen(function* () {
      const recorded = yield* recorder
      const { outputs } = yield* printed
      yield* Effect.gen(function* () {
        const { port, http, team, faults } = yield* start()
        yield* team("ops")
        const [dead, token] = yield* webhook(port)
        const answers = yield* requests(port, token)
        faults.add("bug")
        const broken = yield* http("POST", `/webhook/trigger/${token}`, { body: { variables: { text: "x" } } })
        assert.strictEqual(broken.status, 500)
        assert.strictEqual(broken.json.code, "internal_error")
        assert.notInclude(broken.text, "a bug")
        const everything = [recorded.text(), answers, (yield* http("GET", "/metrics")).text, ...outputs].join("\n")
        for (const secret of [token, dead]) {
          assert.notInclude(everything, secret)
          assert.notInclude(everything, secret.slice(4))
        }
        // The proof that the recorder hears.
        assert.include(everything, "POST /webhook/trigger/:token")
        assert.include(everything, "Error: a bug")
        assert.notInclude(everything, adminKey)
      }).pipe(Effect.provide(recorded.layer))
    })
  )

  const ownRoutes = HttpLayerRouter.add("GET", "/host", HttpServerResponse.text("the host's own"))

  /** Hosts that leave Effect's logger and tracer on, as they are by default. */
  const hosts = {
    "of a host that serves the routes beside its own": HttpLayerRouter.serve(Layer.merge(ownRoutes, Routes.layer), {
      disableListenLog: true
    }),
    "of a host whose server was made before the routes": Layer.unwrapScoped(
      Effect.gen(function* () {
        // In a fiber whose settings stay with it, so that only what is done on each request can help.
        const building = yield* Effect.forkScoped(HttpLayerRouter.toHttpEffect(Layer.merge(ownRoutes, Routes.layer)))
        const app = yield* Effect.flatten(Fiber.await(building))
        return HttpServer.serve(app as any, HttpMiddleware.logger)
      })
    ) as Layer.Layer<never, never, any>
  }

  for (const [name, host] of Object.entries(hosts)) {
    it.scopedLive(name, () =>
      Effect.gen(function* () {
        const recorded = yield* recorder
        yield* Effect.gen(function* () {
          const context = yield* Layer.build(
            (host as Layer.Layer<never, never, any>).pipe(Layer.provideMerge(listening), Layer.provideMerge(services()))
          )
          const port = yield* Effect.provide(address, context as any) as Effect.Effect<number>
          const http = call(`http://127.0.0.1:${port}`)
          yield* http("POST", "/api/teams", { body: { team: "ops" }, headers: { authorization: `Bearer ${adminKey}` } })
          const [dead, token] = yield* webhook(port)
          const team = yield* Effect.promise(() => import("../engine/World.ts"))
          yield* Effect.provide(team.echo("ops" as any), context as any) as Effect.Effect<unknown>
          yield* requests(port, token)
          assert.strictEqual((yield* http("GET", "/host")).text, "the host's own")
          assert.strictEqual((yield* http("GET", "/nothing-here")).text, "")
          const everything = recorded.text()
          for (const secret of [token, dead]) {
            assert.notInclude(everything, secret)
            assert.notInclude(everything, secret.slice(4))
          }
          // The host's own requests are logged and traced as ever.
          assert.isTrue(recorded.logs.some((line) => line.includes("http.url=/host")))
          assert.isTrue(recorded.spans.some((span) => String(span.attributes.get("url.path")) === "/host"))
        }).pipe(Effect.provide(recorded.layer))
      })
    )
  }
})

it.scopedLive("a token is in no span of the typed client either", () =>
  Effect.gen(function* () {
    const recorded = yield* recorder
    yield* Effect.gen(function* () {
      const { origin, team, webhook } = yield* start()
      const { token } = yield* webhook(yield* team("ops"))
      const client = yield* Client.make({ url: origin, adminKey: Redacted.make(adminKey) })
      const payload = { variables: { text: "x" } }
      yield* client.trigger.trigger({ path: { token }, urlParams: {}, headers: {}, payload })
      yield* client.teams.list()
      assert.isTrue(recorded.spans.some(({ kind, name }) => kind === "client" && name === "http.client GET"))
      assert.notInclude(recorded.text(), token)
    }).pipe(Effect.provide(recorded.layer), Effect.provide(FetchHttpClient.layer))
  })
)

describe("a request", () => {
  it.scopedLive("has one log line, with route, status, duration and run, and a span of the same name", () =>
    Effect.gen(function* () {
      const recorded = yield* recorder
      yield* Effect.gen(function* () {
        const { http, team, webhook } = yield* start()
        const { path } = yield* webhook(yield* team("ops"))
        recorded.logs.length = 0
        const { run_id } = (yield* http("POST", path, { body: { variables: { text: "x" } } })).json
        const lines = recorded.logs.filter((line) => line.includes("/webhook/trigger"))
        assert.lengthOf(lines, 1)
        assert.match(lines[0]!, /message="POST \/webhook\/trigger\/:token" status=202 duration_ms=\d+ /)
        assert.include(lines[0]!, `run_id=${run_id}`)
        const span = recorded.spans.find(({ name }) => name === "POST /webhook/trigger/:token")!
        assert.strictEqual(span.kind, "server")
        assert.deepStrictEqual(Object.fromEntries(span.attributes), {
          "http.request.method": "POST",
          "http.route": "/webhook/trigger/:token",
          "http.response.status_code": 202,
          "run.id": run_id
        })
      }).pipe(Effect.provide(recorded.layer))
    })
  )

  it.scopedLive("continues its caller's trace", () =>
    Effect.gen(function* () {
      const recorded = yield* recorder
      yield* Effect.gen(function* () {
        const { http, team, webhook } = yield* start()
        const { path } = yield* webhook(yield* team("ops"))
        const traceId = "0af7651916cd43dd8448eb211c80319c"
        const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
        yield* http("POST", path, { body: { variables: { text: "x" } }, headers })
        const span = recorded.spans.find(({ name }) => name === "POST /webhook/trigger/:token")!
        assert.strictEqual(span.traceId, traceId)
        assert.strictEqual(Option.getOrThrow(span.parent).spanId, "b7ad6b7169203331")
      }).pipe(Effect.provide(recorded.layer))
    })
  )
})
