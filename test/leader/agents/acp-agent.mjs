// A small agent that speaks the Agent Client Protocol on standard input and output. The prompt says what it does, its
// arguments what it can. It keeps its sessions in its working folder.
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { Readable, Writable } from "node:stream"
import { agent, methods, ndJsonStream, RequestError } from "@agentclientprotocol/sdk"

const can = (what) => process.argv.includes(what)
const file = "sessions.json"
const sessions = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {}
const keep = () => writeFileSync(file, JSON.stringify(sessions))

let servers = []
let isSignedIn = !can("signed-out")
let mode = "its own"
let onCancel = () => {}

const update = (client, sessionId, update) => client.notify(methods.client.session.update, { sessionId, update })
const say = (client, sessionId, text, messageId) =>
  update(client, sessionId, {
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text },
    ...(messageId && { messageId })
  })

const usage = { inputTokens: 1000, cachedReadTokens: 200, outputTokens: 34, totalTokens: 1234 }

/** How Claude Code asks for the use of a tool of the leader. */
const ownTool = { toolCallId: "t-1", title: "mcp__webhook__ask", kind: "other" }

/** Returns whether the turn was cancelled in place of an answer. */
const useTool = async (client, sessionId, kind) => {
  const shell = { toolCallId: "t-1", title: "echo done", kind, rawInput: { description: "Writing the file" } }
  const tool = kind === "own" ? ownTool : shell
  await say(client, sessionId, "I will do it.")
  await update(client, sessionId, { sessionUpdate: "tool_call", status: "pending", ...tool })
  const { outcome } = await client.request(methods.client.session.requestPermission, {
    sessionId,
    toolCall: tool,
    options: [
      { optionId: "yes", name: "Allow", kind: "allow_once" },
      { optionId: "no", name: "Reject", kind: "reject_once" }
    ]
  })
  if (outcome.outcome === "cancelled") return true
  await update(client, sessionId, { sessionUpdate: "tool_call_update", toolCallId: "t-1", status: "completed" })
  await say(client, sessionId, `The answer was ${outcome.optionId}.`)
}

const hang = async (client, sessionId) => {
  await say(client, sessionId, "I work on it.")
  const cancelled = new Promise((resolve) => {
    onCancel = () => resolve({ stopReason: "cancelled", usage })
  })
  writeFileSync("hanging", String(process.pid))
  return cancelled
}

const prompt = async ({ client, params: { prompt, sessionId } }) => {
  const text = prompt.map((block) => block.text).join("")
  const session = sessions[sessionId]
  if (session === undefined) throw RequestError.invalidParams({ details: "no such session" })
  session.texts.push(text)
  session.cost += 0.5
  keep()
  // A reply to its question for a permission.
  const [, tool] = /\[\[tool (\w+)]]/.exec(text.startsWith("Allow") ? session.texts.join() : text) ?? []
  if (text.includes("[[refuse]]")) throw RequestError.internalError(undefined, "the model refused")
  if (text.includes("[[quota]]")) {
    throw RequestError.internalError({ details: "Too many requests", retryDelay: "3600s" }, "429")
  }
  if (text.includes("[[crash]]")) {
    process.stderr.write("out of memory")
    process.exit(3)
  }
  if (text.includes("[[hang]]")) return hang(client, sessionId)
  if (text.includes("[[limit]]")) return { stopReason: "max_tokens" }
  if (tool !== undefined) {
    if (await useTool(client, sessionId, tool)) return { stopReason: "cancelled", usage }
  } else if (text.includes("[[servers]]")) await say(client, sessionId, JSON.stringify(servers))
  else if (text.includes("[[recall]]")) {
    const [, word] = /the word is (\w+)/.exec(session.texts.join()) ?? []
    await say(client, sessionId, `The word is ${word}.`)
  } else if (text.includes("[[notes]]")) {
    await say(client, sessionId, "Warning: an old version")
    await say(client, sessionId, "I will ", "m-1")
    await say(client, sessionId, "look.", "m-1")
    await say(client, sessionId, "It is ", "m-2")
    await say(client, sessionId, "Warning: billed")
    await say(client, sessionId, "fine.", "m-2")
  } else if (text.includes("[[mode]]")) await say(client, sessionId, mode)
  else {
    await say(client, sessionId, "You said: ")
    await say(client, sessionId, text)
  }
  await update(client, sessionId, {
    sessionUpdate: "usage_update",
    used: 1,
    size: 2,
    cost: { amount: session.cost, currency: "USD" }
  })
  return { stopReason: "end_turn", usage, _meta: { quota: { model_usage: [{ model: "m-1" }] } } }
}

const begin = ({ params }) => {
  servers = params.mcpServers
  if (!isSignedIn) throw RequestError.authRequired()
  const sessionId = `s.${Object.keys(sessions).length}`
  sessions[sessionId] = { texts: [], cost: 0 }
  keep()
  return { sessionId }
}

const find = ({ params: { mcpServers, sessionId } }) => {
  if (sessions[sessionId] === undefined) throw RequestError.resourceNotFound(sessionId)
  servers = mcpServers
  return {}
}

/** Gemini CLI says that it is done before it has replayed the session. */
const load = (context) => {
  find(context)
  const { client, params } = context
  setTimeout(async () => {
    for (const text of sessions[params.sessionId].texts) await say(client, params.sessionId, text)
  })
  return {}
}

agent({ name: "agent for tests" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 1,
    agentCapabilities: { loadSession: can("load"), ...(can("resume") && { sessionCapabilities: { resume: {} } }) },
    authMethods: [{ id: "api-key", name: "API key" }]
  }))
  .onRequest(methods.agent.authenticate, ({ params }) => {
    isSignedIn = params.methodId === "api-key"
    return {}
  })
  .onRequest(methods.agent.session.new, begin)
  .onRequest(methods.agent.session.resume, find)
  .onRequest(methods.agent.session.load, load)
  .onRequest(methods.agent.session.setMode, ({ params }) => {
    mode = params.modeId
    return {}
  })
  .onRequest(methods.agent.session.prompt, prompt)
  .onNotification(methods.agent.session.cancel, () => {
    if (!can("deaf")) onCancel()
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)))

if (can("deaf")) {
  process.on("SIGTERM", () => {})
  setInterval(() => {}, 1000)
}
