/**
 * A model endpoint for real agent programs, on this machine: Anthropic's Messages, OpenAI's Responses and Chat Completions,
 * and Gemini's generateContent, all streamed. What a prompt says decides what comes back.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface FakeModel {
  readonly url: string
  /** Resolves when a request hangs. */
  readonly hanging: () => Promise<void>
  readonly close: () => Promise<void>
}

/** `answer` says back what was asked; the others are what their names say. */
type Behaviour = "answer" | "refuse" | "hang"

const behaviourOf = (text: string): Behaviour =>
  text.includes("[[refuse]]") ? "refuse" : text.includes("[[hang]]") ? "hang" : "answer"

const pieces = ["I did ", "what you ", "asked."]
const usage = { input: 1200, cached: 200, output: 34 }

const sse = (response: ServerResponse) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  return (data: unknown, event?: string) =>
    response.write(`${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`)
}

const anthropic = (response: ServerResponse, behaviour: Behaviour, model: string) => {
  const send = sse(response)
  const event = (type: string, data: object) => send({ type, ...data }, type)
  const message = { id: "msg_1", type: "message", role: "assistant", model, content: [], stop_reason: null }
  const input = { input_tokens: usage.input, cache_read_input_tokens: usage.cached, cache_creation_input_tokens: 0 }
  event("message_start", { message: { ...message, usage: { ...input, output_tokens: 1 } } })
  event("content_block_start", { index: 0, content_block: { type: "text", text: "" } })
  for (const text of pieces) {
    event("content_block_delta", { index: 0, delta: { type: "text_delta", text } })
    if (behaviour === "hang") return
  }
  event("content_block_stop", { index: 0 })
  event("message_delta", {
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { ...input, output_tokens: usage.output }
  })
  event("message_stop", {})
  response.end()
}

const responses = (response: ServerResponse, behaviour: Behaviour, model: string) => {
  const send = sse(response)
  let sequence_number = 0
  const event = (type: string, data: object) => send({ type, sequence_number: sequence_number++, ...data }, type)
  const base = { id: "resp_1", object: "response", created_at: 1, model, status: "in_progress", output: [] }
  const item = { id: "msg_1", type: "message", role: "assistant", status: "in_progress", content: [] }
  event("response.created", { response: base })
  event("response.output_item.added", { output_index: 0, item })
  for (const delta of pieces) {
    event("response.output_text.delta", { item_id: "msg_1", output_index: 0, content_index: 0, delta })
    if (behaviour === "hang") return
  }
  const done = {
    ...item,
    status: "completed",
    content: [{ type: "output_text", text: pieces.join(""), annotations: [] }]
  }
  event("response.output_item.done", { output_index: 0, item: done })
  const counted = {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cached },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: usage.input + usage.output
  }
  event("response.completed", { response: { ...base, status: "completed", output: [done], usage: counted } })
  response.end()
}

const chat = (response: ServerResponse, behaviour: Behaviour, model: string) => {
  const send = sse(response)
  const chunk = (more: object) => send({ id: "c1", object: "chat.completion.chunk", created: 1, model, ...more })
  const choice = (delta: object, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason }]
  })
  for (const content of pieces) {
    chunk(choice({ role: "assistant", content }))
    if (behaviour === "hang") return
  }
  chunk(choice({}, "stop"))
  chunk({
    choices: [],
    usage: {
      prompt_tokens: usage.input,
      completion_tokens: usage.output,
      total_tokens: usage.input + usage.output,
      prompt_tokens_details: { cached_tokens: usage.cached }
    }
  })
  response.end("data: [DONE]\n\n")
}

const gemini = (response: ServerResponse, behaviour: Behaviour, model: string) => {
  const send = sse(response)
  pieces.forEach((text, index) => {
    if (behaviour === "hang" && index > 0) return
    const isLast = index === pieces.length - 1
    send({
      candidates: [
        { index: 0, content: { role: "model", parts: [{ text }] }, ...(isLast && { finishReason: "STOP" }) }
      ],
      modelVersion: model,
      usageMetadata: {
        promptTokenCount: usage.input,
        cachedContentTokenCount: usage.cached,
        candidatesTokenCount: usage.output,
        totalTokenCount: usage.input + usage.output
      }
    })
  })
  if (behaviour !== "hang") response.end()
}

const refuse = (response: ServerResponse) => {
  response.writeHead(400, { "content-type": "application/json" })
  const error = { type: "invalid_request_error", message: "the model refused", code: 400, status: "INVALID_ARGUMENT" }
  response.end(JSON.stringify({ type: "error", error }))
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const json = (response: ServerResponse, body: unknown) => {
  response.writeHead(200, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
}

export const startFakeModel = async (log: (line: string) => void = () => {}): Promise<FakeModel> => {
  let onHang = () => {}
  const server = createServer(async (request, response) => {
    const text = await bodyOf(request)
    const { pathname } = new URL(request.url!, "http://localhost")
    log(`${request.method} ${request.url} ${text.slice(0, 300)}`)
    const behaviour = behaviourOf(text)
    const { model = "fake" } = text.startsWith("{") ? JSON.parse(text) : {}
    if (behaviour === "hang") onHang()
    if (request.method === "POST" && behaviour === "refuse") return refuse(response)
    if (pathname.endsWith("/messages")) return anthropic(response, behaviour, model)
    if (pathname.endsWith("/responses")) return responses(response, behaviour, model)
    if (pathname.endsWith("/chat/completions")) return chat(response, behaviour, model)
    if (pathname.endsWith(":streamGenerateContent"))
      return gemini(response, behaviour, pathname.split("/").at(-1)!.split(":")[0]!)
    if (pathname.endsWith("/count_tokens")) return json(response, { input_tokens: usage.input })
    if (pathname.endsWith("/models")) return json(response, { data: [], models: [] })
    response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hanging: () =>
      new Promise((resolve) => {
        onHang = resolve
      }),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      })
  }
}
