/** MCP clients whose requests go to two servers in turn, while these are killed. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { describe, expect } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { until } from "../../support/Until.ts"
import { answerTo, answerWhenOpen } from "../support/Answers.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTest } from "../support/FaultTest.ts"
import type { TestServer } from "../support/TestServer.ts"

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "a test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } }
}

/** The protocol's client without stickiness: each request goes to the next server that accepts connections. */
const connectTo = async (cluster: Cluster, servers: ReadonlyArray<TestServer>, key: string) => {
  let turn = 0
  const client = new Client({ name: "a test", version: "1" }, { versionNegotiation: { mode: "auto" } })
  const transport = new StreamableHTTPClientTransport(new URL(`${servers[0]!.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
    fetch: (_, init) => {
      const alive = servers.filter((server) => server.alive)
      return fetch(`${alive[turn++ % alive.length]!.url}/mcp`, init)
    }
  })
  await client.connect(transport)
  cluster.storage.onClose(() => client.close())
  return client
}

/** A request of a client with tasks, to this server. */
const request = async ({ url }: TestServer, key: string, method: string, params: Record<string, unknown>) => {
  const answer = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      ...{ authorization: `Bearer ${key}`, "content-type": "application/json" },
      accept: "application/json, text/event-stream",
      ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": method },
      "mcp-name": String(params.name ?? params.taskId)
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } })
  })
  return ((await answer.json()) as { readonly result: any }).result
}

const textOf = (result: any): string => result.content[0].text

describe("MCP clients", () => {
  faultTest(
    "row 43: two servers without stickiness, each killed while calls wait and tasks work: the other one answers, once each",
    async ({ cluster }) => {
      const both = [await cluster.server(), await cluster.server()]
      const webhook = await cluster.webhook(both[0]!, { team: "deploy" })
      await cluster.api(both[0]!, "PATCH", `/api/webhooks/${webhook.id}`, { mcp_tool: "do" })
      const leader = await cluster.leader("deploy")
      for (const server of both) await cluster.running(server, "deploy")
      const draft = { name: "an assistant", role: "operator" }
      const { key } = await cluster.api(both[0]!, "POST", "/api/keys", draft)
      const client = await connectTo(cluster, both, key)
      let calls = 0

      for (const [index, killed] of [...both, ...both].entries()) {
        const other = both[1 - (index % 2)]!
        const gate = new Gate()
        leader.handle = answerWhenOpen(gate)
        /** As a client does that hears nothing more: with the same key until it has the answer. */
        const answered = async (nonce: string) => {
          for (;;) {
            const call = client.callTool({
              ...{ name: "do", arguments: { nonce } },
              _meta: { "webhook-trigger/idempotency_key": nonce }
            })
            const result = await call.catch(() => undefined)
            if (result !== undefined && result.isError !== true) return result
          }
        }
        const nonces = Array.from({ length: 10 }, (_, n) => `call ${index}-${n}`)
        const waiting = nonces.map(answered)
        const task = await request(killed, key, "tools/call", { name: "do", arguments: { nonce: `task ${index}` } })
        calls += nonces.length + 1
        await until("all have begun", async () => (await cluster.storage.rows()).length === calls)
        await killed.kill()

        expect(await request(other, key, "tasks/get", { taskId: task.taskId })).toMatchObject({ status: "working" })
        const listed = textOf(await client.callTool({ name: "list_runs", arguments: { limit: 11 } }))
        expect(listed.split("\n").map((line) => JSON.parse(line).status)).not.toContain("success")
        gate.open()
        expect((await Promise.all(waiting)).map(textOf)).toEqual(nonces.map(answerTo))
        const run = await client.callTool({ name: "get_run", arguments: { run_id: task.taskId } })
        expect(textOf(run)).toBe(answerTo(`task ${index}`))
        const completed = await request(other, key, "tasks/get", { taskId: task.taskId })
        expect(completed).toMatchObject({ status: "completed", result: { content: [{ text: textOf(run) }] } })
        await killed.start()
      }
      const rows = await cluster.checked({ count: calls })
      expect(rows).toHaveLength(calls)
      expect(rows.map(({ status }) => status)).toEqual(rows.map(() => "success"))
    }
  )
})
