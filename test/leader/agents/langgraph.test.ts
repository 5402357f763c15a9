/** The preset for LangGraph servers, with a small one on this machine. */
import type { ServerResponse } from "node:http"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Option, Result } from "effect"
import { toSteps } from "../../../src/domain/run/Step.ts"
import { presets } from "../../../src/leader/index.ts"
import { team } from "../../bus/contract/support.ts"
import { repeatUntil } from "../../support/Until.ts"
import { endpoint, environment, refuse } from "./Endpoint.ts"
import { behaviour, impatient, leading, onBusOfItsOwn, slower, threadId } from "./Leading.ts"

const [thread, run] = ["9f0c6c0e-8a5b-4c53-9a2e-0a1f4f1f4b11", "1f0c6c0e-8a5b-6c53-9a2e-0a1f4f1f4b12"]

const sendEvents = (response: ServerResponse, ...events: ReadonlyArray<readonly [string, unknown]>) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  for (const [type, data] of events) response.write(`event: ${type}\r\ndata: ${JSON.stringify(data)}\r\n\r\n`)
}

const metadata = ["metadata", { run_id: run, attempt: 1 }] as const
const piece = (fields: object) => ["messages", [{ type: "AIMessageChunk", id: "run-1", ...fields }, {}]] as const
const state = (...messages: ReadonlyArray<object>) => ["values", { messages }] as const
const human = { type: "human", content: "Do it." }

/** A server that answers the runs of its threads with these events, and whose thread waits for replies to the interrupts. */
const serverWaiting = (interrupts: ReadonlyArray<object>, ...events: ReadonlyArray<readonly [string, unknown]>) =>
  endpoint((response, { path }) => {
    if (path === "/v1/threads") response.end(JSON.stringify({ thread_id: thread }))
    else if (path === `/v1/threads/${thread}/state`) response.end(JSON.stringify({ tasks: [{ interrupts }] }))
    else if (path !== `/v1/threads/${thread}/runs/stream`) refuse(response, 404, { message: "Thread not found" })
    else {
      sendEvents(response, metadata, ...events)
      response.end()
    }
  })

const server = (...events: ReadonlyArray<readonly [string, unknown]>) => serverWaiting([], ...events)

const langgraph = (url: string) =>
  leading(Result.getOrThrow(presets.langgraph.agent(["--url", url, "--assistant", "agent"])))

const inSession = (session_id: string) => ({ thread: { id: threadId, session_id } })

describe("a LangGraph server", () => {
  behaviour(
    "answers with its last message, tokens, model and thread, and shows its text and its tools",
    Effect.gen(function* () {
      yield* environment("LANGGRAPH_API_KEY", "lsv2-test")
      const usage_metadata = { input_tokens: 600, output_tokens: 17, input_token_details: { cache_read: 100 } }
      const response_metadata = { model_name: "m-1" }
      const { received, url } = yield* server(
        state(human),
        piece({ content: "I look." }),
        piece({ content: "", tool_call_chunks: [{ id: "c", name: "search", args: "{}" }], usage_metadata }),
        ["messages", [{ type: "tool", tool_call_id: "c", content: "found" }, {}]],
        piece({ content: [{ type: "text", text: "It is " }] }),
        piece({ content: "done.", usage_metadata, response_metadata }),
        state(human, { type: "ai", content: "It is done." })
      )
      const { send, shown } = yield* langgraph(url)
      expect(yield* send("--assistant $(prompt)")).toMatchObject({
        _tag: "Answered",
        response: "It is done.",
        report: {
          usage: { input_tokens: 1200, cached_input_tokens: 200, output_tokens: 34, model: "m-1" },
          session_id: thread
        }
      })
      expect(shown.map(({ steps: _, ...rest }) => rest)).toEqual([
        { text: "I look." },
        { activity: "search" },
        {},
        { text: "\n\nIt is " },
        { text: "done." }
      ])
      expect(toSteps(shown.flatMap(({ steps = [] }) => steps))).toMatchObject([
        { kind: "text", title: "I look." },
        { kind: "tool", title: "search", status: "ok", result_bytes: 5 }
      ])
      expect(received.map(({ headers }) => headers["x-api-key"])).toEqual(["lsv2-test", "lsv2-test"])
      expect(received[1]!.body).toMatchObject({
        assistant_id: "agent",
        input: { messages: [{ role: "user", content: "--assistant $(prompt)" }] }
      })
    })
  )

  behaviour(
    "continues its thread, and begins another one if that is lost",
    Effect.gen(function* () {
      const { received, url } = yield* server(state(human, { type: "ai", content: "yes" }))
      const { send } = yield* langgraph(url)
      const continued = yield* send("Go on.", inSession(thread))
      expect(continued).toMatchObject({ response: "yes", report: { session_id: thread } })
      expect(continued).not.toHaveProperty("report.session_lost")
      for (const lost of [run, "../assistants"]) {
        expect(yield* send("Go on.", inSession(lost))).toMatchObject({
          response: "yes",
          report: { session_id: thread, session_lost: true }
        })
      }
      const begun = ["/v1/threads", `/v1/threads/${thread}/runs/stream`]
      expect(received.map(({ path }) => path)).toEqual([
        `/v1/threads/${thread}/state`,
        `/v1/threads/${thread}/runs/stream`,
        `/v1/threads/${run}/state`,
        ...begun,
        ...begun
      ])
    })
  )

  behaviour(
    "is asked to cancel the run that is cancelled",
    Effect.gen(function* () {
      const [hanging, cancelled] = [yield* Deferred.make<void>(), yield* Deferred.make<string>()]
      const { url } = yield* endpoint((response, { path }) => {
        if (path === "/v1/threads") response.end(JSON.stringify({ thread_id: thread }))
        else if (path.includes("/cancel")) {
          Deferred.doneUnsafe(cancelled, Effect.succeed(path))
          response.end("{}")
        } else {
          sendEvents(response, metadata, piece({ content: "I look." }))
          Deferred.doneUnsafe(hanging, Effect.void)
        }
      })
      const { bus, end, publish, shown } = yield* langgraph(url).pipe(slower(20))
      const { run_id } = yield* publish({ prompt: "Hello." })
      yield* Deferred.await(hanging)
      yield* repeatUntil(Effect.void, () => shown.length > 0)
      yield* bus.cancel(team, run_id)
      expect(yield* end).toMatchObject({
        _tag: "Failed",
        message: "The run was cancelled.",
        report: { session_id: thread }
      })
      expect(yield* Deferred.await(cancelled)).toBe(`/v1/threads/${thread}/runs/${run}/cancel?wait=false`)
    })
  )

  behaviour(
    "that is too busy is asked again, unless it may have begun the run",
    Effect.gen(function* () {
      for (const [status, requests, answer] of [
        [429, 4, { _tag: "Answered", response: "yes" }],
        [503, 4, { _tag: "Answered", response: "yes" }],
        [500, 2, { _tag: "Failed", message: "HTTP 500: later" }]
      ] as const) {
        let refusals = 0
        const { received, url } = yield* endpoint((response, { path }) => {
          // Each path refuses its first request; one that only creates a thread, only if it is busy.
          const isFirst = received.filter((one) => one.path === path).length === 1
          if (isFirst && (status !== 500 || path.endsWith("/stream"))) {
            refusals++
            return refuse(response, status, { message: "later" })
          }
          if (path === "/v1/threads") return response.end(JSON.stringify({ thread_id: thread }))
          sendEvents(response, metadata, state(human, { type: "ai", content: "yes" }))
          response.end()
        })
        const { send } = yield* langgraph(url).pipe(impatient(), onBusOfItsOwn)
        expect(yield* send("Do it.")).toMatchObject(answer)
        expect(received).toHaveLength(requests)
        expect(refusals).toBe(status === 500 ? 1 : 2)
      }
    })
  )

  behaviour(
    "has failed when its run fails or ends without a message of the model",
    Effect.gen(function* () {
      const failure = (...events: ReadonlyArray<readonly [string, unknown]>) =>
        Effect.scoped(
          Effect.flatMap(server(...events), ({ url }) => Effect.flatMap(langgraph(url), ({ send }) => send("Do it.")))
        )
      const failures = [
        yield* failure(["error", { error: "ValueError", message: "no such node" }]),
        yield* failure(state(human))
      ]
      expect(failures).toMatchObject([
        { _tag: "Failed", message: "no such node" },
        { _tag: "Failed", message: "The graph's last message is not from a model", report: { session_id: thread } }
      ])
    })
  )

  const actions = {
    action_requests: [
      { name: "deploy", args: { to: "production" } },
      { name: "tag", description: "Tag it as v2?" }
    ]
  }
  const questions = [
    ["Deploy?", "Deploy?", []],
    [{ question: "Which branch?", options: ["main", "next"] }, "Which branch?", ["main", "next"]],
    [{ amount: 7 }, '{"amount":7}', []],
    [actions, 'deploy {"to":"production"}\n\nTag it as v2?', ["approve", "reject"]]
  ] as const
  behaviour(
    "asks when its graph interrupts itself, unless the webhook refuses questions",
    Effect.gen(function* () {
      for (const [value, response, asks] of questions) {
        const interrupted = ["values", { messages: [human], __interrupt__: [{ value }] }] as const
        yield* Effect.gen(function* () {
          const { url } = yield* server(state(human, { type: "ai", content: "I look." }), interrupted)
          const { send } = yield* langgraph(url)
          expect(yield* send("Do it.")).toMatchObject({
            _tag: "Answered",
            response,
            report: { asks, session_id: thread }
          })
          const refused = yield* send("Do it.", { agent: { may_ask: false } })
          expect(refused).toMatchObject({
            _tag: "Failed",
            message: `The graph waits for a decision, but the webhook allows no questions (agent_asks): ${response}`
          })
        }).pipe(Effect.scoped, onBusOfItsOwn)
      }
    })
  )

  behaviour(
    "resumes its graph with the reply; only people approve what it wants to do",
    Effect.gen(function* () {
      const [approved, rejected] = [{ type: "approve" }, { type: "reject", message: "approve" }]
      const plain = { id: "i-1", value: "Deploy?" }
      const decision = { id: "i-2", value: actions }
      for (const [interrupts, source, resume] of [
        [[plain], "webhook", "approve"],
        [[decision], "chat", { decisions: [approved, approved] }],
        [[decision], "webhook", { decisions: [rejected, rejected] }],
        [[plain, decision], "chat", { "i-1": "approve", "i-2": { decisions: [approved, approved] } }]
      ] as const) {
        yield* Effect.gen(function* () {
          const { received, url } = yield* serverWaiting(interrupts, state(human, { type: "ai", content: "yes" }))
          const { send } = yield* langgraph(url)
          expect(yield* send("approve", { ...inSession(thread), source })).toMatchObject({ response: "yes" })
          expect(received.at(-1)!.body).toMatchObject({ command: { resume } })
          expect(received.at(-1)!.body).not.toHaveProperty("input")
          const agent = { answer_schema: { type: "string" } }
          received.length = 0
          yield* send("approve", { ...inSession(thread), source, agent })
          expect(received.find(({ path }) => path.endsWith("/runs/stream"))!.body).toMatchObject({
            command: { resume }
          })
        }).pipe(Effect.scoped, onBusOfItsOwn)
      }
    })
  )

  it.each([
    [["--url", "http://localhost:2024"], "--url and --assistant are required"],
    [["--assistant", "agent", "--url", "localhost:2024"], "needs an http or https URL"],
    [["--assistant", "agent", "--url", "http://localhost", "more"], '"more" is not an option']
  ])("refuses the options %j", (words, says) => {
    expect(Option.getOrThrow(Result.getFailure(presets.langgraph.agent(words)))).toContain(says)
  })
})
