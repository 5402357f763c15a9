/** What a webhook asks of an agent, within what the operator of its leader allows. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { AgentRequest } from "../../../src/domain/run/AgentRequest.ts"
import { presets } from "../../../src/leader/index.ts"
import { behaviour, onBusOfItsOwn } from "./Leading.ts"
import { type ProgramName, preset, print } from "./Programs.ts"

const answered = { _tag: "Answered", response: "I did what you asked." }

const argsOf = (name: ProgramName, options: ReadonlyArray<string>, agent: AgentRequest = {}) =>
  Effect.gen(function* () {
    const { read, send } = yield* preset(name, print(name, "answer"), options)
    const reply = yield* send("Do it.", { agent })
    return { reply, args: reply._tag === "Answered" ? read("args") : "" }
  }).pipe(onBusOfItsOwn)

describe("a model", () => {
  behaviour(
    "that the operator allows replaces the operator's own",
    Effect.gen(function* () {
      const options = ["--models", "gpt-5-mini,gpt-5", "--models=o5", "-m", "gpt-6", "--sandbox", "read-only"]
      const { args, reply } = yield* argsOf("codex", options, { model: "o5" })
      expect(reply).toMatchObject(answered)
      expect(args).toContain("--sandbox\nread-only\n--model\no5\n")
      expect(args).not.toContain("gpt-")
    })
  )
  behaviour(
    "is the operator's when the webhook names none",
    Effect.gen(function* () {
      const { args } = yield* argsOf("codex", ["--models", "any", "-m", "gpt-6"])
      expect(args).toContain("-m\ngpt-6\n")
      expect(args).not.toContain("any")
    })
  )
  behaviour(
    "that the operator does not allow is not used, and the program is not started",
    Effect.gen(function* () {
      for (const options of [[], ["--models", "gpt-5,o5"]]) {
        const { reply } = yield* argsOf("codex", options, { model: "gpt-6" })
        expect(reply).toMatchObject({
          _tag: "Failed",
          message: expect.stringContaining('the model "gpt-6" is not allowed')
        })
      }
    })
  )
})

describe("permissions", () => {
  const profiles = [
    ...["--permissions", "read-only=--allowedTools 'Read,Bash(git log:*)'"],
    ...["--permissions", "edit=--permission-mode acceptEdits", "--model", "opus"]
  ]
  behaviour(
    "are those of the profile that the webhook names, and of the first one if it names none",
    Effect.gen(function* () {
      const named = yield* argsOf("claude", profiles, { permissions: "edit" })
      expect(named.args).toContain("--model\nopus\n--permission-mode\nacceptEdits\n")
      expect(named.args).not.toContain("Read,Bash")
      const first = yield* argsOf("claude", profiles)
      expect(first.args).toContain("--model\nopus\n--allowedTools\nRead,Bash(git log:*)\n")
      expect(first.args).not.toContain("acceptEdits")
    })
  )
  behaviour(
    "that the operator has not defined are refused",
    Effect.gen(function* () {
      const { reply } = yield* argsOf("claude", profiles, { permissions: "all" })
      expect(reply).toHaveProperty("message", expect.stringContaining('no permissions "all" (it has read-only, edit)'))
      const plain = yield* argsOf("claude", ["--permission-mode", "plan"], { permissions: "edit" })
      expect(plain.reply).toHaveProperty("message", expect.stringContaining("(it has none)"))
    })
  )
  it("are not given in two ways, nor without saying what they allow", () => {
    const fault = (...options: ReadonlyArray<string>) => Result.getOrThrow(Result.flip(presets.claude.agent(options)))
    expect(fault(...profiles, "--allowedTools", "Bash")).toContain("only in them")
    for (const [name, plain] of [
      ["codex", "--full-auto"],
      ["opencode", "--auto"]
    ] as const) {
      const both = presets[name].agent(["--permissions", "careful=", plain])
      expect(Result.getOrThrow(Result.flip(both))).toContain("only in them")
    }
    expect(fault("--permissions", "all=")).toContain("--permissions all needs one of --allowedTools")
    expect(fault("--permissions", "Read Only=-x")).toContain("needs a name and options")
    expect(fault("--models", "", "--permission-mode", "plan")).toContain("--models needs names")
    expect(fault("--permission-mode", "plan", "--models", "any")).toContain("then the agent's own options")
    expect(fault("--models", "any", "--workspace", "git:/srv/x", "--permission-mode", "plan")).toContain(
      "--workspace is"
    )
    expect(fault("--permission-mode", "plan", "--stall-timeout", "5m")).toContain(
      "--stall-timeout is in the wrong place"
    )
  })
})

describe("limits", () => {
  behaviour(
    "go to a program that keeps them itself, and only lower the operator's",
    Effect.gen(function* () {
      const own = ["--permission-mode", "plan", "--max-turns", "10", "--max-budget-usd=2"]
      const lower = yield* argsOf("claude", own, { max_turns: 3, max_cost: 5 })
      expect(lower.args).toContain("--permission-mode\nplan\n--max-turns\n3\n--max-budget-usd\n2\n")
    })
  )
  behaviour(
    "of Claude Code end the run with their code and what it said last",
    Effect.gen(function* () {
      const said = '{"type":"assistant","message":{"content":[{"type":"text","text":"Half of it."}]}}'
      for (const [subtype, code] of [
        ["error_max_turns", "turns_exceeded"],
        ["error_max_budget_usd", "cost_exceeded"]
      ] as const) {
        const ended = `{"type":"result","subtype":"${subtype}","is_error":true,"total_cost_usd":0.5}`
        const reply = yield* Effect.gen(function* () {
          const { send } = yield* preset("claude", `head -n 1 > input; echo '${said}'; echo '${ended}'`)
          return yield* send("Do it.", { agent: { max_turns: 3, max_cost: 1 } })
        }).pipe(onBusOfItsOwn)
        expect(reply).toMatchObject({
          _tag: "Failed",
          code,
          response: "Half of it.",
          report: { usage: { cost_usd: 0.5 } }
        })
      }
    })
  )
  for (const name of ["codex", "gemini", "opencode"] as const) {
    behaviour(
      `of turns stop ${name}, which has none itself, before it asks its model once more`,
      Effect.gen(function* () {
        // The events up to the use of the tool in the last turn; nothing of another turn.
        const first = { codex: "item.started", gemini: "tool_use", opencode: "step_finish" }[name]
        const untilTool = `sed '/"type":"${first}"/q'`
        const { send } = yield* preset(name, `${print(name, "tool")} | ${untilTool}; sleep 600`)
        const stopped = yield* send("Do it.", { agent: { max_turns: 1 } })
        expect(stopped).toMatchObject({ _tag: "Failed", code: "turns_exceeded" })
        expect(stopped).toHaveProperty("message", expect.stringContaining("max_turns"))
        expect(stopped).toHaveProperty("report.session_id")
      })
    )
    behaviour(
      `of turns let ${name} end that needs no more`,
      Effect.gen(function* () {
        const { send } = yield* preset(name, print(name, "tool"))
        expect(yield* send("Do it.", { agent: { max_turns: 2 } })).toMatchObject(answered)
      })
    )
  }
  behaviour(
    "of cost stop a program that reports its cost while it works",
    Effect.gen(function* () {
      const { send } = yield* preset("opencode", `${print("opencode", "tool")}; sleep 600`)
      const stopped = yield* send("Do it.", { agent: { max_cost: 0.001 } })
      expect(stopped).toMatchObject({ _tag: "Failed", code: "cost_exceeded", report: { usage: { cost_usd: 0.00351 } } })
    })
  )
  behaviour(
    "of cost are refused for a program that reports none",
    Effect.gen(function* () {
      for (const name of ["codex", "gemini"] as const) {
        const { reply } = yield* argsOf(name, presets[name].example.split(" ").slice(1), { max_cost: 1 })
        expect(reply).toHaveProperty(
          "message",
          expect.stringContaining("`max_cost` cannot be enforced; use `max_turns`")
        )
      }
    })
  )
})
