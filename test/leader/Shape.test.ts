/** Answers with a shape: what leaders tell agents, and the second turn. */
import { describe, expect } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { AgentReport } from "../../src/domain/run/AgentReport.ts"
import type { Task } from "../../src/leader/agents/Agent.ts"
import { type Agent, Command, LeaderError, type Progress, presets } from "../../src/leader/index.ts"
import * as Shape from "../../src/leader/Shape.ts"
import { makePrompt } from "../bus/contract/support.ts"
import { endpoint, refuse, sendEvents } from "./agents/Endpoint.ts"
import { behaviour, folderInPath, leading, onBusOfItsOwn, threadId } from "./agents/Leading.ts"
import { preset } from "./agents/Programs.ts"

const answer_schema = {
  type: "object",
  properties: { verdict: { type: "string" } },
  required: ["verdict"],
  additionalProperties: false
}
const agent = { answer_schema }
const inWords = `\n\nAnswer with JSON that matches this schema and nothing else:\n${JSON.stringify(answer_schema)}`
const good = '{"verdict":"approve"}'

/** An agent that gives these answers, one in each turn, and what it was asked. */
const answering = (
  turns: ReadonlyArray<(task: Task) => { readonly response: string; readonly report?: AgentReport } | LeaderError>,
  more: Partial<Agent> = {}
) => {
  const asked: Array<Task["prompt"]> = []
  const led: Agent = {
    title: "an agent",
    answer: (task) =>
      Effect.suspend(() => {
        const answer = turns[asked.push(task.prompt) - 1]!(task)
        return answer instanceof LeaderError ? answer : Effect.succeed(answer)
      }),
    ...more
  }
  return Effect.map(leading(led), (leading) => ({ ...leading, asked }))
}

const say =
  (response: string, report: AgentReport = {}) =>
  () => ({ response, report })

describe("an agent whose answer has a schema", () => {
  behaviour(
    "is told the schema at the end of the prompt, and has one turn if its answer matches",
    Effect.gen(function* () {
      const { asked, send } = yield* answering([say(`\`\`\`json\n${good}\n\`\`\``)])
      expect(yield* send("Review it.", { agent })).toMatchObject({
        _tag: "Answered",
        response: `\`\`\`json\n${good}\n\`\`\``
      })
      expect(asked.map(({ prompt }) => prompt)).toEqual([`Review it.${inWords}`])
    })
  )

  behaviour(
    "gets a second turn in its session, with the faults, and both turns' usage counts",
    Effect.gen(function* () {
      const session_usage = { input_tokens: 10 }
      const links = [{ title: "a", url: "https://example.com/a" }]
      const { asked, send } = yield* answering([
        say('{"verdict":1}', {
          ...{ session_id: "s-1", session_usage, links },
          usage: { input_tokens: 10, output_tokens: 2, cost_usd: 0.25, model: "m-1" }
        }),
        (task) => {
          task.report({ usage: { input_tokens: 1 } })
          return {
            response: good,
            report: { session_id: "s-1", usage: { input_tokens: 5, output_tokens: 3, cost_usd: 0.5 } }
          }
        }
      ])
      expect(yield* send("Review it.", { agent, template: "/{{x}}", values: { x: "y" } })).toMatchObject({
        _tag: "Answered",
        response: good,
        report: {
          ...{ session_id: "s-1", links },
          usage: { input_tokens: 15, output_tokens: 5, cost_usd: 0.75, model: "m-1" }
        }
      })
      const [, second] = asked
      expect(second).toMatchObject({ thread: { session_id: "s-1", session_usage } })
      expect(second!.prompt).toContain("- /verdict: ")
      expect(second!.prompt).not.toContain("Review it.")
      expect(second).not.toHaveProperty("template")
    })
  )

  behaviour(
    "shows that it corrects its answer",
    Effect.gen(function* () {
      const shown: Array<Progress> = []
      const nobody: Agent = { title: "an agent", answer: () => Effect.succeed("no") }
      const prompt = yield* makePrompt({ prompt: "Review it.", agent })
      yield* Shape.answer(nobody, { prompt, place: {}, progress: (one) => shown.push(one), report: () => {} })
      expect(shown).toEqual([{ activity: "Correcting the answer" }])
    })
  )

  behaviour(
    "gets the prompt and its answer again if it has no sessions, and what it says then is sent",
    Effect.gen(function* () {
      const { asked, send } = yield* answering([say("Looks good."), say("Really.")])
      const history = [{ prompt: "Hello.", response: "Hi." }]
      const thread = { id: threadId, history }
      expect(yield* send("Review it.", { agent, thread })).toMatchObject({ _tag: "Answered", response: "Really." })
      expect(asked[1]!.prompt).toContain("- the answer: is not JSON")
      expect(asked[1]!.thread).toEqual({
        id: threadId,
        history: [...history, { prompt: `Review it.${inWords}`, response: "Looks good." }]
      })
    })
  )

  behaviour(
    "keeps its first answer if the second turn fails",
    Effect.gen(function* () {
      const { send } = yield* answering([
        say("one", { session_id: "s-1", usage: { output_tokens: 2 } }),
        () => new LeaderError({ message: "no", report: { usage: { output_tokens: 3 } } })
      ])
      expect(yield* send("Review it.", { agent })).toMatchObject({
        _tag: "Answered",
        response: "one",
        report: { session_id: "s-1", usage: { output_tokens: 5 } }
      })
    })
  )

  behaviour(
    "may spend in its second turn what its first one left of the run's limit, if that is anything",
    Effect.gen(function* () {
      const spent = say("no", { usage: { cost_usd: 0.25 } })
      for (const [max_cost, turns] of [
        [1, [1, 0.75]],
        [0.25, [0.25]]
      ] as const) {
        const { asked, send } = yield* answering([spent, say(good)]).pipe(onBusOfItsOwn)
        yield* send("Review it.", { agent: { ...agent, max_cost } })
        expect(asked.map((prompt) => prompt.agent?.max_cost)).toEqual(turns)
      }
    })
  )

  behaviour(
    "has two turns at most for its correction",
    Effect.gen(function* () {
      for (const [max_turns, second] of [
        [20, 2],
        [1, 1]
      ] as const) {
        const { asked, send } = yield* answering([say("no"), say(good)]).pipe(onBusOfItsOwn)
        yield* send("Review it.", { agent: { ...agent, max_turns } })
        expect(asked.map((prompt) => prompt.agent?.max_turns)).toEqual([max_turns, second])
      }
    })
  )

  behaviour(
    "may ask a question, and gets no second turn for an answer that takes long to check",
    Effect.gen(function* () {
      const asking = yield* onBusOfItsOwn(
        Effect.flatMap(answering([say("Which branch?", { asks: ["main"] })]), ({ send }) => send("Review.", { agent }))
      )
      expect(asking).toMatchObject({ _tag: "Answered", response: "Which branch?" })
      const { asked, send } = yield* answering([say(JSON.stringify(`${"a".repeat(60)}!`))])
      yield* send("Review it.", { agent: { answer_schema: { type: "string", pattern: "^(a+)+$" } } })
      expect(asked).toHaveLength(1)
    })
  )

  behaviour(
    "is a program that prints its answer",
    Effect.gen(function* () {
      const script = `tr '\\n' ' ' > input; if grep -q 'Review it.*<answer> no </answer>.*is not JSON' input; then echo '${good}'; else echo no; fi`
      const { send } = yield* leading(Command.agent({ command: "sh", args: ["-c", script] }), {
        folder: yield* folderInPath
      })
      const reply = yield* send("Review it.", { agent })
      expect(reply).toMatchObject({ _tag: "Answered", response: good })
      expect(reply).not.toHaveProperty("report.history_given")
    })
  )
})

describe("a schema of the answer", () => {
  const result = JSON.stringify({ type: "result", result: "Done.", structured_output: { verdict: "approve" } })

  behaviour(
    "is Claude Code's option, whose structured output is the answer",
    Effect.gen(function* () {
      const { read, send } = yield* preset("claude", `head -n 1 > input; printf '%s\\n' '${result}'`)
      const $schema = "https://json-schema.org/draft/2020-12/schema"
      const reply = yield* send("Review it.", { agent: { answer_schema: { $schema, ...answer_schema } } })
      expect(reply).toMatchObject({ _tag: "Answered", response: good })
      expect(read("args")).toContain(`--json-schema\n${JSON.stringify(answer_schema)}\n`)
      expect(read("input")).not.toContain("matches this schema")
    })
  )

  behaviour(
    "is named in the prompt if Claude Code would refuse it",
    Effect.gen(function* () {
      const { read, send } = yield* preset("claude", `head -n 1 > input; printf '%s\\n' '${result}'`)
      yield* send("Review it.", { agent: { answer_schema: { ...answer_schema, unevaluatedProperties: false } } })
      expect(read("args")).not.toContain("--json-schema")
      expect(read("input")).toContain("matches this schema")
    })
  )

  behaviour(
    "is a file for Codex, if all properties are required and no others allowed; it is gone afterwards",
    Effect.gen(function* () {
      const lines = [
        { type: "item.completed", item: { type: "agent_message", text: good } },
        { type: "turn.completed", usage: {} }
      ].map((event) => `'${JSON.stringify(event)}'`)
      const script = `for each; do case $each in *webhook-schema-*) cp "$each" schema; echo "$each" > file;; esac; done
cat > input; printf '%s\\n' ${lines.join(" ")}`
      const { read, send } = yield* preset("codex", script)
      expect(yield* send("Review it.", { agent })).toMatchObject({ _tag: "Answered", response: good })
      expect(read("schema")).toBe(JSON.stringify(answer_schema))
      expect(read("args")).toContain(`--output-schema\n${read("file")}`)
      expect(() => read(read("file").trim())).toThrow("ENOENT")
      yield* send("Review it.", { agent: { answer_schema: { ...answer_schema, required: [] } } })
      expect(read("args").match(/--output-schema/g)).toHaveLength(1)
      expect(read("input")).toContain("matches this schema")
    })
  )

  behaviour(
    "is named in the prompt for Codex if its model refuses it",
    Effect.gen(function* () {
      const message = JSON.stringify({
        error: { message: "Invalid schema for response_format 'codex_output_schema'", code: "invalid_json_schema" }
      })
      const failed = JSON.stringify({ type: "turn.failed", error: { message } })
      const said = JSON.stringify({ type: "item.completed", item: { type: "agent_message", text: good } })
      const script = `cat > input; case "$*" in *--output-schema*) echo '${failed}'; exit 1;; esac
        echo '${said}'; echo '{"type":"turn.completed","usage":{}}'`
      const { read, send } = yield* preset("codex", script)
      expect(yield* send("Review it.", { agent })).toMatchObject({ _tag: "Answered", response: good })
      expect(read("input")).toBe(`Review it.${inWords}`)
    })
  )

  behaviour(
    "is not asked for again when Claude Code gave up",
    Effect.gen(function* () {
      const gaveUp = (fields: object) =>
        JSON.stringify({ type: "result", subtype: "error_max_structured_output_retries", is_error: true, ...fields })
      const use = { type: "tool_use", name: "StructuredOutput", input: { verdict: 1 } }
      const content = [{ type: "text", text: "I approve." }]
      const assistant = (parts: ReadonlyArray<object>) =>
        JSON.stringify({ type: "assistant", message: { content: parts } })
      for (const [lines, response] of [
        [[assistant(content), gaveUp({ errors: ["too often"] })], "I approve."],
        [[assistant(content), assistant([use]), gaveUp({})], '{"verdict":1}'],
        [[assistant(content), gaveUp({ result: "It is approved." })], "It is approved."]
      ] as const) {
        const script = `read -r prompt; echo asked >> asked; cat <<'END'\n${lines.join("\n")}\nEND`
        const { read, send } = yield* preset("claude", script).pipe(onBusOfItsOwn)
        const reply = yield* send("Review it.", { agent })
        expect(reply).toMatchObject({ _tag: "Failed", code: "answer_invalid", response })
        expect(read("asked")).toBe("asked\n")
      }
    })
  )

  const openai = (url: string, api: string) =>
    leading(Result.getOrThrow(presets.openai.agent(["--model", "m-1", "--base-url", url, "--api", api])))

  behaviour(
    "is the format of an OpenAI-compatible endpoint",
    Effect.gen(function* () {
      const { received, url } = yield* endpoint((response, { path }) => {
        if (path.endsWith("/responses")) {
          sendEvents(
            response,
            { type: "response.output_text.delta", delta: good },
            { type: "response.completed", response: { id: "r-1" } }
          )
        } else sendEvents(response, { choices: [{ delta: { content: good }, finish_reason: "stop" }] })
        response.end()
      })
      for (const api of ["responses", "chat"]) {
        yield* onBusOfItsOwn(Effect.flatMap(openai(url, api), ({ send }) => send("Review it.", { agent })))
      }
      const format = { name: "answer", schema: answer_schema, strict: true }
      expect(received[0]!.body).toMatchObject({
        input: "Review it.",
        text: { format: { type: "json_schema", ...format } }
      })
      expect(received[1]!.body).toMatchObject({
        messages: [{ content: "Review it." }],
        response_format: { type: "json_schema", json_schema: format }
      })
    })
  )

  behaviour(
    "is named in the prompt for an endpoint that knows no schemas",
    Effect.gen(function* () {
      const { received, url } = yield* endpoint((response, { body }) => {
        if ("response_format" in body) {
          return refuse(response, 400, { message: "This response_format type is unavailable now" })
        }
        sendEvents(response, { choices: [{ delta: { content: good }, finish_reason: "stop" }] })
        response.end()
      })
      const { send } = yield* openai(url, "chat")
      expect(yield* send("Review it.", { agent })).toMatchObject({ _tag: "Answered", response: good })
      expect(received[1]!.body).toMatchObject({ messages: [{ content: `Review it.${inWords}` }] })
      expect(received).toHaveLength(2)
    })
  )
})
