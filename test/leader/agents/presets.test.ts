/** The presets on what the real programs printed: `npm run test:agents -- --write` records it. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Option, Result } from "effect"
import { toSteps } from "../../../src/domain/run/Step.ts"
import { presets } from "../../../src/leader/index.ts"
import { team } from "../../bus/contract/support.ts"
import { repeatUntil } from "../../support/Until.ts"
import { environment } from "./Endpoint.ts"
import { behaviour, folderInPath, isRunning, onBusOfItsOwn, slower, threadId, written } from "./Leading.ts"
import { preset, print, programNames, sessions, usages } from "./Programs.ts"

const history = [{ prompt: "Remember: the word is heron.", response: "Noted." }]

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
      const [step, ...others] = toSteps(shown.flatMap(({ steps = [] }) => steps))
      expect(step).toMatchObject({
        kind: "tool",
        title: activity,
        tool: { claude: "Bash", codex: "command_execution", gemini: "run_shell_command", opencode: "bash" }[name],
        detail: "echo done > done.txt",
        status: "ok",
        result_bytes: { claude: 31, codex: 0, gemini: 0, opencode: 11 }[name],
        duration_ms: expect.any(Number)
      })
      expect(others).toEqual([])
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
      const reply = yield* send("Go on.", { thread: { id: threadId, session_id, history } })
      expect(reply).not.toHaveProperty("report.session_lost")
      expect(reply).not.toHaveProperty("report.history_given")
      expect(read("args").split("\n")).toContain(session_id)
      expect(read("input")).not.toContain("heron")
    })
  )

  behaviour(
    "begins another session when the program has lost the thread's, with the earlier messages, and says so",
    Effect.gen(function* () {
      const [session_id, lost] = sessions[name]
      const script = `case "$*" in *${session_id}*) printf '%s' '${lost}' >&2; exit 1;; esac\n${print(name, "answer")}`
      const { read, send } = yield* preset(name, script)
      const reply = yield* send("Go on.", { thread: { id: threadId, session_id } })
      expect(reply).toMatchObject({ _tag: "Answered", report: { session_lost: true, usage: usages[name] } })
      expect(reply).not.toHaveProperty("report.history_given")
      expect(yield* send("Go on.", { thread: { id: threadId, session_id, history } })).toMatchObject({
        report: { session_lost: true, history_given: true }
      })
      expect(read("input")).toMatch(/the word is heron.*Noted\..*Go on\./s)
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

describe("Codex", () => {
  behaviour(
    "gets SIGINT when the run is cancelled, and SIGKILL if it goes on",
    Effect.gen(function* () {
      const script = `trap 'echo INT > signal' INT; echo $$ > pid; echo '{"type":"thread.started","thread_id":"${sessions.codex[0]}"}'
        echo started > started; while :; do sleep 0.05; done`
      const { bus, end, publish, read } = yield* preset("codex", script).pipe(slower(6))
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
    "reports what a run that is stopped has used, from the session's file, so that it is not charged to the next run",
    Effect.gen(function* () {
      const [session_id] = sessions.codex
      const home = yield* folderInPath
      yield* environment("CODEX_HOME", home)
      const began = new Date(Number.parseInt(session_id.replaceAll("-", "").slice(0, 12), 16))
      const day = [began.getMonth() + 1, began.getDate()].map((part) => `${part}`.padStart(2, "0")).join("/")
      const folder = join(home, "sessions", `${began.getFullYear()}`, day)
      mkdirSync(folder, { recursive: true })
      const counted = (tokens: number) => {
        const total_token_usage = { input_tokens: tokens, cached_input_tokens: 0, output_tokens: tokens / 10 }
        return JSON.stringify({ type: "event_msg", payload: { type: "token_count", info: { total_token_usage } } })
      }
      writeFileSync(
        join(folder, `rollout-${session_id}.jsonl`),
        `${counted(1_100)}\n${counted(1_400)}\n{"type":"end"}\n`
      )
      const events = [
        { type: "thread.started", thread_id: session_id },
        { type: "item.started", item: { type: "command_execution", command: "true" } }
      ]
      const print = events.map((event) => `echo '${JSON.stringify(event)}'`).join("\n")
      const { bus, end, publish, read, send } = yield* preset(
        "codex",
        `${print}\necho yes > "started-$WEBHOOK_RUN_ID"; sleep 600`
      )
      const session_usage = { input_tokens: 1_000, cached_input_tokens: 0, output_tokens: 100 }
      const thread = { id: threadId, session_id, session_usage }
      const used = {
        usage: { input_tokens: 400, cached_input_tokens: 0, output_tokens: 40 },
        session_usage: { input_tokens: 1_400, cached_input_tokens: 0, output_tokens: 140 }
      }
      const stopped = yield* send("Do it.", { thread, agent: { max_turns: 1 } })
      expect(stopped).toMatchObject({ _tag: "Failed", code: "turns_exceeded", report: used })
      const { run_id } = yield* publish({ prompt: "Do it.", thread })
      yield* written(read, `started-${run_id}`)
      yield* bus.cancel(team, run_id)
      expect(yield* end).toMatchObject({ _tag: "Failed", report: used })
    })
  )

  behaviour(
    "that begins another turn by itself works until that has ended, however long it is silent",
    Effect.gen(function* () {
      const said = (text: string) => JSON.stringify({ type: "item.completed", item: { type: "agent_message", text } })
      const [begun, ended] = ['{"type":"turn.started"}', '{"type":"turn.completed","usage":{}}']
      const first = [begun, said("Half of it."), ended, begun].map((line) => `'${line}'`).join(" ")
      const { send } = yield* preset(
        "codex",
        `printf '%s\\n' ${first}; sleep 6; printf '%s\\n' '${said("All of it.")}' '${ended}'`
      )
      expect(yield* send("Do it.")).toMatchObject({ _tag: "Answered", response: "All of it." })
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
        `printf '%s\\n' '${text("first")}' '${stop}' '{"type":"step_start"}'; sleep 5.5; echo '${text("last")}'; echo '${stop}'`
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
    const fault = Option.getOrThrow(Result.getFailure(presets[name].agent(["--model", "m"])))
    expect(fault).toContain("nobody can grant")
    expect(fault).toContain(presets[name].example)
  })
})

describe("a model that refuses requests", () => {
  behaviour(
    "is shown with each attempt of Claude Code and Codex",
    Effect.gen(function* () {
      for (const [name, count, reason] of [
        ["claude", "10", "rate_limit"],
        ["codex", "5", "(exceeded retry limit, last status: 429 Too Many Requests)"]
      ] as const) {
        const { send, shown } = yield* preset(name, print(name, "retry")).pipe(onBusOfItsOwn)
        yield* send("Do it.")
        const retries = shown.flatMap(({ steps = [] }) => steps)
        expect(retries[3]).toMatchObject({ kind: "retry", title: `Retrying: 429 (4 of ${count})`, detail: reason })
        expect(shown.findLast(({ activity }) => activity)!.activity).toBe(retries.at(-1)!.title)
      }
    })
  )
})
