/** What is special about Claude Code. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import type { PromptThread } from "../../../src/bus/Bus.ts"
import { team } from "../../bus/contract/support.ts"
import { behaviour, onBusOfItsOwn, slower, threadId, written } from "./Leading.ts"
import { preset, print, recorded, sessions, usages } from "./Programs.ts"

/** A result of Claude Code, and what stands for a background agent. */
const result = (fields: object) =>
  JSON.stringify({ type: "result", is_error: false, session_id: sessions.claude[0], ...fields })
const tasks = (...tasks: ReadonlyArray<object>) =>
  JSON.stringify({ type: "system", subtype: "background_tasks_changed", tasks })

/** What Claude Code reports after as many equal turns, each with a subagent. */
const usedIn = (turns: number) => ({
  total_cost_usd: turns * 0.1,
  usage: { input_tokens: 1000, cache_read_input_tokens: 200, cache_creation_input_tokens: 200, output_tokens: 10 },
  modelUsage: {
    large: {
      inputTokens: turns * 5000,
      cacheReadInputTokens: turns * 1000,
      outputTokens: turns * 40,
      costUSD: turns * 0.09
    },
    small: {
      inputTokens: turns * 900,
      cacheCreationInputTokens: turns * 100,
      outputTokens: turns * 5,
      costUSD: turns * 0.01
    }
  }
})
const oneTurn = { input_tokens: 7000, cached_input_tokens: 1000, output_tokens: 45, cost_usd: 0.1, model: "large" }

describe("Claude Code", () => {
  behaviour(
    "works until its background agents have ended, and what it says then is the answer",
    Effect.gen(function* () {
      const pause = `awk '{ print; fflush() } /"type":"result"/ && !paused++ { system("sleep 5.5") }'`
      const { send } = yield* preset("claude", `head -n 1 > input; ${pause} '${recorded("claude", "background")}'`)
      const session_usage = { input_tokens: 2800, cached_input_tokens: 400, output_tokens: 68, cost_usd: 0.01104 }
      const thread = { id: threadId, session_id: sessions.claude[0], session_usage }
      expect(yield* send("Do it.", { thread })).toMatchObject({
        _tag: "Answered",
        response: "The work is done.",
        report: { usage: { input_tokens: 5600, output_tokens: 136, cached_input_tokens: 800, cost_usd: 0.02208 } }
      })
    })
  )

  behaviour(
    "is done when its background commands have ended and it says no more",
    Effect.gen(function* () {
      const lines = [tasks({ task_id: "b1" }), result({ result: "The server runs." }), tasks()]
      const { send } = yield* preset(
        "claude",
        `printf '%s\\n' ${lines.map((line) => `'${line}'`).join(" ")}; sleep 600`
      )
      expect(yield* send("Do it.")).toMatchObject({ _tag: "Answered", response: "The server runs." })
    })
  )

  behaviour(
    "has succeeded if a good result follows one with an error",
    Effect.gen(function* () {
      const lines = [result({ is_error: true, result: "overloaded" }), result({ result: "It is done." })]
      const { send } = yield* preset("claude", `printf '%s\\n' ${lines.map((line) => `'${line}'`).join(" ")}`)
      expect(yield* send("Do it.")).toMatchObject({ _tag: "Answered", response: "It is done." })
    })
  )

  const turns = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  const countings = [
    ["the whole session", (turn: number) => usedIn(turn)],
    ["the run", () => usedIn(1)],
    [
      "the cost of the whole session alone",
      (turn: number) => ({ ...usedIn(1), total_cost_usd: turn * 0.1, modelUsage: undefined })
    ],
    ["the cost of the run alone", () => ({ ...usedIn(1), modelUsage: undefined })]
  ] as const
  for (const [what, used] of countings) {
    behaviour(
      `that counts ${what} is charged for each turn of a conversation once, also by leaders that are started anew`,
      Effect.gen(function* () {
        let thread: PromptThread = { id: threadId }
        for (const turn of turns) {
          const reply = yield* preset("claude", `echo '${result({ result: "yes", ...used(turn) })}'`).pipe(
            Effect.flatMap(({ send }) => send("Go on.", { thread })),
            onBusOfItsOwn,
            Effect.scoped
          )
          const { session_id, session_usage, usage } = reply._tag === "Answered" ? reply.report! : {}
          if (used(turn).modelUsage) expect(usage).toEqual(oneTurn)
          else expect(usage).toMatchObject({ input_tokens: 1400, output_tokens: 10, cost_usd: 0.1 })
          thread = { id: threadId, session_id: session_id!, session_usage: session_usage! }
        }
      })
    )
  }

  behaviour(
    "does not know what a run used in a session whose total is not known",
    Effect.gen(function* () {
      const { send } = yield* preset("claude", `echo '${result({ result: "yes", ...usedIn(7) })}'`)
      const reply = yield* send("Go on.", { thread: { id: threadId, session_id: sessions.claude[0] } })
      expect(reply).toHaveProperty("report.usage", { model: "large" })
    })
  )

  behaviour(
    "that was stopped before it counted does not say that the run used nothing",
    Effect.gen(function* () {
      const nothing = { total_cost_usd: 0, usage: { input_tokens: 0, output_tokens: 0 }, modelUsage: {} }
      const stopped = result({ is_error: true, ...nothing })
      const { bus, end, publish, read } = yield* preset(
        "claude",
        `read -r prompt; echo started > started; read -r line; echo '${stopped}'`
      ).pipe(slower(20))
      const { run_id } = yield* publish({ prompt: "Do it." })
      yield* written(read, "started")
      yield* bus.cancel(team, run_id)
      const reply = yield* end
      expect(reply).toMatchObject({ _tag: "Failed", report: { session_id: sessions.claude[0] } })
      expect(reply).not.toHaveProperty("report.usage")
    })
  )

  behaviour(
    "is interrupted through its input when the run is cancelled, and what it used is kept",
    Effect.gen(function* () {
      const script = `read -r prompt; echo started > started; read -r line; echo "$line" > input; cat '${recorded("claude", "answer")}'`
      const { bus, end, publish, read } = yield* preset("claude", script).pipe(slower(20))
      const { run_id } = yield* publish({ prompt: "Do it." })
      yield* written(read, "started")
      yield* bus.cancel(team, run_id)
      expect(yield* end).toMatchObject({
        _tag: "Failed",
        message: "The run was cancelled.",
        report: { usage: usages.claude, session_id: expect.stringMatching(/^[\w-]{20,}$/) }
      })
      expect(JSON.parse(read("input"))).toMatchObject({ type: "control_request", request: { subtype: "interrupt" } })
    })
  )

  behaviour(
    "takes a command such as /clear from a template, and as text from a caller",
    Effect.gen(function* () {
      const { read, send } = yield* preset("claude", print("claude", "answer"))
      const sent = () => JSON.parse(read("input")).message.content[0].text
      yield* send("/clear", { source: "webhook", template: "{{task}}" })
      expect(sent()).toBe(" /clear")
      yield* send("/review 7", { source: "webhook", template: "/review {{number}}" })
      expect(sent()).toBe("/review 7")
    })
  )

  behaviour(
    "reports the permissions that it did not get",
    Effect.gen(function* () {
      const denials = [{ tool_name: "Bash", tool_use_id: "1", tool_input: {} }]
      const event = { type: "result", is_error: false, result: "I could not.", permission_denials: denials }
      const { send } = yield* preset("claude", `echo '${JSON.stringify(event)}'`)
      expect(yield* send("Do it.")).toMatchObject({ response: "I could not.", report: { denied: ["Bash"] } })
    })
  )

  behaviour(
    "shows the work between texts as paragraphs, and not the texts of subagents",
    Effect.gen(function* () {
      const delta = (text: string, parent_tool_use_id: string | null = null) => ({
        type: "stream_event",
        parent_tool_use_id,
        event: { type: "content_block_delta", delta: { type: "text_delta", text } }
      })
      const tool = { type: "tool_use", name: "Read", input: { file_path: "a.ts" } }
      const events = [
        ...[delta("I will "), delta("look."), { type: "assistant", message: { content: [tool] } }],
        ...[delta("hidden", "toolu_1"), delta("It is "), delta("fine."), { type: "result", result: "It is fine." }]
      ]
      const lines = events.map((event) => JSON.stringify(event)).join("\n")
      const { send, shown } = yield* preset("claude", `cat <<'END'\n${lines}\nEND`)
      yield* send("Do it.")
      expect(shown.map(({ text = "" }) => text).join("")).toBe("I will look.\n\nIt is fine.")
      expect(shown.flatMap(({ activity = [] }) => activity)).toEqual(["Read: a.ts"])
    })
  )
})
