import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { managementEndpoints, pathWith } from "../access/Endpoints.ts"
import { refusal } from "../Client.ts"
import { adminKey, start, unusedId } from "../Server.ts"

describe("the admin key", () => {
  it.live("is required before anything else, with 401 and WWW-Authenticate", function* () {
    const { http, faults } = yield* start({ trustedProxies: ["127.0.0.1"] })
    faults.add("database")
    let callers = 0
    const isRefused = (method: string, path: string, authorization?: string) =>
      Effect.gen(function* () {
        // From an address each: more than ten wrong keys from one are answered differently.
        const from = { "x-forwarded-for": `203.0.113.${++callers}` }
        const headers = { ...from, ...(authorization !== undefined && { authorization }) }
        const answer = yield* http(method, path, { headers })
        expect(refusal(answer), `${method} ${path} ${authorization}`).toStrictEqual([401, "unauthorized"])
        expect(answer.headers.get("www-authenticate")!).toMatch(/^Bearer /)
      })
    for (const { method, path } of managementEndpoints) yield* isRefused(method, pathWith(path))
    const wrong = ["Bearer", `Basic ${adminKey}`, adminKey, `Bearer ${adminKey}x`, `Bearer ${adminKey.slice(1)}`]
    for (const authorization of wrong) yield* isRefused("POST", "/api/teams", authorization)
    yield* isRefused("GET", `/api/webhooks/${unusedId}/runs?limit=x`)
  })

  it.live("is accepted however its scheme is written", function* () {
    const { http } = yield* start()
    const answer = yield* http("GET", "/api/teams", { headers: { authorization: `bearer  ${adminKey}` } })
    expect(answer.status).toBe(200)
  })
})

it.live("management answers 503 while the database is out of reach", function* () {
  const { admin, team, webhook, faults } = yield* start()
  yield* team("ops")
  const { id } = yield* webhook("ops")
  faults.add("database")
  for (const path of ["/api/teams", "/api/webhooks", `/api/webhooks/${id}`, `/api/webhooks/${id}/runs`]) {
    const answer = yield* admin("GET", path)
    expect(refusal(answer)).toStrictEqual([503, "unavailable"])
    expect(answer.headers.get("retry-after")!).toMatch(/^\d+$/)
  }
})

it.live("an unknown path is a 404 problem, a wrong method a 405 with Allow", function* () {
  const { http, admin } = yield* start()
  for (const path of ["/nothing", "/api", "/api/nothing", "/webhook", "/%ZZ", `/api/runs/${"x".repeat(5_000)}`]) {
    expect(refusal(yield* http("GET", path)), path).toStrictEqual([404, "not_found"])
  }
  for (const [method, path, allow] of [
    ["PUT", "/api/teams", "GET, HEAD, POST"],
    ["POST", "/api/teams/x", "GET, HEAD, DELETE"],
    ["HEAD", "/api/teams/x/messages", "POST"],
    ["OPTIONS", `/api/webhooks/${unusedId}`, "GET, HEAD, PATCH, DELETE"],
    ["DELETE", `/api/runs/${unusedId}`, "GET, HEAD"],
    ["POST", "/health/live", "GET, HEAD"]
  ] as const) {
    const answer = yield* admin(method, path)
    expect([answer.status, answer.headers.get("allow")], `${method} ${path}`).toStrictEqual([405, allow])
  }
})

it.live("a body of any depth is a refusal, not a failure of the server", function* () {
  const { admin } = yield* start()
  const deep = (inside: string) => `${"[".repeat(400_000)}${inside}${"]".repeat(400_000)}`
  // Also around a number that keeps its text.
  for (const inside of ["1", "1.10"]) {
    const raw = `{"team":"ops","unknown":${deep(inside)}}`
    const answer = yield* admin("POST", "/api/teams", { raw, headers: { "content-type": "application/json" } })
    expect(refusal(answer)).toStrictEqual([400, "invalid_body"])
  }
})
