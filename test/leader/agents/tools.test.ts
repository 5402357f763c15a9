/** The tools that presets hand to their programs: `ask`, `link` and `progress`. */
import { existsSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { agentRequestOf } from "../../../src/domain/run/AgentRequest.ts"
import { presets } from "../../../src/leader/index.ts"
import { environment } from "./Endpoint.ts"
import { behaviour, onBusOfItsOwn } from "./Leading.ts"
import { type ProgramName, preset, print, programNames, recorded, usages } from "./Programs.ts"

const program = fileURLToPath(new URL("tools-agent.mjs", import.meta.url))

interface Results {
  readonly tools: ReadonlyArray<string>
  readonly answers: ReadonlyArray<{ readonly text: string; readonly isError: boolean }>
  readonly script: string
  readonly modes: ReadonlyArray<string>
}

/** The preset, whose program makes the calls in the prompt, and then prints what the real one has printed. */
const using = (name: ProgramName, { exit = 0, options = presets[name].example.split(" ").slice(1) } = {}) =>
  Effect.map(
    preset(
      name,
      `PRINTED='${recorded(name, exit === 0 ? "answer" : "failure")}' EXIT_CODE=${exit} exec '${process.execPath}' '${program}' ${name} "$@"`,
      options
    ),
    (led) => ({ ...led, results: () => JSON.parse(led.read("results")) as Results })
  )

const question = { question: "Which branch?", suggestions: ["main", "next"] }
const pull = { url: "https://example.com/pull/7", title: "The draft" }

describe("OpenCode", () => {
  behaviour(
    "keeps the operator's own settings beside the tools, and gets no tools where they cannot be read",
    Effect.gen(function* () {
      const settingsFor = (own: string) =>
        Effect.gen(function* () {
          yield* environment("OPENCODE_CONFIG_CONTENT", own)
          const script = `printf '%s' "$OPENCODE_CONFIG_CONTENT" > settings\n${print("opencode", "answer")}`
          const { read, send } = yield* preset("opencode", script)
          yield* send("Do it.")
          return read("settings")
        }).pipe(Effect.scoped, onBusOfItsOwn)
      const own = { mcp: { docs: { type: "local" } }, permission: { bash: "deny" }, theme: "dark" }
      expect(JSON.parse(yield* settingsFor(JSON.stringify(own)))).toMatchObject({
        mcp: { docs: { type: "local" }, webhook: { type: "local" } },
        permission: { bash: "deny", "webhook_*": "allow" },
        theme: "dark"
      })
      expect(JSON.parse(yield* settingsFor('{"permission":"deny"}'))).toHaveProperty("permission", "deny")
      expect(yield* settingsFor("{ // JSON with a comment")).toBe("{ // JSON with a comment")
    })
  )
})

describe.each(programNames)("the preset %s", (name) => {
  behaviour(
    "hands its program tools: what that asks is the run's question, with what it used and linked, and its session",
    Effect.gen(function* () {
      const { results, send, shown } = yield* using(name)
      const calls = [
        ["progress", { text: "Looking at the branches" }],
        ["link", pull],
        ["ask", question]
      ]
      const reply = yield* send(JSON.stringify(calls))
      expect(reply).toMatchObject({
        _tag: "Answered",
        response: "Which branch?",
        report: { asks: ["main", "next"], links: [pull], usage: usages[name] }
      })
      expect(reply).toHaveProperty("report.session_id", expect.stringMatching(/^[\w-]{20,}$/))
      expect(shown[0]).toEqual({ activity: "Looking at the branches" })
      const { answers, modes, script, tools } = results()
      expect(tools).toEqual(["ask", "link", "progress"])
      expect(answers.map(({ isError }) => isError)).toEqual([false, false, false])
      // Of others, only root can reach the socket, and nothing is left.
      expect(modes[0]).toBe("700")
      expect(existsSync(dirname(script))).toBe(false)
    })
  )

  behaviour(
    "hands out no tools with --no-tools",
    Effect.gen(function* () {
      const { read, send } = yield* using(name, {
        options: [...presets[name].example.split(" ").slice(1), "--no-tools"]
      })
      expect(yield* send("[]")).toMatchObject({ _tag: "Answered", response: "I did what you asked." })
      expect(read("results")).toBe("no tools")
      expect(read("args")).not.toContain("--no-tools")
    })
  )
})

describe("the tools", () => {
  behaviour(
    "keep the question of an agent that fails afterwards, but no answer of one that has not asked",
    Effect.gen(function* () {
      const { send } = yield* using("codex", { exit: 1 })
      expect(yield* send(JSON.stringify([["ask", question]]))).toMatchObject({
        _tag: "Answered",
        response: "Which branch?",
        report: { asks: ["main", "next"] }
      })
      expect(yield* send("[]")).toMatchObject({ _tag: "Failed", message: expect.stringContaining("the model refused") })
    })
  )

  behaviour(
    "refuse what they cannot show, and join several questions",
    Effect.gen(function* () {
      const { results, send } = yield* using("codex")
      const reply = yield* send(
        JSON.stringify([
          ["ask", { question: " " }],
          ["link", { url: "javascript:alert(1)" }],
          ["progress", {}],
          ["deploy", {}],
          ["ask", { ...question, suggestions: ["main", 7, "x".repeat(201), ..."abcdefghijkl"] }],
          ["ask", { question: "And when?" }]
        ])
      )
      expect(results().answers.map(({ isError }) => isError)).toEqual([true, true, true, true, false, false])
      expect(reply).toMatchObject({ response: "Which branch?\n\nAnd when?", report: { asks: [] } })
      expect(reply).not.toHaveProperty("report.links")
    })
  )

  behaviour(
    "do not let the agent ask where the webhook refuses questions",
    Effect.gen(function* () {
      const { results, send } = yield* using("codex")
      const agent = agentRequestOf({ agent_asks: "refuse" })!
      expect(yield* send(JSON.stringify([["ask", question]]), { agent })).toMatchObject({
        response: "I did what you asked."
      })
      expect(results()).toMatchObject({ tools: ["link", "progress"], answers: [{ isError: true }] })
      expect(agentRequestOf({ agent_asks: "allow" })).toBeUndefined()
    })
  )
})
