/** The events of a run, read by the AI SDK's own client. */

import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai"
import { Context, Deferred, Effect } from "effect"
import type { NumberedProgress } from "../../../src/domain/run/Progress.ts"
import { ProgressReports } from "../../../src/engine/progress/ProgressReports.ts"
import { describe, expect, it } from "../../support/It.ts"
import { failing, type Leader, start } from "../Server.ts"

type Part = NumberedProgress | { readonly answer: string }

/** Reports the parts of a prompt, and answers with the last. */
const speaking =
  ({ record }: ProgressReports["Service"]): Leader =>
  ({ prompt: { prompt, run_id }, reply }) =>
    Effect.forEach(JSON.parse(prompt) as ReadonlyArray<Part>, (part) =>
      "answer" in part
        ? reply({ _tag: "Answered", response: part.answer, report: { session_id: "s-1" } })
        : record({ run_id, ...part })
    )

const toMessage = (text: string): UIMessage => ({ id: "1", role: "user", parts: [{ type: "text", text }] })

/** What a page gives `useChat`: only the address and the shape of the body are this server's. */
const chat = (url: string, headers: Record<string, string> = {}) =>
  new DefaultChatTransport({
    api: `${url}?format=ai-sdk`,
    headers,
    prepareSendMessagesRequest: ({ messages }) => {
      const [part] = messages.at(-1)!.parts
      return { body: { variables: { text: part?.type === "text" ? part.text : "" } } }
    },
    prepareReconnectToStreamRequest: ({ id }) => ({ api: `${url}/runs/${id}/events?format=ai-sdk` })
  })

const ask = (transport: DefaultChatTransport<UIMessage>, parts: ReadonlyArray<Part>) =>
  Effect.promise((signal) =>
    transport.sendMessages({
      chatId: "chat",
      messages: [toMessage(JSON.stringify(parts))],
      messageId: undefined,
      trigger: "submit-message",
      abortSignal: signal
    })
  )

/** All that the client makes of a stream. */
const read = (stream: ReadableStream<UIMessageChunk>) =>
  Effect.promise(async () => {
    const chunks: Array<UIMessageChunk> = []
    const errors: Array<unknown> = []
    const seen = stream.pipeThrough(
      new TransformStream<UIMessageChunk, UIMessageChunk>({
        transform: (chunk, controller) => {
          chunks.push(chunk)
          controller.enqueue(chunk)
        }
      })
    )
    let message: UIMessage | undefined
    for await (const next of readUIMessageStream({ stream: seen, onError: (error) => errors.push(error) }))
      message = next
    const texts = (message?.parts ?? []).map((part) => (part.type === "text" ? [part.text, part.state] : part.type))
    return { message, texts, chunks, errors }
  })

const startSpeaking = Effect.gen(function* () {
  const server = yield* start()
  const hook = yield* server.webhook(
    yield* server.team("speakers", speaking(Context.get(server.context, ProgressReports)))
  )
  return { ...server, hook, url: `${server.origin}${hook.path}` }
})

describe("the UI message stream of the AI SDK", () => {
  it.live("has the headers of its protocol", function* () {
    const { http, hook } = yield* startSpeaking
    const { headers, status, text } = yield* http("POST", `${hook.path}?format=ai-sdk`, {
      body: { variables: { text: JSON.stringify([{ answer: "Yes" }]) } }
    })
    expect(status).toBe(200)
    expect(headers.get("content-type")).toBe("text/event-stream")
    expect(headers.get("x-vercel-ai-ui-message-stream")).toBe("v1")
    expect(text).toMatch(/\n\ndata: \[DONE\]\n\n$/)
  })

  it.live("is a message with the text that the agent wrote, and its activity on the side", function* () {
    const { hook, origin, url } = yield* startSpeaking
    const parts = [
      { seq: 0, text: "Hel" },
      { seq: 1, activity: "Thinking" },
      { seq: 2, text: "lo." },
      { answer: "Hello." }
    ]
    const header = chat(`${origin}/webhook/trigger`, { authorization: `Bearer ${hook.token}` })
    for (const transport of [chat(url), header]) {
      const { chunks, errors, message, texts } = yield* read(yield* ask(transport, parts))
      expect(errors).toEqual([])
      expect(texts).toEqual([["Hello.", "done"]])
      expect(message!.metadata).toEqual({ run_id: message!.id, status: "success", session_id: "s-1" })
      expect(chunks).toContainEqual({ type: "data-activity", data: { text: "Thinking" }, transient: true })
    }
  })

  it.live("ends with the answer, whatever the agent has written before", function* () {
    const { url } = yield* startSpeaking
    const texts = (...parts: ReadonlyArray<Part>) =>
      Effect.gen(function* () {
        const result = yield* read(yield* ask(chat(url), parts))
        expect(result.errors).toEqual([])
        return result.texts
      })
    expect(yield* texts({ answer: "Only the answer" })).toEqual([["Only the answer", "done"]])
    expect(yield* texts({ seq: 0, text: "Half of" }, { answer: "Half of it" })).toEqual([["Half of it", "done"]])
    const looked = "I look at it.\n\nIt works.\n"
    expect(yield* texts({ seq: 0, text: looked }, { answer: "It works." })).toEqual([[looked, "done"]])
    expect(yield* texts({ seq: 0, text: "I look at it." }, { answer: "It works." })).toEqual([
      ["I look at it.", "done"],
      ["It works.", "done"]
    ])
    expect(yield* texts({ seq: 0, text: "Only progress" }, { answer: "" })).toEqual([["Only progress", "done"]])
  })

  it.live("begins another text when the work starts over", function* () {
    const { context, origin, team, webhook } = yield* start()
    const { record } = Context.get(context, ProgressReports)
    const isShown = yield* Deferred.make<void>()
    const restarting: Leader = ({ prompt: { run_id }, reply }) =>
      record({ run_id, seq: 5, text: "The first try" }).pipe(
        Effect.andThen(Deferred.await(isShown)),
        Effect.andThen(record({ run_id, seq: 0, text: "The second try" })),
        Effect.andThen(reply({ _tag: "Answered", response: "The second try worked" }))
      )
    const hook = yield* webhook(yield* team("restarting", restarting))
    const stream = (yield* ask(chat(`${origin}${hook.path}`), [])).pipeThrough(
      new TransformStream<UIMessageChunk, UIMessageChunk>({
        transform: (chunk, controller) => {
          controller.enqueue(chunk)
          if (chunk.type === "text-delta") Deferred.doneUnsafe(isShown, Effect.void)
        }
      })
    )
    expect((yield* read(stream)).texts).toEqual([
      ["The first try", "done"],
      ["The second try worked", "done"]
    ])
  })

  it.live("of a run that has begun or ended is read from its beginning, as a client that resumes does", function* () {
    const { url } = yield* startSpeaking
    const transport = chat(url)
    const { message } = yield* read(yield* ask(transport, [{ seq: 0, text: "Yes" }, { answer: "Yes" }]))
    const again = yield* Effect.promise(() => transport.reconnectToStream({ chatId: message!.id }))
    expect((yield* read(again!)).message).toEqual(message)
  })

  it.live("has the error of a run that failed, and ends a cancelled one as aborted", function* () {
    const { admin, origin, team, webhook } = yield* start()
    const failed = yield* webhook(yield* team("failing", failing))
    const { chunks, errors } = yield* read(yield* ask(chat(`${origin}${failed.path}`), [{ answer: "" }]))
    expect(errors.map(String)).toEqual(["Error: no disk"])
    expect(chunks.map(({ type }) => type)).toEqual(["start", "error", "finish"])
    expect(chunks.at(-1)).toMatchObject({ messageMetadata: { status: "error" } })

    const silent = yield* webhook(yield* team("silent", () => Effect.never))
    const stream = yield* ask(chat(`${origin}${silent.path}`), [])
    const [{ run_id }] = (yield* admin("GET", `/api/webhooks/${silent.id}/runs`)).json.data
    yield* admin("POST", `/api/runs/${run_id}/cancel`)
    expect((yield* read(stream)).chunks.map(({ type }) => type)).toEqual(["start", "abort"])
  })
})
