import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Program from "../cli/Program.ts"

/** An OpenTelemetry collector that stores what it receives, by path. */
const collector = Effect.map(
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<{ url: string; received: Map<string, string>; close: () => void }>((resolve) => {
          const received = new Map<string, string>()
          const server = createServer((request, response) => {
            const path = request.url ?? ""
            request.on("data", (chunk) => received.set(path, (received.get(path) ?? "") + chunk))
            request.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end("{}"))
          })
          server.listen(0, "127.0.0.1", () => {
            const { port } = server.address() as AddressInfo
            resolve({ url: `http://127.0.0.1:${port}`, received, close: () => server.close() })
          })
        })
    ),
    ({ close }) => Effect.sync(close)
  ),
  ({ received, url }) => ({ received, url })
)

describe("telemetry", { timeout: 120_000 }, () => {
  it.scopedLive("is sent to the configured collector: traces, metrics and logs, none with a token", () =>
    Effect.gen(function* () {
      const { received, url } = yield* collector
      const server = yield* Program.serve({
        DATA_DIR: yield* Program.newFolder,
        OTEL_EXPORTER_OTLP_ENDPOINT: url,
        LOG_LEVEL: "trace",
        LOG_FORMAT: "json"
      })
      const [curl] = /curl .*wait=true.*/.exec(server.welcome())!
      const [token] = /whk_\w+/.exec(curl)!
      expect((yield* Program.shell(`${curl} --silent`)).stdout).toContain('"status":"success"')
      expect((yield* Program.shell(`${curl.replace("variables", "nothing")} --silent`)).stdout).toContain(
        "invalid_body"
      )
      yield* server.end("SIGTERM")

      expect([...received.keys()].sort()).toEqual(["/v1/logs", "/v1/metrics", "/v1/traces"])
      expect(received.get("/v1/traces")).toContain("POST /webhook/trigger/:token")
      expect(received.get("/v1/traces")).toContain("Trigger.accept")
      expect(received.get("/v1/traces")).toContain("Bus.publish")
      expect(received.get("/v1/metrics")).toContain("http_server_requests_total")
      expect(received.get("/v1/logs")).toContain("Listening on")
      // Of several processes, the collector knows which one it hears.
      for (const text of received.values())
        expect(text).toMatch(/"service\.instance\.id","value":\{"stringValue":"[\da-f-]{36}"/)
      expect([...received.values(), server.log()].join("\n")).not.toContain(token.slice(0, 20))
      for (const line of server.log().trim().split("\n")) expect(JSON.parse(line)).toHaveProperty("message")
    })
  )
})
