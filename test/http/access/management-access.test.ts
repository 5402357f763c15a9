import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { type Answer, call, refusal, wire } from "../Client.ts"
import { adminKey, hello, type Options, start } from "../Server.ts"

const withKey = { authorization: `Bearer ${adminKey}` }

/** One path of each kind, and two that are spelled as the routes' are not. */
const management = [
  ...["/", "/webhooks", "/icon.svg", "/api/teams", "/api/session", "/api/server", "/api/events"],
  ...["/metrics", "/docs", "/openapi.json", "/nothing", "/health", "/health/live/..", "//api/teams", "/API/teams"]
]

/** All but the connection's own headers and the moment. */
const essence = ({ status, headers, text }: Answer) => ({
  ...{ status, text },
  headers: Object.fromEntries([...headers].filter(([name]) => !["date", "connection", "keep-alive"].includes(name)))
})

/** A server behind a proxy, whose callers are in the management's network or not. */
const startBehindProxy = (options: Options = {}) =>
  Effect.map(
    start({ allowFrom: ["127.0.0.1", "192.0.2.0/24", "2001:db8::/32"], trustedProxies: ["127.0.0.1"], ...options }),
    (server) => ({
      ...server,
      /** As the proxy passes on what an address sends. */
      from: (
        address: string,
        method: string,
        path: string,
        { headers = {}, ...request }: Parameters<typeof server.http>[2] = {}
      ) => server.http(method, path, { ...request, headers: { ...withKey, "x-forwarded-for": address, ...headers } })
    })
  )

describe("the management", () => {
  it.live("does not exist for addresses that may not call it, whatever they ask for and show", function* () {
    const { from } = yield* startBehindProxy()
    const unknown = essence(yield* from("192.0.2.7", "GET", "/api/nothing"))
    expect(unknown.status).toBe(404)
    for (const path of management) {
      for (const method of ["GET", "POST", "DELETE", "OPTIONS"]) {
        const answer = yield* from("203.0.113.9", method, path, { headers: { accept: "text/html" } })
        expect(essence(answer), `${method} ${path}`).toStrictEqual(unknown)
      }
    }
  })

  it.live("is open to the addresses that may call it", function* () {
    const { from } = yield* startBehindProxy()
    for (const address of ["192.0.2.7", "2001:db8::1", "203.0.113.9, 192.0.2.7"]) {
      for (const path of ["/api/teams", "/metrics", "/docs", "/openapi.json"]) {
        expect((yield* from(address, "GET", path)).status, `${path} from ${address}`).toBe(200)
      }
    }
  })

  it.live("leaves triggers, their runs and health open to everyone", function* () {
    const { from, team, webhook } = yield* startBehindProxy()
    const hook = yield* webhook(yield* team("ops"))
    const stranger = "203.0.113.9"
    const answered = yield* from(stranger, "POST", `${hook.path}?wait=true`, { body: hello })
    expect(answered.json).toMatchObject({ status: "success", response: "echo: hello" })
    expect((yield* from(stranger, "GET", `${hook.path}/runs/${answered.json.run_id}`)).status).toBe(200)
    const headers = { authorization: `Bearer ${hook.token}` }
    expect((yield* from(stranger, "POST", "/webhook/trigger", { body: hello, headers })).status).toBe(202)
    expect(refusal(yield* from(stranger, "GET", hook.path))).toStrictEqual([405, "method_not_allowed"])
    for (const path of ["/health/live", "/health/ready", "/health/ready?verbose"]) {
      expect((yield* from(stranger, "GET", path)).status, path).toBe(200)
    }
  })

  it.live("does not take a caller's own word for its address", function* () {
    const { from } = yield* startBehindProxy({ trustedProxies: [], allowFrom: ["192.0.2.0/24"] })
    expect((yield* from("192.0.2.7", "GET", "/api/teams")).status).toBe(404)
  })

  it.live("is closed for a request that names the whole URL, too", function* () {
    const { port } = yield* start({ allowFrom: ["192.0.2.0/24"] })
    const first = (target: string) =>
      Effect.map(
        wire(port, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
        ({ text }) => text.split("\r\n")[0]
      )
    expect(yield* first("http://x/metrics")).toBe("HTTP/1.1 404 Not Found")
    expect(yield* first("http://x/webhook/../metrics")).toBe("HTTP/1.1 404 Not Found")
    expect(yield* first("/webhook/..%2fmetrics")).toBe("HTTP/1.1 404 Not Found")
    expect(yield* first("http://x/health/live")).toBe("HTTP/1.1 200 OK")
  })

  it.live("is open to everyone unless the operator says otherwise", function* () {
    const { origin } = yield* start()
    expect((yield* call(origin)("GET", "/metrics")).status).toBe(200)
  })
})
