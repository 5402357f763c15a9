import { Option, Redacted } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { refusal } from "../Client.ts"
import { start } from "../Server.ts"

describe("what only operators are to read", () => {
  const token = "a-token-for-the-metrics"

  it.live("needs the token that the operator has set, for the metrics", function* () {
    const { http } = yield* start({ access: { metricsToken: Option.some(Redacted.make(token)), apiDocs: true } })
    for (const authorization of [undefined, "Bearer wrong", `Bearer ${token}x`, `Basic ${token}`, token]) {
      const refused = yield* http("GET", "/metrics", { headers: { ...(authorization && { authorization }) } })
      expect(refusal(refused)).toStrictEqual([401, "unauthorized"])
      expect(refused.headers.get("www-authenticate")).toMatch(/^Bearer /)
      expect(refused.text).not.toContain("http_server_requests_total")
    }
    const shown = yield* http("GET", "/metrics", { headers: { authorization: `bearer ${token}` } })
    expect([shown.status, shown.text]).toEqual([200, expect.stringContaining("http_server_requests_total")])
  })

  it.live("is not served, if the operator has closed the API's description", function* () {
    const { http } = yield* start({ access: { metricsToken: Option.none(), apiDocs: false } })
    for (const path of ["/docs", "/docs/README.md", "/openapi.json"]) {
      expect(refusal(yield* http("GET", path))).toStrictEqual([404, "not_found"])
    }
    expect((yield* http("GET", "/metrics")).status).toBe(200)
  })
})
