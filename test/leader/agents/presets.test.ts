/** The presets on what the real programs printed: `npm run test:agents -- --write` records it. */
import { chmodSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either, Option } from "effect"
import type { PromptThread } from "../../../src/bus/Bus.ts"
import { team } from "../../../src/bus/contract.ts"
import type { AgentName } from "../../../src/domain/AgentName.ts"
import { presets } from "../../../src/leader/index.ts"
import { repeatUntil } from "../../support/Until.ts"
import { behaviour, folderInPath, isRunning, leading, onBusOfItsOwn, threadId, written } from "./Leading.ts"

const recorded = (name: AgentName, what: string) =>
  fileURLToPath(new URL(`../../agents/recorded/${name}/${what}.jsonl`, import.meta.url))

/** A shell script in place of the preset's program. It finds its arguments in `args`, and its input in `input`. */
const preset = (name: AgentName, script: string, options = presets[name].example.split(" ").slice(1)) =>
  Effect.gen(function* () {
    const folder = yield* folderInPath
    const command = join(folder, presets[name].title === "Claude Code" ? "claude" : name)
    writeFileSync(command, `#!/bin/sh\ncd '${folder}'\nprintf '%s\\n' "$@" >> args\n${script}\n`)
    chmodSync(command, 0o755)
    const led = yield* leading(Either.getOrThrow(presets[name].agent(options)))
    return { ...led, read: (file: string) => readFileSync(join(folder, file), "utf8") }
  })

/** Claude Code's input stays open, so that one line is a prompt. */
const print = (name: ProgramName, what: string) =>
  `${name === "claude" ? "head -n 1" : "cat"} > input; cat '${recorded(name, what)}'`

const programNames = ["claude", "codex", "gemini", "opencode"] as const
type ProgramName = (typeof programNames)[number]

const usages: { readonly [Name in ProgramName]: object } = {
  // With what it used to find a title.
  claude: {
    ...{ input_tokens: 2800, output_tokens: 68, cached_input_tokens: 400 },
    ...{ cost_usd: 0.0139, model: "claude-opus-4-8[1m]" }
  },
  codex: { input_tokens: 1200, output_tokens: 34, cached_input_tokens: 200 },
  gemini: { input_tokens: 1200, output_tokens: 34, cached_input_tokens: 200, model: "gemini-3.1-pro-preview" },
  opencode: { input_tokens: 1200, output_tokens: 34, cached_input_tokens: 200, cost_usd: 0.00351 }
}

/** A session of each, and what the program prints to its standard error if it does not have one. */
const sessions: { readonly [Name in ProgramName]: readonly [id: string, lost: string] } = {
  claude: ["3c85dd9c-1122-4ad1-b28d-77848b698410", "No conversation found with session ID: 3c85dd9c"],
  codex: ["01a20bdb-7c51-7c72-b461-7a542e6b6b64", "Error: thread/resume: no rollout found for thread id 01a20bdb"],
  gemini: ["1216e440-27e1-4749-b29a-cf2293c92b05", "Error resuming session: Invalid session identifier"],
  opencode: ["ses_df4240244ffefy4vxGok6Zk2D4", "\u001b[91mError: \u001b[0mSession not found"]
}

describe.each(programNames)("the preset %s", (name) => {
  behaviour(
    "takes the last message as the answer, with tokens, cost and session, and keeps the prompt out of the arguments",
    Effect.gen(function* () {
      const { read, send } = yield* preset(name, print(name, "answer"))
      const reply = yield* send("--dangerous $(prompt)")
      expect(reply).toMatchObject({
        _tag: "Answered",
        response: "I did what you asked.",
        report: { usage: usages[name] }
      })
      expect(reply).toHaveProperty("report.session_id", expect.stringMatching(/^[\w-]{20,}$/))
      expect(read("input")).toContain("--dangerous $(prompt)")
      expect(read("args").split("\n")).toEqual(expect.arrayContaining(presets[name].example.split(" ").slice(1)))
      expect(read("args")).not.toContain("(prompt)")
    })
  )

  behaviour(
    "shows the text and the use of a tool",
    Effect.gen(function* () {
      const { send, shown } = yield* preset(name, print(name, "tool"))
      yield* send("Do it.")
      expect(shown.map(({ text = "" }) => text).join("")).toBe("I did what you asked.")
      const activity = name === "codex" ? "echo done > done.txt" : "Writing the file"
      expect(shown.flatMap((progress) => progress.activity ?? [])).toEqual([activity])
    })
  )

  behaviour(
    "fails with the program's own message, whatever its exit code",
    Effect.gen(function* () {
      const { send } = yield* preset(name, print(name, "failure"))
      const reply = yield* send("Do it.")
      expect(reply).toMatchObject({ _tag: "Failed", message: expect.stringContaining("the model refused") })
      expect(reply).toHaveProperty("report.session_id")
    })
  )

  behaviour(
    "fails with the end of the standard error when the program prints no event",
    Effect.gen(function* () {
      const { send } = yield* preset(name, "echo 'not signed in' >&2; exit 1")
      expect(yield* send("Do it.")).toMatchObject({ _tag: "Failed", message: "exit code 1: not signed in" })
    })
  )

  behaviour(
    "fails with its last message when the program ends without a result",
    Effect.gen(function* () {
      const { send } = yield* preset(name, `${print(name, "answer")} | sed '$d'`)
      expect(yield* send("Do it.")).toMatchObject({
        _tag: "Failed",
        message: `${presets[name].title} ended without a result (status 0)\n\nIts last message: I did what you asked.`
      })
      const silent = yield* preset(name, "exit 0").pipe(onBusOfItsOwn)
      expect(yield* silent.send("Do it.")).toHaveProperty(
        "message",
        `${presets[name].title} ended without a result (status 0)`
      )
    })
  )

  behaviour(
    "continues the thread's session",
    Effect.gen(function* () {
      const { read, send } = yield* preset(name, print(name, "answer"))
      const [session_id] = sessions[name]
      expect(yield* send("Go on.", { thread: { id: threadId, session_id } })).not.toHaveProperty("report.session_lost")
      expect(read("args").split("\n")).toContain(session_id)
    })
  )

  behaviour(
    "begins another session when the program has lost the thread's, and says so",
    Effect.gen(function* () {
      const [session_id, lost] = sessions[name]
      const script = `case "$*" in *${session_id}*) printf '%s' '${lost}' >&2; exit 1;; esac\n${print(name, "answer")}`
      const { send } = yield* preset(name, script)
      const reply = yield* send("Go on.", { thread: { id: threadId, session_id } })
      expect(reply).toMatchObject({ _tag: "Answered", report: { session_lost: true, usage: usages[name] } })
    })
  )

  behaviour(
    "does not give the program a session id that it could take for something else",
    Effect.gen(function* () {
      const { read, send } = yield* preset(name, print(name, "answer"))
      for (const session_id of ["--dangerously-skip-permissions", "latest", "$(id)", "a b", ""]) {
        const reply = yield* send("Go on.", { thread: { id: threadId, session_id } })
        expect(reply).toMatchObject({ _tag: "Answered", report: { session_lost: true } })
        if (session_id !== "") expect(read("args").split("\n")).not.toContain(session_id)
      }
    })
  )
})

// All at once: each waits five seconds for the program's end.
behaviour(
  "every preset's program is ended if it hangs after its result, and its answer counts",
  Effect.forEach(
    programNames,
    (name) =>
      Effect.gen(function* () {
        const { send } = yield* preset(name, `${print(name, "answer")}; sleep 600`)
        expect(yield* send("Do it.")).toMatchObject({ _tag: "Answered", response: "I did what you asked." })
      }).pipe(onBusOfItsOwn),
    { concurrency: "unbounded" }
  )
)

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
      )
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
      const { bus, end, publish, read } = yield* preset("claude", script)
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

describe("Codex", () => {
  behaviour(
    "gets SIGINT when the run is cancelled, and SIGKILL if it goes on",
    Effect.gen(function* () {
      const script = `trap 'echo INT > signal' INT; echo $$ > pid; echo '{"type":"thread.started","thread_id":"${sessions.codex[0]}"}'
        echo started > started; while :; do sleep 0.05; done`
      const { bus, end, publish, read } = yield* preset("codex", script)
      const { run_id } = yield* publish({ prompt: "Do it." })
      yield* written(read, "started")
      yield* bus.cancel(team, run_id)
      expect(yield* end).toMatchObject({ _tag: "Failed", report: { session_id: sessions.codex[0] } })
      expect(read("signal")).toBe("INT\n")
      const isAlive = Effect.sync(() => isRunning(Number(read("pid"))))
      yield* repeatUntil(isAlive, (alive) => !alive)
    })
  )

  behaviour(
    "reports what each run of a session used, although the program counts the whole session",
    Effect.gen(function* () {
      const [session_id] = sessions.codex
      const used = (tokens: number) =>
        [
          { type: "thread.started", thread_id: session_id },
          { type: "item.completed", item: { type: "agent_message", text: "yes" } },
          { type: "turn.completed", usage: { input_tokens: tokens, output_tokens: tokens } }
        ]
          .map((event) => JSON.stringify(event))
          .join("\n")
      const script = `n=$(cat count || echo 0); echo $((n + 1)) > count; case $n in 0) cat <<'END'\n${used(100)}\nEND\n;; *) cat <<'END'\n${used(130)}\nEND\n;; esac`
      const { send } = yield* preset("codex", script)
      const thread = { id: threadId, session_id }
      expect(yield* send("Begin.")).toHaveProperty("report.usage", { input_tokens: 100, output_tokens: 100 })
      expect(yield* send("Go on.", { thread })).toHaveProperty("report.usage", { input_tokens: 30, output_tokens: 30 })
    })
  )

  behaviour(
    "does not know what a run used in a session from before the leader's start",
    Effect.gen(function* () {
      const { send } = yield* preset("codex", print("codex", "answer"))
      const reply = yield* send("Go on.", { thread: { id: threadId, session_id: sessions.codex[0] } })
      expect(reply).toMatchObject({ _tag: "Answered" })
      expect(reply).not.toHaveProperty("report.usage")
    })
  )
})

describe("OpenCode", () => {
  behaviour(
    "that goes on after a step that looked like the last one is not ended",
    Effect.gen(function* () {
      const text = (text: string) => JSON.stringify({ type: "text", part: { text } })
      const stop = JSON.stringify({ type: "step_finish", part: { reason: "stop" } })
      const { send } = yield* preset(
        "opencode",
        `echo '${text("first")}'; echo '${stop}'; echo '{"type":"step_start"}'; sleep 5.5; echo '${text("last")}'; echo '${stop}'`
      )
      expect(yield* send("Do it.")).toMatchObject({ _tag: "Answered", response: "last" })
    })
  )
})

describe("Gemini CLI", () => {
  behaviour(
    "that uses a tool is answered for by what it says last, and reports what its policy denied",
    Effect.gen(function* () {
      const events = [
        { type: "message", role: "assistant", content: "I will look. ", delta: true },
        { type: "tool_use", tool_name: "run_shell_command" },
        {
          type: "tool_result",
          tool_id: "run_shell_command__run_shell_command_1_0",
          error: { type: "policy_violation" }
        },
        { type: "message", role: "assistant", content: "It is ", delta: true },
        { type: "message", role: "assistant", content: "fine.", delta: true },
        { type: "result", status: "success", stats: {} }
      ]
      const lines = events.map((event) => JSON.stringify(event)).join("\n")
      const { send } = yield* preset("gemini", `cat <<'END'\n${lines}\nEND`)
      const reply = yield* send("Do it.")
      expect(reply).toMatchObject({ response: "It is fine.", report: { denied: ["run_shell_command"] } })
    })
  )
})

describe("options", () => {
  it.each(["claude", "gemini"] as const)("of %s must say what it may do", (name) => {
    const fault = Option.getOrThrow(Either.getLeft(presets[name].agent(["--model", "m"])))
    expect(fault).toContain("nobody can grant")
    expect(fault).toContain(presets[name].example)
  })
})
