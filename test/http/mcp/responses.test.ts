/** When and in which form `/mcp` answers, by what a client takes. */
import { request } from "node:http"
import { Duration, Effect } from "effect"
import { LongestWait } from "../../../src/http/mcp/Runs.ts"
import { describe, expect, it } from "../../support/It.ts"
import { makeLeader } from "../events/StepLeader.ts"
import { adminKey, start } from "../Server.ts"

describe("a response of /mcp", () => {
  it.live("comes sooner to a client that hears no progress: it named no token, or takes no events", () =>
    Effect.gen(function* () {
      const { does, leader } = yield* makeLeader
      const server = yield* start()
      yield* server.webhook(yield* server.team("ops", leader), "{{text}}", { mcp_tool: "think" })
      const call = (accept: string, _meta: object) =>
        server.http("POST", "/mcp", {
          headers: { authorization: `Bearer ${adminKey}`, accept },
          body: {
            ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
            params: { name: "think", arguments: { text: "x" }, _meta }
          }
        })
      const events = "application/json, text/event-stream"
      for (const [accept, _meta] of [
        [events, {}],
        ["application/json", { progressToken: 1 }],
        ["*/*", { progressToken: 1 }]
      ] as const) {
        const { text } = yield* call(accept, _meta)
        expect(text, accept).toContain("Call `get_run` with the run_id")
      }
      // With a token, it waits for the answer.
      yield* does(...[1, 2, 3, 4].map(() => ({ answer: "done" })))
      expect((yield* call(events, { progressToken: 1 })).text).toContain("done")
    }).pipe(
      Effect.provideService(LongestWait, { withProgress: Duration.minutes(5), withoutProgress: Duration.millis(100) })
    )
  )

  it.live("has a form that the client takes, whichever it names", function* () {
    const server = yield* start()
    yield* server.webhook(yield* server.team("ops"), "{{text}}", { mcp_tool: "say" })
    const call = (accept: string | undefined, method: string, params: object) =>
      Effect.promise(async () => {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method, params })
        return await new Promise<{
          type: string | undefined
          cache: string | undefined
          status: number
          text: string
        }>((resolve, reject) => {
          const headers = {
            ...{ authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
            ...(accept !== undefined && { accept })
          }
          request(`${server.origin}/mcp`, { method: "POST", headers }, (response) => {
            let text = ""
            response.setEncoding("utf8").on("data", (chunk) => (text += chunk))
            const { "cache-control": cache, "content-type": type } = response.headers
            response.on("end", () => resolve({ type, cache, status: response.statusCode!, text }))
          })
            .on("error", reject)
            .end(body)
        })
      })
    const initialize = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } }
    for (const accept of [undefined, "*/*", "application/json", "application/*", "application/json;q=0.9, */*;q=0.1"]) {
      const { status, text, type } = yield* call(accept, "initialize", initialize)
      expect([accept, status, type]).toStrictEqual([accept, 200, "application/json"])
      expect(JSON.parse(text)).toMatchObject({ jsonrpc: "2.0", id: 7, result: { protocolVersion: "2025-06-18" } })
      const called = yield* call(accept, "tools/call", { name: "say", arguments: { text: "hi" } })
      expect(JSON.parse(called.text).result.content[0].text).toBe("echo: hi")
      const unknown = yield* call(accept, "tools/call", { name: "none" })
      expect(JSON.parse(unknown.text).error.message).toBe("Unknown tool: none")
    }
    for (const accept of ["text/event-stream", "application/json, text/event-stream", "text/*"]) {
      const { cache, status, text, type } = yield* call(accept, "tools/call", {
        name: "say",
        arguments: { text: "hi" }
      })
      expect([accept, status, type, cache]).toStrictEqual([
        ...[accept, 200, "text/event-stream", "no-store, no-transform"]
      ])
      expect(text).toContain("echo: hi")
    }
    expect((yield* call("text/html", "tools/list", {})).status).toBe(406)
  })

  it.live("repeats numbers of a call as they were written", function* () {
    const server = yield* start()
    yield* server.webhook(yield* server.team("ops"), "{{n}}", { mcp_tool: "say" })
    const message = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "say", arguments: { n: "N" } } }
    for (const number of ["820982911946154508", "1.10"]) {
      const { text } = yield* Effect.promise(async () => {
        const answer = await fetch(`${server.origin}/mcp`, {
          method: "POST",
          headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
          body: JSON.stringify(message).replace('"N"', number)
        })
        return { text: await answer.text() }
      })
      expect(JSON.parse(text).result.content[0].text).toBe(`echo: ${number}`)
    }
  })
})
