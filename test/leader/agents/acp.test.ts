/** The preset for any agent that speaks the Agent Client Protocol, with a small one (`acp-agent.mjs`). */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Option, Result, type Scope } from "effect"
import type { Bus, LeaderBus } from "../../../src/bus/Bus.ts"
import * as BusMemory from "../../../src/bus/BusMemory.ts"
import { readReport } from "../../../src/domain/run/Progress.ts"
import { decide, makeAsked } from "../../../src/leader/agents/acp/Permissions.ts"
import { updates, withResponse } from "../../../src/leader/agents/acp/Updates.ts"
import { turnsExceeded } from "../../../src/leader/agents/output/Limits.ts"
import { presets } from "../../../src/leader/index.ts"
import { team } from "../../bus/contract/support.ts"
import { temporaryFolder } from "../../support/private.ts"
import { repeatUntil } from "../../support/Until.ts"
import { behaviour, isRunning, leading, onBusOfItsOwn, slower, threadId, written } from "./Leading.ts"

const program = fileURLToPath(new URL("acp-agent.mjs", import.meta.url))

/** With a team of its own. */
const alone = <A, E>(test: Effect.Effect<A, E, Bus | LeaderBus | Scope.Scope>) =>
  Effect.scoped(test).pipe(Effect.provide(BusMemory.layer))

/** Leads with the agent, which has these abilities, in a folder of its own. */
const acp = ({ abilities = ["resume"], options = ["--allow", "none"] }: Partial<Record<string, Array<string>>> = {}) =>
  Effect.gen(function* () {
    const place = { folder: yield* temporaryFolder }
    const agent = Result.getOrThrow(presets.acp.agent([...options, process.execPath, program, ...abilities]))
    const led = yield* leading(agent, place)
    const read = (file: string) => readFileSync(join(place.folder, file), "utf8")
    return { ...led, read }
  })

const inSession = (session_id: string) => ({ thread: { id: threadId, session_id } })

describe("an ACP agent", () => {
  behaviour(
    "that has reached a usage limit says so, and until when; one that only talks of it answers",
    Effect.gen(function* () {
      const { send } = yield* acp()
      const before = Date.now()
      const limited = yield* send("[[quota]]")
      expect(limited).toMatchObject({ _tag: "Failed", message: "Too many requests" })
      const { until } = (limited as Extract<typeof limited, { _tag: "Failed" }>).limited!
      expect(until!.epochMilliseconds - before).toBeGreaterThanOrEqual(3_600_000)
      expect(yield* send("You've hit your usage limit. Try again in 3 hours.")).toMatchObject({ _tag: "Answered" })
      expect(yield* send("[[refuse]]")).not.toHaveProperty("limited")
    })
  )

  behaviour(
    "is stopped at the limit of turns, and not started for what it cannot keep",
    Effect.gen(function* () {
      const { send } = yield* acp({ options: ["--allow", "all"] })
      const stopped = yield* send("[[tool execute]]", { agent: { max_turns: 1 } })
      expect(stopped).toMatchObject({ _tag: "Failed", code: "turns_exceeded" })
      expect(yield* send("Hello.", { agent: { max_turns: 1 } })).toMatchObject({ response: "You said: Hello." })
      for (const agent of [{ model: "m-2" }, { permissions: "all" }, { max_cost: 1 }]) {
        const refused = yield* send("Hello.", { agent })
        expect(refused).toHaveProperty("message", expect.stringContaining("this kind of agent does not support"))
      }
    })
  )

  behaviour(
    "answers with tokens, cost, model and session, and shows its text",
    Effect.gen(function* () {
      const { send, shown } = yield* acp()
      expect(yield* send("--dangerous $(prompt)")).toMatchObject({
        _tag: "Answered",
        response: "You said: --dangerous $(prompt)",
        report: {
          usage: { input_tokens: 1200, cached_input_tokens: 200, output_tokens: 34, cost_usd: 0.5, model: "m-1" },
          session_id: "s.0"
        }
      })
      expect(shown).toEqual([{ text: "You said: " }, { text: "--dangerous $(prompt)" }])
    })
  )

  behaviour(
    "may do what its options allow, and the permissions that it does not get are reported",
    Effect.gen(function* () {
      const { send, shown } = yield* acp({ options: ["--allow=read,execute"] })
      const allowed = yield* send("[[tool execute]]")
      expect(allowed).toMatchObject({ response: "The answer was yes." })
      expect(allowed).not.toHaveProperty("report.denied")
      expect(shown.map(({ text = "" }) => text).join("")).toBe("I will do it.\n\nThe answer was yes.")
      expect(new Set(shown.flatMap(({ activity = [] }) => activity))).toEqual(new Set(["Writing the file"]))
      const refused = yield* send("[[tool edit]]")
      expect(refused).toMatchObject({ response: "The answer was no.", report: { denied: ["edit: echo done"] } })
    })
  )

  behaviour(
    "gets the tools, which it may use without asking, and none with --no-tools",
    Effect.gen(function* () {
      const { send } = yield* acp()
      for (const thread of [{}, inSession("s.0")]) {
        const [server] = JSON.parse(((yield* send("[[servers]]", thread)) as { response: string }).response)
        expect(server).toMatchObject({ name: "webhook", args: [expect.stringContaining("tools.cjs")] })
      }
      expect(yield* send("[[tool own]]")).toMatchObject({ response: "The answer was yes." })
      const without = yield* acp({ options: ["--no-tools", "--allow", "none"] }).pipe(onBusOfItsOwn)
      expect(yield* without.send("[[servers]]")).toMatchObject({ response: "[]" })
    })
  )

  behaviour(
    "asks for the permissions that its options say, and does what a person then allows, but no caller of a webhook",
    Effect.gen(function* () {
      const { read, send } = yield* acp({ options: ["--allow", "none", "--ask", "execute"] })
      const asked = yield* send("[[tool execute]]", { source: "webhook" })
      expect(asked).toMatchObject({
        _tag: "Answered",
        response: "The agent asks for permission:\n\n```\nexecute: echo done\n```",
        report: { asks: ["Allow", "Reject"], session_id: "s.0", usage: { output_tokens: 34 } }
      })
      expect(asked).not.toHaveProperty("report.denied")
      const reply = (source: "chat" | "webhook") => send("Allow", { ...inSession("s.0"), source })
      expect(yield* reply("webhook")).toEqual({ ...asked, run_id: expect.anything() })
      expect(yield* reply("chat")).toMatchObject({ response: "The answer was yes." })
      // It was for one prompt.
      expect(yield* reply("chat")).toMatchObject({ report: { asks: ["Allow", "Reject"] } })
      expect(JSON.parse(read("sessions.json"))["s.0"].texts.at(-2)).toBe("Allow: execute: echo done")
      const shaped = { ...inSession("s.0"), source: "chat", agent: { answer_schema: { type: "string" } } } as const
      yield* send("Allow", shaped)
      expect(JSON.parse(read("sessions.json"))["s.0"].texts.at(-2)).toMatch(
        /^Allow: execute: echo done\n\nAnswer with JSON/
      )
      const refused = yield* send("[[tool execute]]", { source: "webhook", agent: { may_ask: false } })
      expect(refused).toMatchObject({ response: "The answer was no.", report: { denied: ["execute: echo done"] } })
    })
  )

  it("is granted exactly what a person has allowed, however long it is", () => {
    const request = (command: string) => ({
      toolCall: { kind: "execute", title: `echo ${"a".repeat(300)}; ${command}` }
    })
    const [question] = makeAsked().ask("s.0", request("ls"))
    expect(question).toContain("; ls")
    const granted = `execute: ${request("ls").toolCall.title}`
    expect(decide(new Set(), request("ls"), granted)).not.toHaveProperty("denied")
    expect(decide(new Set(), request("rm -r ."), granted)).toHaveProperty("denied")
  })

  it("that gives the title of a tool call but no input has the whole command in its step", () => {
    const shown = (update: object) =>
      readReport({ ...updates.progress({ sessionUpdate: "tool_call", toolCallId: "t-1", kind: "execute", ...update }) })
        .steps?.[0]
    const title = "cd src &&\nls"
    expect(shown({ title })).toMatchObject({ title: "cd src &&", detail: title })
    expect(shown({ title: "ls" })).toMatchObject({ title: "ls" })
    expect(shown({ title: "ls" })).not.toHaveProperty("detail")
    expect(shown({ title, rawInput: { command: "ls" } })).toMatchObject({ detail: "ls" })
    // It leaves the input of the beginning.
    expect(shown({ sessionUpdate: "tool_call_update", title })).not.toHaveProperty("detail")
  })

  it("says that it has reached a limit, even if its response to the stop comes first", () => {
    const limit = turnsExceeded(1)
    expect(withResponse(limit, { stopReason: "cancelled" })).toMatchObject(limit)
  })

  behaviour(
    "answers with its last message, without notes of its program",
    Effect.gen(function* () {
      const { send } = yield* acp()
      expect(yield* send("[[notes]]")).toMatchObject({ response: "It is fine." })
    })
  )

  behaviour(
    "works in the mode of its options",
    Effect.gen(function* () {
      const { send } = yield* acp({ options: ["--allow", "all", "--mode", "careful"] })
      expect(yield* send("[[mode]]")).toMatchObject({ response: "careful" })
    })
  )

  behaviour(
    "gets a command such as /clear from a template, and as text from a caller",
    Effect.gen(function* () {
      const { send } = yield* acp()
      const webhook = { source: "webhook", template: "{{task}}" } as const
      for (const text of ["/clear", " \n/clear"]) {
        expect(yield* send(text, webhook)).toMatchObject({ response: `You said: The prompt:\n\n${text}` })
      }
      expect(yield* send("/review 7", { ...webhook, template: "/review {{task}}" })).toMatchObject({
        response: "You said: /review 7"
      })
    })
  )

  for (const [way, abilities] of [
    ["resumes", ["resume"]],
    ["loads", ["load"]]
  ] as const) {
    behaviour(
      `that ${way} sessions continues the thread's, and reports what the run cost`,
      Effect.gen(function* () {
        const { send } = yield* acp({ abilities: [...abilities] }).pipe(slower(20))
        yield* send("Remember: the word is heron.")
        const reply = yield* send("[[recall]]", inSession("s.0"))
        expect(reply).toMatchObject({
          response: "The word is heron.",
          report: { session_id: "s.0", usage: { cost_usd: 0.5 } }
        })
        expect(reply).not.toHaveProperty("report.session_lost")
      })
    )
  }

  behaviour(
    "does not know what a run cost in a session from before the leader's start",
    Effect.gen(function* () {
      const place = { folder: yield* temporaryFolder }
      const agent = () => Result.getOrThrow(presets.acp.agent(["--allow", "none", process.execPath, program, "resume"]))
      yield* alone(Effect.flatMap(leading(agent(), place), ({ send }) => send("Hello.")))
      const { send } = yield* leading(agent(), place)
      const reply = yield* send("Go on.", inSession("s.0"))
      expect(reply).toHaveProperty("report.usage.output_tokens", 34)
      expect(reply).not.toHaveProperty("report.usage.cost_usd")
    })
  )

  behaviour(
    "begins another session when it has lost the thread's, or has none, and says so",
    Effect.gen(function* () {
      for (const [ability, ...ids] of [
        ["resume", "s.9", "--version", "../s.0", ""],
        ["load", "s.9"],
        ["nothing", "s.0"]
      ] as const) {
        const replies = Effect.flatMap(acp({ abilities: [ability] }), ({ send }) =>
          Effect.forEach(ids, (id) => send("Go on.", inSession(id)))
        )
        for (const reply of yield* alone(replies)) {
          expect(reply).toMatchObject({ response: "You said: Go on.", report: { session_lost: true } })
        }
      }
    })
  )

  behaviour(
    "is asked to stop when the run is cancelled, and what it used is kept",
    Effect.gen(function* () {
      const { bus, end, publish, read } = yield* acp().pipe(slower(20))
      const { run_id } = yield* publish({ prompt: "[[hang]]" })
      yield* written(read, "hanging")
      yield* bus.cancel(team, run_id)
      expect(yield* end).toMatchObject({
        _tag: "Failed",
        message: "The run was cancelled.",
        report: { session_id: "s.0", usage: { input_tokens: 1200, output_tokens: 34 } }
      })
    })
  )

  behaviour(
    "that does not stop is killed",
    Effect.gen(function* () {
      const { bus, end, publish, read } = yield* acp({ abilities: ["deaf"] })
      const { run_id } = yield* publish({ prompt: "[[hang]]" })
      yield* written(read, "hanging")
      yield* bus.cancel(team, run_id)
      expect(yield* end).toMatchObject({ _tag: "Failed", report: { session_id: "s.0" } })
      const isAlive = Effect.sync(() => isRunning(Number(read("hanging"))))
      yield* repeatUntil(isAlive, (alive) => !alive)
    })
  )

  behaviour(
    "fails with its own message, with the reason why it stopped, or with what it printed when it ended",
    Effect.gen(function* () {
      const { send } = yield* acp()
      const failed = { _tag: "Failed", report: { session_id: "s.0" } }
      expect(yield* send("[[refuse]]")).toMatchObject({ ...failed, message: "the model refused" })
      expect(yield* send("[[limit]]")).toMatchObject({ message: "The agent stopped: max_tokens" })
      expect(yield* send("[[crash]]")).toMatchObject({ message: "exit code 3: out of memory" })
    })
  )

  behaviour(
    "that is not signed in says how to, and signs in if its options say so",
    Effect.gen(function* () {
      const signedOut = Effect.flatMap(acp({ abilities: ["signed-out"] }), ({ send }) => send("Hello."))
      const message = "The agent is not signed in. Sign in with its own program, or use --auth api-key (API key)"
      expect(yield* alone(signedOut)).toMatchObject({ message })
      const signingIn = yield* acp({ abilities: ["signed-out"], options: ["--allow", "none", "--auth", "api-key"] })
      expect(yield* signingIn.send("Hello.")).toMatchObject({ response: "You said: Hello." })
    })
  )

  behaviour(
    "that is no ACP agent fails with what it printed",
    Effect.gen(function* () {
      const script = ["sh", "-c", "echo 'usage: agent' >&2; exit 2"]
      const { send } = yield* leading(Result.getOrThrow(presets.acp.agent(["--allow", "none", ...script])))
      expect(yield* send("Hello.")).toMatchObject({ _tag: "Failed", message: "exit code 2: usage: agent" })
    })
  )

  it.each([
    [["opencode", "acp"], "Say what it may do with --allow"],
    [["--allow", "write", "opencode"], 'not "write"'],
    [["--allow"], "--allow needs a value"],
    [["--allow", "none"], "the command that starts the agent is missing"],
    [["--yolo", "opencode"], "--yolo is not an option"]
  ])("refuses the options %j", (words, says) => {
    expect(Option.getOrThrow(Result.getFailure(presets.acp.agent(words)))).toContain(says)
  })
})
