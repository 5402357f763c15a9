/** Calls that are repeated with their idempotency key. */

import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { echo, type Leader, silent, start } from "../Server.ts"
import { type Connected, clients, connected, type Result } from "./Clients.ts"

const textOf = ({ content: [first] }: Result) => first!.text
const runIdIn = ({ _meta }: Result) => _meta?.["webhook-trigger/run_id"]

const withKey = (client: Connected, idempotency_key: unknown) => (name: string, args: object) =>
  Effect.promise(() => client.call(name, args, undefined, { "webhook-trigger/idempotency_key": idempotency_key }))

describe("an MCP call with an idempotency key", () => {
  for (const [name, connect] of Object.entries(clients)) {
    it.live(`starts one run, however often and wherever it is repeated, by a client ${name}`, function* () {
      const one = yield* start()
      const two = yield* start({ repo: one.repo })
      const { id } = yield* one.webhook(yield* one.team("ops"), "{{a}} {{b}}", { mcp_tool: "say" })
      const created = yield* one.admin("POST", "/api/keys", { body: { name: "assistant", role: "operator" } })
      const first = yield* connected(connect, one.origin, created.json.key)
      const second = yield* connected(connect, two.origin, created.json.key)
      const together = yield* Effect.all(
        [withKey(first, "k")("say", { a: "1", b: "2" }), withKey(first, "k")("say", { b: "2", a: "1" })],
        { concurrency: "unbounded" }
      )
      // The team's leader is connected to the other server.
      const answers = [...together, yield* withKey(second, "k")("say", { a: "1", b: "2" })]
      expect(answers.map(textOf)).toEqual(["echo: 1 2", "echo: 1 2", "echo: 1 2"])
      expect(new Set(answers.map(runIdIn)).size).toBe(1)
      expect(yield* one.history(id)).toHaveLength(1)
      expect(runIdIn(yield* withKey(first, "another")("say", { a: "1", b: "2" }))).not.toBe(runIdIn(answers[0]!))
    })
  }

  it.live("is refused with other arguments, or with a key that is none, in words for the assistant", function* () {
    const server = yield* start()
    const { id } = yield* server.webhook(yield* server.team("ops"), "{{text}}", { mcp_tool: "say" })
    const created = yield* server.admin("POST", "/api/keys", { body: { name: "assistant", role: "operator" } })
    const client = yield* connected(clients["of 2026"], server.origin, created.json.key)
    yield* withKey(client, "k")("say", { text: "a" })
    const other = yield* withKey(client, "k")("say", { text: "b" })
    expect([other.isError, textOf(other)]).toEqual([true, expect.stringContaining("Use a new key")])
    for (const key of ["", "x".repeat(256), "a\nb", 7, null]) {
      const refused = yield* withKey(client, key)("say", { text: "c" })
      expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringContaining("1 to 255 printable")])
    }
    expect(yield* server.history(id)).toHaveLength(1)
  })

  it.live("has keys of its own: other callers, and triggers with the same key, start other runs", function* () {
    const server = yield* start()
    const hook = yield* server.webhook(yield* server.team("ops"), "{{text}}", { mcp_tool: "say" })
    const runs: Array<unknown> = []
    for (const name of ["one", "two"]) {
      const created = yield* server.admin("POST", "/api/keys", { body: { name, role: "operator" } })
      const client = yield* connected(clients["of 2026"], server.origin, created.json.key)
      runs.push(runIdIn(yield* withKey(client, "k")("say", { text: "a" })))
    }
    const headers = { "idempotency-key": "k" }
    const triggered = yield* server.http("POST", hook.path, { body: { variables: { text: "a" } }, headers })
    runs.push(triggered.json.run_id)
    expect(new Set(runs).size).toBe(3)
    expect(yield* server.history(hook.id)).toHaveLength(3)
  })

  it.live("replies once, and the repeat returns the same answer", function* () {
    const server = yield* start()
    let replies = 0
    const leader: Leader = (delivery) =>
      delivery.prompt.prompt === "deploy"
        ? delivery.reply({ _tag: "Answered", response: "Where to?", report: { asks: ["staging"] } })
        : Effect.andThen(
            Effect.sync(() => replies++),
            echo(delivery)
          )
    yield* server.webhook(yield* server.team("ops", leader), "{{text}}", { mcp_tool: "do" })
    const created = yield* server.admin("POST", "/api/keys", { body: { name: "assistant", role: "operator" } })
    const client = yield* connected(clients["of 2025"], server.origin, created.json.key)
    const asked = yield* withKey(client, "k")("do", { text: "deploy" })
    const reply = () => withKey(client, "k")("reply_to_run", { run_id: runIdIn(asked), message: "staging" })
    const [first, again] = [yield* reply(), yield* reply()]
    expect([textOf(first), textOf(again)]).toEqual(["echo: staging", "echo: staging"])
    expect(runIdIn(again)).toBe(runIdIn(first))
    expect(replies).toBe(1)
  })

  it.live("returns the same task to a client with tasks", function* () {
    const server = yield* start()
    const { id } = yield* server.webhook(yield* server.team("ops", silent), "{{text}}", { mcp_tool: "say" })
    const created = yield* server.admin("POST", "/api/keys", { body: { name: "assistant", role: "operator" } })
    const call = server.http("POST", "/mcp", {
      body: {
        ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
        params: {
          ...{ name: "say", arguments: { text: "hi" } },
          _meta: {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { name: "a test", version: "1" },
            "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
            "webhook-trigger/idempotency_key": "k"
          }
        }
      },
      headers: {
        authorization: `Bearer ${created.json.key}`,
        accept: "application/json, text/event-stream",
        ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "say" }
      }
    })
    const tasks = [yield* call, yield* call].map(({ json }) => json.result.taskId)
    expect(tasks[0]).toEqual(expect.any(String))
    expect(tasks[1]).toBe(tasks[0])
    expect(yield* server.history(id)).toHaveLength(1)
  })
})
