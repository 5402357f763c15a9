/** The presets on what the real programs printed: `npm run test:agents -- --write` records it. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger, LogLevel, Queue, type Scope } from "effect"
import { Bus, type LeaderBus, type Reply } from "../../src/bus/Bus.ts"
import * as BusMemory from "../../src/bus/BusMemory.ts"
import { collectReplies, makePrompt, team, untilQueue } from "../../src/bus/contract.ts"
import { type AgentName, agentNames } from "../../src/domain/AgentName.ts"
import { agents } from "../../src/leader/agents/Agents.ts"
import { Command } from "../../src/leader/index.ts"

const behaviour = (name: string, test: Effect.Effect<unknown, unknown, Bus | LeaderBus | Scope.Scope>) =>
  it.live(name, () =>
    Effect.scoped(test).pipe(Effect.provide(BusMemory.layer), Logger.withMinimumLogLevel(LogLevel.None))
  )

const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "agents-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
)

const recorded = (name: AgentName, what: string) =>
  fileURLToPath(new URL(`../agents/recorded/${name}/${what}.jsonl`, import.meta.url))

/** Runs the shell script as the agent's program; the function that is returned sends it a prompt and gives its reply. */
const agentOf = (output: Command.CommandOutput, script: string, args: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const command = join(folder, "agent")
    writeFileSync(command, `#!/bin/sh\ncd '${folder}'\nprintf '%s\\n' "$@" > args\ncat > input\n${script}\n`)
    chmodSync(command, 0o755)
    const bus = yield* Bus
    const replies = yield* collectReplies
    yield* Command.start({ team, command, args, output })
    yield* untilQueue(({ consumers }) => consumers === 1)
    const send = (prompt: string) =>
      Effect.gen(function* () {
        yield* bus.publish([yield* makePrompt({ prompt })])
        return yield* Effect.repeat(Queue.take(replies), { until: ({ _tag }: Reply) => _tag !== "Started" })
      })
    return { send, read: (file: string) => readFileSync(join(folder, file), "utf8") }
  })

const usages: { readonly [Name in AgentName]: object } = {
  claude: { input_tokens: 1400, cost_usd: 0.0139, model: "claude-opus-4-8[1m]" },
  codex: { input_tokens: 1200 },
  gemini: { input_tokens: 1200, model: "gemini-3.1-pro-preview" },
  opencode: { input_tokens: 1400, cost_usd: 0.00417 }
}

describe.each(agentNames)("the preset %s", (name) => {
  behaviour(
    "takes the last message as the answer, with tokens, cost and session, and keeps the prompt out of the arguments",
    Effect.gen(function* () {
      const { read, send } = yield* agentOf(agents[name], `cat '${recorded(name, "answer")}'`, ["--model", "m"])
      const reply = yield* send("--dangerous $(prompt)")
      expect(reply).toMatchObject({
        _tag: "Answered",
        response: "I did what you asked.",
        report: { usage: { output_tokens: 34, cached_input_tokens: 200, ...usages[name] } }
      })
      expect(reply).toHaveProperty("report.session_id", expect.stringMatching(/^[\w-]{20,}$/))
      expect(read("input")).toBe("--dangerous $(prompt)")
      expect(read("args").split("\n")).toEqual(expect.arrayContaining(["--model", "m"]))
      expect(read("args")).not.toContain("dangerous")
    })
  )

  behaviour(
    "fails with the program's own message, whatever its exit code",
    Effect.gen(function* () {
      const { send } = yield* agentOf(agents[name], `cat '${recorded(name, "failure")}'`)
      const reply = yield* send("Do it.")
      expect(reply).toMatchObject({ _tag: "Failed", message: expect.stringContaining("the model refused") })
      expect(reply).toHaveProperty("report.session_id")
    })
  )

  behaviour(
    "fails with the end of the standard error when the program prints no event",
    Effect.gen(function* () {
      const { send } = yield* agentOf(agents[name], "echo 'not signed in' >&2; exit 1")
      expect(yield* send("Do it.")).toMatchObject({ _tag: "Failed", message: "exit code 1: not signed in" })
    })
  )
})

describe("an agent", () => {
  behaviour(
    "that hangs after its result is ended, and its answer counts",
    Effect.gen(function* () {
      const { send } = yield* agentOf(agents.claude, `cat '${recorded("claude", "answer")}'; sleep 600`)
      expect(yield* send("Do it.")).toMatchObject({ _tag: "Answered", response: "I did what you asked." })
    })
  )

  behaviour(
    "that was refused permissions has them in its report",
    Effect.gen(function* () {
      const denials = [{ tool_name: "Bash", tool_use_id: "1", tool_input: {} }]
      const event = { type: "result", is_error: false, result: "I could not.", permission_denials: denials }
      const { send } = yield* agentOf(agents.claude, `echo '${JSON.stringify(event)}'`)
      expect(yield* send("Do it.")).toMatchObject({ response: "I could not.", report: { denied: ["Bash"] } })
    })
  )

  behaviour(
    "that uses a tool is answered for by what it says last",
    Effect.gen(function* () {
      const events = [
        { type: "message", role: "assistant", content: "I will look. ", delta: true },
        { type: "tool_use", tool_name: "read_file" },
        { type: "tool_result", status: "success" },
        { type: "message", role: "assistant", content: "It is ", delta: true },
        { type: "message", role: "assistant", content: "fine.", delta: true },
        { type: "result", status: "success", stats: {} }
      ]
      const lines = events.map((event) => JSON.stringify(event)).join("\n")
      const { send } = yield* agentOf(agents.gemini, `cat <<'END'\n${lines}\nEND`)
      expect(yield* send("Do it.")).toMatchObject({ response: "It is fine." })
    })
  )
})

describe("a program that prints JSON lines", () => {
  behaviour(
    "answers or fails with a report, and its other lines are not part of it",
    Effect.gen(function* () {
      const { send } = yield* agentOf(
        "json-lines",
        `echo 'a warning'
         echo '{"session_id":"s-1"}'
         grep -q fail input && echo '{"type":"error","message":"no","usage":{"cost_usd":0.5}}' && exit 3
         printf '%s' '{"response":"yes","links":[{"title":"PR","url":"https://git.example.com/7"}]}'`
      )
      expect(yield* send("Do it.")).toMatchObject({
        _tag: "Answered",
        response: "yes",
        report: { session_id: "s-1", links: [{ title: "PR", url: "https://git.example.com/7" }] }
      })
      expect(yield* send("fail")).toMatchObject({
        _tag: "Failed",
        message: "no",
        report: { session_id: "s-1", usage: { cost_usd: 0.5 } }
      })
    })
  )

  behaviour(
    "fails when it prints no reply",
    Effect.gen(function* () {
      const { send } = yield* agentOf("json-lines", "echo done")
      expect(yield* send("Do it.")).toMatchObject({ _tag: "Failed", message: "no answer in its output" })
    })
  )
})
