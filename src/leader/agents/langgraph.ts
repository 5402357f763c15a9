import { Effect, Result } from "effect"
import { readReport } from "../../domain/run/AgentReport.ts"
import { type LeaderAnswer, LeaderError } from "../Leader.ts"
import type { Agent, Preset, Task } from "./Agent.ts"
import { takingOnly } from "./Bounds.ts"
import { failed, isBusy, isPassing, patiently, type RequestFailed, readJson, readStream } from "./Endpoint.ts"
import { asQuestion, asResume } from "./langgraph/Interrupts.ts"
import { interruptsOf, runEvents, runOf } from "./langgraph/Stream.ts"
import { readHttpUrl, readOptions } from "./Options.ts"
import { readEvents } from "./output/EventReader.ts"
import { maxLine } from "./output/Lines.ts"
import { conclude, listAt, textAt } from "./output/Reading.ts"
import { inSession, SessionLost, uuid } from "./Session.ts"

const example = "langgraph --url http://localhost:2024 --assistant agent"

interface LanggraphOptions {
  readonly url: string
  readonly assistant: string
}

/** How long the request that cancels a run may take. */
const cancelTimeout = "1 second"

const work = (
  { assistant, url }: LanggraphOptions,
  task: Task,
  session: string | undefined
): Effect.Effect<LeaderAnswer, LeaderError | SessionLost> =>
  Effect.gen(function* () {
    const key = process.env.LANGGRAPH_API_KEY ?? process.env.LANGSMITH_API_KEY
    const request = (path: string, body: unknown = {}) => ({
      url: url + path,
      headers: key ? { "x-api-key": key } : {},
      body
    })
    const begin = patiently(task, isBusy, readJson(request("/threads")))
    const thread = session ?? textAt(yield* Effect.mapError(begin, failed), "thread_id")
    if (thread === undefined || !uuid.test(thread)) {
      return yield* new LeaderError({ message: "The endpoint created no thread" })
    }
    task.report({ session_id: thread })
    const lostOrFailed = (failure: RequestFailed) =>
      session !== undefined && failure.status === 404 ? new SessionLost() : failed(failure)
    const state =
      session === undefined
        ? undefined
        : yield* Effect.mapError(
            patiently(task, isPassing, readJson({ ...request(`/threads/${thread}/state`), method: "GET" }, maxLine)),
            lostOrFailed
          )
    const pending = listAt(state, "tasks").flatMap((one) => listAt(one, "interrupts"))
    const { agent, prompt, source } = task.prompt

    const reader = readEvents(runEvents, task)
    const cancel = Effect.suspend(() => {
      const run = runOf(reader.reading())
      return run === undefined || !uuid.test(run)
        ? Effect.void
        : Effect.ignore(readJson(request(`/threads/${thread}/runs/${run}/cancel?wait=false`)))
    })
    const running = readStream(
      request(`/threads/${thread}/runs/stream`, {
        assistant_id: assistant,
        ...(pending.length > 0
          ? { command: { resume: asResume(pending, task.said ?? prompt, source === "chat") } }
          : { input: { messages: [{ role: "user", content: prompt }] } }),
        stream_mode: ["messages-tuple", "values"],
        // One run at a time works in a thread of ours, so a run that is still there was cancelled.
        multitask_strategy: "interrupt",
        on_disconnect: "cancel"
      }),
      reader.take
    )
    // A run that was not refused may be at work.
    yield* patiently(task, isBusy, running).pipe(
      Effect.onInterrupt(() => Effect.timeoutOption(cancel, cancelTimeout)),
      Effect.mapError(lostOrFailed)
    )
    const { report, ...reading } = reader.reading()
    const interrupts = interruptsOf(reading)
    if (interrupts.length > 0 && reading.failure === undefined) {
      const { response, suggestions } = asQuestion(interrupts)
      if (agent?.may_ask === false)
        return yield* new LeaderError({
          message: `The graph waits for a decision, but the webhook allows no questions (agent_asks): ${response}`
        })
      const asks = readReport({ asks: suggestions })?.asks ?? []
      return { response, report: { ...report, session_id: thread, asks } }
    }
    return yield* conclude(
      { ...reading, report: { ...report, session_id: thread } },
      "The graph's last message is not from a model"
    )
  })

const endpoint = (options: LanggraphOptions): Agent => ({
  title: `the assistant ${options.assistant}`,
  answer: (task) => takingOnly([], task, () => inSession(uuid, task, (task, session) => work(options, task, session)))
})

/** Any graph behind a LangGraph server: https://docs.langchain.com/langsmith/server-api-ref */
export const langgraph: Preset = {
  title: "a LangGraph server",
  example,
  help: "Start it with `langgraph dev`, or set LANGGRAPH_API_KEY for one that asks for a key.",
  agent: (words) =>
    Result.gen(function* () {
      const { rest, values } = yield* readOptions(words, ["assistant", "url"])
      const { assistant, url } = values
      if (rest[0] !== undefined) return yield* Result.fail(`"${rest[0]}" is not an option`)
      if (assistant === undefined || url === undefined) {
        return yield* Result.fail(`--url and --assistant are required; for example: ${example}`)
      }
      return endpoint({ assistant, url: yield* readHttpUrl("url", url) })
    })
}
