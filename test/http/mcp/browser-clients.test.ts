/** Clients in a browser: requests that pages of other origins send to `/mcp` (CORS). */
import { describe, expect, it } from "../../support/It.ts"
import { startProvider } from "../../support/OpenIdProvider.ts"
import { refusal } from "../Client.ts"
import { adminKey, start } from "../Server.ts"

const page = "http://inspector.test:6274"
const metadata = ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"]

const preflight = (origin: string) => ({
  origin,
  "access-control-request-method": "POST",
  "access-control-request-headers": "authorization, content-type, mcp-protocol-version, mcp-method"
})

const corsOf = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith("access-control-"))

const listing = {
  headers: { authorization: `Bearer ${adminKey}`, accept: "application/json, text/event-stream" },
  body: { jsonrpc: "2.0", id: 1, method: "tools/list" }
}

describe("/mcp in a browser", () => {
  it.live("answers the preflights and requests of allowed pages, and shows them its headers", function* () {
    const provider = yield* startProvider()
    const oidc = provider.settings({ roles: [{ group: "*", role: "caller" }], mcpAudience: "http://hooks.test/mcp" })
    const { http } = yield* start({ oidc, mcpOrigins: [page, "https://other.test"] })
    for (const path of ["/mcp", ...metadata]) {
      const { headers, status } = yield* http("OPTIONS", path, { headers: preflight(page) })
      expect([path, status, headers.get("access-control-allow-origin")]).toStrictEqual([path, 204, page])
      expect(headers.get("access-control-allow-headers")).toContain("mcp-protocol-version")
      expect(headers.get("access-control-allow-methods")).toContain("POST")
      expect(headers.get("access-control-allow-credentials")).toBeNull()
    }
    const refused = yield* http("POST", "/mcp", { headers: { origin: page }, body: {} })
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toStrictEqual([401, page])
    expect(refused.headers.get("access-control-expose-headers")).toContain("WWW-Authenticate")
    const listed = yield* http("POST", "/mcp", { ...listing, headers: { ...listing.headers, origin: page } })
    expect([listed.status, listed.headers.get("access-control-allow-origin")]).toStrictEqual([200, page])
    expect(listed.headers.get("vary")).toBe("Origin")
    for (const path of metadata) {
      const { headers, status } = yield* http("GET", path, { headers: { origin: page } })
      expect([status, headers.get("access-control-allow-origin")]).toStrictEqual([200, page])
      expect((yield* http("POST", path, { body: {} })).status).toBe(405)
    }
  })

  it.live("allows nothing to other pages, nor anything outside of /mcp, nor anything by default", function* () {
    const open = yield* start({ mcpOrigins: [page] })
    const closed = yield* start()
    for (const [server, origin] of [
      [open, "http://evil.test"],
      [open, "null"],
      [open, `${page}.evil.test`],
      [closed, page]
    ] as const) {
      const asked = yield* server.http("OPTIONS", "/mcp", { headers: preflight(origin) })
      expect([asked.status, corsOf(asked.headers)]).toStrictEqual([403, []])
      const sent = yield* server.http("POST", "/mcp", { ...listing, headers: { ...listing.headers, origin } })
      expect([refusal(sent), corsOf(sent.headers)]).toStrictEqual([[403, "forbidden"], []])
      for (const path of metadata) {
        expect(corsOf((yield* server.http("GET", path, { headers: { origin } })).headers)).toStrictEqual([])
      }
    }
    const headers = { ...listing.headers, origin: closed.origin }
    expect((yield* closed.http("POST", "/mcp", { ...listing, headers })).status).toBe(200)
    for (const path of ["/api/runs", "/api/session", "/webhook/trigger", "/metrics"]) {
      expect(corsOf((yield* open.http("OPTIONS", path, { headers: preflight(page) })).headers)).toStrictEqual([])
      const headers = { authorization: `Bearer ${adminKey}`, origin: page }
      expect(corsOf((yield* open.http("GET", path, { headers })).headers)).toStrictEqual([])
    }
  })
})
