import { Effect } from "effect"
import { pages } from "../../../src/api/Pages.ts"
import { describe, expect, it } from "../../support/It.ts"
import type { Answer } from "../Client.ts"
import { hello, type Options, start } from "../Server.ts"

/** One answer of every kind, good and refused. */
const answers = (options: Options) =>
  Effect.gen(function* () {
    const { admin, http, team, webhook } = yield* start(options)
    const { path } = yield* webhook(yield* team("ops"))
    const accepted = yield* http("POST", path, { body: hello })
    const answers: ReadonlyArray<readonly [name: string, answer: Answer]> = [
      ["accepted", accepted],
      ["answered", yield* http("POST", `${path}?wait=true`, { body: hello })],
      ["its run", yield* http("GET", accepted.headers.get("location")!)],
      ["missing variables", yield* http("POST", path, { body: { variables: {} } })],
      ["too large", yield* http("POST", path, { raw: " ".repeat(2_000_000) })],
      ["unknown token", yield* http("POST", "/webhook/trigger/whk_unknown", { body: hello })],
      ["list", yield* admin("GET", "/api/webhooks")],
      ["without a key", yield* http("GET", "/api/webhooks")],
      ["wrong method", yield* http("PUT", "/api/webhooks")],
      ["session", yield* http("GET", "/api/session")],
      ["health", yield* http("GET", "/health/ready")],
      ["metrics", yield* http("GET", "/metrics")],
      ["openapi", yield* http("GET", "/openapi.json")],
      ["docs", yield* http("GET", "/docs")],
      ["unknown address", yield* http("GET", "/nothing/here")],
      ["an address that cannot be decoded", yield* http("GET", "/api/webhooks/%ff")],
      ["the UI", yield* http("GET", pages.webhooks)],
      ["the UI's icon", yield* http("GET", "/icon.svg")]
    ]
    return answers
  })

describe("every answer", () => {
  it.live("keeps browsers from guessing at its type, and from telling others its address", function* () {
    for (const [name, { headers }] of yield* answers({})) {
      expect(headers.get("x-content-type-options"), name).toBe("nosniff")
      expect(headers.get("referrer-policy"), name).toBe("no-referrer")
      expect(headers.get("strict-transport-security"), name).toBeNull()
    }
  })

  it.live("asks for TLS from then on, when that is how the server is reached", function* () {
    for (const [name, { headers }] of yield* answers({ publicUrl: "https://hooks.example.com" })) {
      expect(headers.get("strict-transport-security"), name).toBe("max-age=31536000")
    }
  })

  it.live("that is a document says what it may load, and that no page may frame it", function* () {
    const documents = (yield* answers({})).filter(([, { headers }]) => /html/.test(headers.get("content-type") ?? ""))
    expect(documents.map(([name]) => name)).toStrictEqual(["docs", "the UI"])
    for (const [name, { headers }] of documents) {
      const policy = headers.get("content-security-policy")
      expect(policy, name).toContain("default-src 'none'")
      expect(policy, name).toContain("frame-ancestors 'none'")
    }
  })
})
