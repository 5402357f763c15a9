import type { IncomingHttpHeaders } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Exit, Scope } from "effect"
import * as Program from "../cli/Program.ts"
import { freshDatabase, freshVhost } from "../support/fresh.ts"
import { serve } from "../support/InProcess.ts"
import { describe, expect, it } from "../support/It.ts"
import { untilEffect } from "../support/Until.ts"

interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** An OpenTelemetry collector that stores what it receives. */
const collector = Effect.map(
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<{ url: string; requests: Array<Received>; close: () => void }>((resolve) => {
          const requests: Array<Received> = []
          const server = createServer((request, response) => {
            let body = ""
            request.on("data", (chunk) => (body += chunk))
            request.on("end", () => {
              requests.push({ path: request.url ?? "", headers: request.headers, body })
              response.writeHead(200, { "content-type": "application/json" }).end("{}")
            })
          })
          server.listen(0, "127.0.0.1", () => {
            const { port } = server.address() as AddressInfo
            resolve({ url: `http://127.0.0.1:${port}`, requests, close: () => server.close() })
          })
        })
    ),
    ({ close }) => Effect.sync(close)
  ),
  ({ requests, url }) => ({
    url,
    requests,
    /** All that was sent to each path. */
    byPath: () => {
      const received = new Map<string, string>()
      for (const { body, path } of requests) received.set(path, (received.get(path) ?? "") + body)
      return received
    },
    spans: () =>
      requests
        .filter(({ path }) => path === "/v1/traces")
        .flatMap(({ body }) => JSON.parse(body).resourceSpans as Array<any>)
        .flatMap(({ scopeSpans }) => scopeSpans as Array<any>)
        .flatMap(
          ({ spans }) => spans as Array<{ name: string; traceId: string; spanId: string; parentSpanId?: string }>
        )
  })
)

/** A server on PostgreSQL and RabbitMQ, a leader whose program answers with its trace, and a webhook for it. */
const world = (variables: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const AMQP_URL = yield* freshVhost
    const ADMIN_API_KEY = "a-key-for-these-tests"
    const server = yield* Program.serve({ DATABASE_URL: yield* freshDatabase, AMQP_URL, ADMIN_API_KEY, ...variables })
    const api = (method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
      Effect.promise(async () => {
        const answer = await fetch(`${server.url}${path}`, {
          method,
          headers: { authorization: `Bearer ${ADMIN_API_KEY}`, "content-type": "application/json", ...headers },
          body: body === undefined ? null : JSON.stringify(body)
        })
        const text = await answer.text()
        return text === "" ? undefined : (JSON.parse(text) as any)
      })
    yield* api("POST", "/api/teams", { team: "tracing" })
    const leader = yield* Program.lead(["--team", "tracing", "--", "/bin/sh", "-c", "echo $TRACEPARENT"], {
      AMQP_URL,
      ...variables
    })
    yield* untilEffect(
      "the leader is connected",
      Effect.map(api("GET", "/api/teams/tracing"), ({ running }) => running as boolean)
    )
    const draft = { name: "trace", team: "tracing", prompt_template: "{{text}}" }
    const { token } = yield* api("POST", "/api/webhooks", draft)
    const trigger = (headers: Readonly<Record<string, string>>) =>
      Effect.map(
        api("POST", `/webhook/trigger/${token}?wait=true`, { variables: { text: "x" } }, headers),
        ({ response }) => response as string
      )
    return { server, leader, api, trigger }
  })

const [sampled, unsampled] = ["1".repeat(32), "2".repeat(32)]
const callersSpan = "3".repeat(16)

// Some wait for metrics, which are sent every ten seconds.
describe.concurrent("telemetry", () => {
  it.live("is sent to the configured collector: traces, metrics and logs, none with a token", function* () {
    const { byPath, url } = yield* collector
    const server = yield* Program.serve({
      DATABASE_URL: yield* freshDatabase,
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      LOG_LEVEL: "trace",
      LOG_FORMAT: "json"
    })
    const [curl] = /curl .*wait=true.*/.exec(JSON.parse(server.welcome()).message)!
    const [token] = /whk_\w+/.exec(curl)!
    expect((yield* Program.shell(`${curl} --silent`)).stdout).toContain('"status":"success"')
    expect((yield* Program.shell(`${curl.replace("variables", "nothing")} --silent`)).stdout).toContain("invalid_body")
    const expected = {
      "/v1/logs": ["Listening on"],
      "/v1/metrics": ["http_server_requests_total"],
      "/v1/traces": ["POST /webhook/trigger/:token", "Trigger.accept", "Bus.publish"]
    }
    // What is on its way when the server stops, the exporter's library gives up.
    yield* untilEffect(
      "all of it has arrived",
      Effect.sync(() =>
        Object.entries(expected).every(([path, texts]) => texts.every((text) => byPath().get(path)?.includes(text)))
      )
    )
    yield* server.end("SIGTERM")

    const received = byPath()
    expect([...received.keys()].sort()).toEqual(Object.keys(expected))
    // Of several processes, the collector knows which one it hears.
    for (const text of received.values())
      expect(text).toMatch(/"service\.instance\.id","value":\{"stringValue":"[\da-f-]{36}"/)
    expect([...received.values(), server.log()].join("\n")).not.toContain(token.slice(0, 20))
    for (const line of server.log().trim().split("\n")) expect(JSON.parse(line)).toHaveProperty("message")
  })

  it.live(
    "follows a run in one trace from its caller to its answer, unless the caller says that it is not sampled",
    function* () {
      const { requests, spans, url } = yield* collector
      const { leader, server, trigger } = yield* world({
        OTEL_EXPORTER_OTLP_ENDPOINT: url,
        OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20key,x-tenant=a",
        OTEL_SERVICE_NAME: "hooks"
      })
      const answered = yield* trigger({ traceparent: `00-${sampled}-${callersSpan}-01` })
      expect(yield* trigger({ traceparent: `00-${unsampled}-${callersSpan}-00` })).toMatch(
        new RegExp(`^00-${unsampled}-[\\da-f]{16}-00$`)
      )
      const names = ["POST /webhook/trigger/:token", "Trigger.accept", "Bus.publish", "LeaderBus.handle", "Bus.receive"]
      const paths = () => new Set(requests.map(({ path }) => path))
      /** The spans of the sampled trace, once they are all there with their parents. */
      const whole = () => {
        const trace = spans().filter(({ traceId }) => traceId === sampled)
        const known = new Set([callersSpan, ...trace.map(({ spanId }) => spanId)])
        const isWhole =
          names.every((name) => trace.some((span) => span.name === name)) &&
          trace.every(({ parentSpanId }) => known.has(parentSpanId!))
        return isWhole && paths().size === 3 && trace
      }
      // What is on its way when a process stops, the exporter's library gives up.
      const trace = yield* untilEffect(`a whole trace with ${names}, and metrics and logs`, Effect.sync(whole))
      yield* leader.end("SIGTERM")
      yield* server.end("SIGTERM")

      const handling = trace.find(({ name }) => name === "LeaderBus.handle")!
      expect(answered).toBe(`00-${sampled}-${handling.spanId}-01`)
      expect(spans().filter(({ traceId }) => traceId === unsampled)).toEqual([])

      expect(paths()).toEqual(new Set(["/v1/logs", "/v1/metrics", "/v1/traces"]))
      for (const { body, headers } of requests) {
        expect(headers).toMatchObject({ authorization: "Bearer key", "x-tenant": "a" })
        expect(body).toContain('"service.name","value":{"stringValue":"hooks"}')
      }
    }
  )

  it.live("passes a caller's trace on to the program also when nothing is collected", function* () {
    const { trigger } = yield* world({})
    for (const flags of ["00", "01"]) {
      const traceparent = `00-${sampled}-${callersSpan}-${flags}`
      expect(yield* trigger({ traceparent })).toBe(traceparent)
    }
    const own = yield* trigger({ traceparent: "not-a-trace" })
    expect(own).toMatch(/^00-[\da-f]{32}-[\da-f]{16}-00$/)
  })

  it.live("has the metrics of runs and of the teams that there are, without any scrape", function* () {
    const { requests, url } = yield* collector
    const { api, trigger } = yield* world({ OTEL_EXPORTER_OTLP_ENDPOINT: url })
    yield* trigger({})
    yield* api("POST", "/api/teams", { team: "gone" })
    /** The teams in a metric's series, as they were sent last. */
    const teamsIn = (name: string): ReadonlyArray<string> => {
      const latest = requests.findLast(({ body, path }) => path === "/v1/metrics" && body.includes(`"${name}"`))
      const metrics: Array<any> = JSON.parse(latest?.body ?? "{}").resourceMetrics?.[0].scopeMetrics[0].metrics ?? []
      const metric = metrics.find((metric) => metric.name === name)
      const points: Array<any> = (metric?.gauge ?? metric?.histogram)?.dataPoints ?? []
      return points.map(({ attributes }) => attributes.find(({ key }: any) => key === "team").value.stringValue).sort()
    }
    const sent = (name: string, teams: ReadonlyArray<string>) =>
      untilEffect(
        `${name} has come of ${teams}`,
        Effect.sync(() => String(teamsIn(name)) === String(teams))
      )
    yield* sent("webhook_team_consumers", ["gone", "tracing"])
    yield* sent("webhook_run_total_seconds", ["tracing"])
    yield* api("DELETE", "/api/teams/gone")
    yield* sent("webhook_team_queued", ["tracing"])
  })

  it.live("an idle server sends no spans", function* () {
    const { requests, spans, url } = yield* collector
    const stopped = yield* Scope.make()
    yield* Scope.provide(serve({ AMQP_URL: yield* freshVhost, OTEL_EXPORTER_OTLP_ENDPOINT: url }), stopped)
    // They are sent every ten seconds, spans more often.
    const metrics = () => requests.filter(({ path }) => path === "/v1/metrics").length
    yield* untilEffect(
      "its metrics have come twice",
      Effect.sync(() => metrics() > 1)
    )
    yield* Scope.close(stopped, Exit.void)
    expect(spans().map(({ name }) => name)).toEqual([])
  })
})
