/** `webhook-trigger mcp`, started by the protocol's official clients. */

import { writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { dirname, join } from "node:path"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { Effect } from "effect"
import { describe, expect, it } from "../support/It.ts"
import { freePort } from "../support/Process.ts"
import * as Program from "./Program.ts"
import { ADMIN_API_KEY } from "./SharedServer.ts"

const served = Effect.gen(function* () {
  const DATA_DIR = yield* Program.newFolder
  const script = join(dirname(DATA_DIR), "agent.sh")
  writeFileSync(script, 'read -r text; echo "done: $text"', { mode: 0o755 })
  const settings = { ADMIN_API_KEY, DATA_DIR, PORT: String(yield* Effect.promise(() => freePort())) }
  const server = yield* Program.serve(settings, ["--leader", `ops=sh ${script}`])
  yield* Effect.promise(() =>
    fetch(`${server.url}/api/webhooks`, {
      method: "POST",
      headers: { authorization: `Bearer ${ADMIN_API_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "Do", team: "ops", prompt_template: "{{text}}\n", mcp_tool: "do" })
    })
  )
  return server
})

/** An address that answers each request without a body, as proxies may. */
const answering = (status: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer((_, response) => response.writeHead(status).end())
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return server
    }),
    (server) => Effect.sync(() => server.close())
  ).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`))

const connected = (url: string, mode: "auto" | "legacy", key: string = ADMIN_API_KEY) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ name: "a test", version: "1" }, { versionNegotiation: { mode } })
      const args = [Program.program, "mcp", "--url", url]
      const env = { PATH: process.env.PATH ?? "", ADMIN_API_KEY: key }
      await client.connect(new StdioClientTransport({ command: process.execPath, args, env, stderr: "ignore" }))
      return client
    }),
    (client) => Effect.promise(() => client.close())
  )

describe("mcp", () => {
  it.live("passes on what assistants of both generations of the protocol ask, and the answers", function* () {
    const { url } = yield* served
    for (const mode of ["auto", "legacy"] as const) {
      const client = yield* connected(url, mode)
      const { tools } = yield* Effect.promise(() => client.listTools())
      expect(tools[0]?.name).toBe("do")
      const results = yield* Effect.promise(() =>
        Promise.all(["a", "b", "c"].map((text) => client.callTool({ name: "do", arguments: { text } })))
      )
      expect(results.map(({ content }) => content)).toEqual(
        ["a", "b", "c"].map((text) => [{ type: "text", text: `done: ${text}` }])
      )
    }
  })

  it.live("says why the server refuses, or that it is out of reach", function* () {
    const { url } = yield* served
    const refused = (address: string) =>
      Effect.map(
        Effect.flip(Effect.tryPromise(() => Effect.runPromise(Effect.scoped(connected(address, "legacy", "wrong"))))),
        ({ cause }) => String(cause)
      )
    expect(yield* refused(url)).toContain("neither the admin key nor an API key")
    for (const status of [200, 404, 431, 502]) {
      const empty = yield* answering(status)
      expect(yield* refused(empty)).toContain(`The server answered ${status}, without a message of the protocol.`)
    }
    const nowhere = `http://127.0.0.1:${yield* Effect.promise(() => freePort())}`
    expect(yield* refused(nowhere)).toContain(`The server at ${nowhere} is out of reach.`)
  })
})
