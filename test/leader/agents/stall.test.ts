/** Agents of every kind that hang. */
import { fileURLToPath } from "node:url"
import { describe, expect } from "@effect/vitest"
import { Effect, Result } from "effect"
import { Command, presets } from "../../../src/leader/index.ts"
import { endpoint } from "./Endpoint.ts"
import { behaviour, impatient, leading, onBusOfItsOwn } from "./Leading.ts"
import { preset, programNames } from "./Programs.ts"

const noise = "while :; do echo 'still here' >&2; sleep 0.01; done"
const stalled = { _tag: "Failed", code: "agent_stalled" }

describe("an agent that shows nothing for the stall timeout is stopped, and its run ends as agent_stalled:", () => {
  for (const name of programNames) {
    behaviour(
      name,
      Effect.gen(function* () {
        const { send } = yield* preset(name, noise, undefined, { stallTimeout: "10 minutes" }).pipe(impatient())
        expect(yield* send("Do it.")).toMatchObject(stalled)
      })
    )
  }

  behaviour(
    "any program, although it writes to its standard error",
    Effect.gen(function* () {
      for (const output of ["text", "json-lines"] as const) {
        const agent = Command.agent({ command: "sh", args: ["-c", noise], output })
        const { send } = yield* leading(agent, { stallTimeout: "10 minutes" }).pipe(impatient(), onBusOfItsOwn)
        expect(yield* send("Do it.")).toMatchObject({
          ...stalled,
          message: "sh was stopped: it had shown nothing for 10m"
        })
      }
    })
  )

  behaviour(
    "an ACP agent",
    Effect.gen(function* () {
      const program = fileURLToPath(new URL("acp-agent.mjs", import.meta.url))
      const agent = Result.getOrThrow(
        presets.acp.agent(["--allow", "none", process.execPath, "-e", "setInterval(() => {}, 1e6)", program])
      )
      const { send } = yield* leading(agent, { stallTimeout: "10 minutes" }).pipe(impatient())
      expect(yield* send("Do it.")).toMatchObject(stalled)
    })
  )

  behaviour(
    "an endpoint, although its stream is kept alive",
    Effect.gen(function* () {
      const pinging = endpoint((response) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        const ping = setInterval(() => response.write(': ping\n\nevent: ping\ndata: {"type":"ping"}\n\n'), 10)
        response.on("close", () => clearInterval(ping))
      })
      for (const options of [
        ["openai", "--model", "m", "--base-url"],
        ["openai", "--model", "m", "--api", "chat", "--base-url"]
      ]) {
        const { url } = yield* pinging
        const agent = Result.getOrThrow(presets.openai.agent([...options.slice(1), url]))
        const { send } = yield* leading(agent, { stallTimeout: "10 minutes" }).pipe(impatient(), onBusOfItsOwn)
        expect(yield* send("Do it.")).toMatchObject(stalled)
      }
      const { url } = yield* endpoint((response, { path }) => {
        if (path === "/v1/threads") response.end(JSON.stringify({ thread_id: "9f0c6c0e-8a5b-4c53-9a2e-0a1f4f1f4b11" }))
      })
      const agent = Result.getOrThrow(presets.langgraph.agent(["--url", url, "--assistant", "agent"]))
      const { send } = yield* leading(agent, { stallTimeout: "10 minutes" }).pipe(impatient(), onBusOfItsOwn)
      expect(yield* send("Do it.")).toMatchObject(stalled)
    })
  )
})
