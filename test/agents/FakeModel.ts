/**
 * A model endpoint for real agent programs, on this machine: Anthropic's Messages, OpenAI's Responses and Chat Completions,
 * and Gemini's generateContent, all streamed. What a prompt says decides what comes back.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout } from "node:timers/promises"
import { anthropic } from "./model/Anthropic.ts"
import { chat } from "./model/Chat.ts"
import { gemini } from "./model/Gemini.ts"
import { type Protocol, type Turn, usage } from "./model/Model.ts"
import { responses } from "./model/Responses.ts"

export interface FakeModel {
  readonly url: string
  /** Resolves when a request hangs. */
  readonly hanging: () => Promise<void>
  /** Refuses so many requests that say `[[busy]]`. */
  readonly beBusy: (requests: number) => void
  readonly close: () => Promise<void>
}

const protocols: Readonly<Record<string, Protocol>> = {
  "/messages": anthropic,
  "/responses": responses,
  "/chat/completions": chat,
  ":streamGenerateContent": gemini
}

/** How each protocol names what a tool returned. */
const toolResult = /"tool_result"|"function_call_output"|"role":"tool"|"functionResponse"/
const toolResults = new RegExp(toolResult, "g")

interface Offered {
  readonly name?: string
  readonly type?: string
  readonly tools?: ReadonlyArray<Offered>
  readonly function?: Offered
  readonly functionDeclarations?: ReadonlyArray<Offered>
}

/** The offered tool whose name ends so; programs put the name of its MCP server before it. */
const findTool = (offered: ReadonlyArray<Offered>, end: string) =>
  offered
    .flatMap((tool) => [tool, ...(tool.function ? [tool.function] : []), ...(tool.functionDeclarations ?? [])])
    .flatMap(({ name = "", tools = [], type }) =>
      type === "namespace" ? tools.map((tool) => ({ name: tool.name ?? "", namespace: name })) : [{ name }]
    )
    .find(({ name }) => name === end || name.endsWith(`_${end}`))

/** The tools of a run, in the order in which the model uses them, and how they answer. */
const runTools = [
  ["progress", { text: "Looking at the branches" }, "Shown."],
  ["link", { url: "https://example.com/pull/7", title: "The draft" }, "Added."],
  ["ask", { question: "Which branch?", suggestions: ["main", "next"] }, "will be asked"]
] as const

/** Uses the tools of a run, one after another. After the question, it ends its turn, or hangs. */
const askingTurn = (request: string): Turn => {
  const tools: ReadonlyArray<Offered> = JSON.parse(request).tools ?? []
  const [name, args = {}] = runTools.find(([, , answer]) => !request.includes(answer)) ?? []
  const tool = name && findTool(tools, name)
  if (tool) return { kind: "call", ...tool, arguments: args }
  const wait = findTool(tools, "WaitForMcpServers")
  if (name !== undefined && wait !== undefined) return { kind: "call", ...wait, arguments: {} }
  if (name !== undefined) return { kind: "text", pieces: ["I have ", "no tools."] }
  return { kind: "text", pieces: ["I asked ", "the question."], hangs: request.includes("[[ask on]]") }
}

/**
 * `[[ask]]` uses the tools of a run, and `[[ask on]]` goes on after its question. `[[tool]]` uses the shell once, `[[busy]]`
 * is refused while the model is busy, `[[recall]]` says what an earlier prompt of the session said. `[[call review]]` calls
 * the tool of that name, and says what it found. `[[delegate]]` has a subagent do the work, which takes a while. `[[shape]]`
 * answers with JSON to a program that hands over the schema, else in the second turn.
 */
const turnOf = (request: string): Turn => {
  const [, called] = /\[\[call (\w+)\]\]/.exec(request) ?? []
  if (called !== undefined) {
    const tools = JSON.parse(request).tools ?? []
    const tool = findTool(tools, called)
    const used = request.match(toolResults)?.length ?? 0
    const [, found] = /found: ([\w-]+)/.exec(request) ?? []
    // Claude Code starts programs while it asks the model, which can wait for them.
    const wait = findTool(tools, "WaitForMcpServers")
    if (tool === undefined && wait !== undefined && used === 0) return { kind: "call", ...wait, arguments: {} }
    // Programs also ask for a title, without tools.
    if (tool !== undefined && found === undefined && used < 2) {
      return { kind: "call", ...tool, arguments: { text: "a-heron" } }
    }
    return { kind: "text", pieces: ["It found ", found ?? "nothing", "."] }
  }
  if (/\[\[ask( on)?]]/.test(request) && !request.includes("[[recall]]")) return askingTurn(request)
  if (request.includes("[[shape]]")) {
    const value = { verdict: "heron" }
    const tool = findTool(JSON.parse(request).tools ?? [], "StructuredOutput")
    if (tool !== undefined && !toolResult.test(request)) return { kind: "call", ...tool, arguments: value }
    const isAsked = request.includes("json_schema") || request.includes("It does not match")
    return { kind: "text", pieces: isAsked ? [JSON.stringify(value)] : ["It is ", "a heron."] }
  }
  if (request.includes("[[delegate]]")) {
    if (request.includes("The subagent is done.")) return { kind: "text", pieces: ["The work ", "is done."] }
    if (toolResult.test(request)) return { kind: "text", pieces: ["I started it ", "and wait."] }
    const agent = findTool(JSON.parse(request).tools ?? [], "Agent")
    const input = { description: "Do the work", prompt: "[[work]]", subagent_type: "general-purpose" }
    if (agent !== undefined) return { kind: "call", ...agent, arguments: input }
  }
  // Longer than a program may be silent once it is done.
  if (request.includes("[[work]]")) return { kind: "text", pieces: ["The subagent ", "is done."], delay: 7_000 }
  if (request.includes("[[tool]]") && !toolResult.test(request)) {
    return { kind: "tool", command: "echo done > done.txt", description: "Writing the file" }
  }
  const hangs = request.includes("[[hang]]")
  if (!request.includes("[[recall]]")) return { kind: "text", pieces: ["I did ", "what you ", "asked."], hangs }
  const word = /the word is (\w+)/.exec(request)?.[1]
  return { kind: "text", pieces: word === undefined ? ["I know of ", "no word."] : ["The word ", `is ${word}.`] }
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const json = (response: ServerResponse, status: number, body: unknown) => {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
}

const refusal = {
  type: "error",
  error: { type: "invalid_request_error", message: "the model refused", code: 400, status: "INVALID_ARGUMENT" }
}

const overload = { type: "error", error: { type: "rate_limit_error", message: "the model is busy" } }

export const startFakeModel = async (log: (line: string) => void = () => {}): Promise<FakeModel> => {
  let onHang = () => {}
  let busy = 0
  const server = createServer(async (request, response) => {
    const text = await bodyOf(request)
    log(`${request.method} ${request.url} ${text.slice(0, 300)}`)
    const { pathname } = new URL(request.url!, "http://localhost")
    if (request.method === "POST" && text.includes("[[refuse]]")) return json(response, 400, refusal)
    if (request.method === "POST" && text.includes("[[busy]]") && busy-- > 0) return json(response, 429, overload)
    const [, protocol] = Object.entries(protocols).find(([path]) => pathname.endsWith(path)) ?? []
    if (protocol !== undefined) {
      const turn = turnOf(text)
      if (turn.kind === "text" && turn.hangs) onHang()
      if (turn.kind === "text") await setTimeout(turn.delay ?? 0)
      // Gemini's API has the model in the path.
      const model = JSON.parse(text).model ?? pathname.split("/").at(-1)!.split(":")[0]!
      return protocol(response, turn, model)
    }
    if (pathname.endsWith("/count_tokens")) return json(response, 200, { input_tokens: usage.input })
    if (pathname.endsWith("/models")) return json(response, 200, { data: [], models: [] })
    response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hanging: () =>
      new Promise((resolve) => {
        onHang = resolve
      }),
    beBusy: (requests) => {
      busy = requests
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      })
  }
}
