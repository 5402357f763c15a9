/** An agent's reports over the Agent Client Protocol (version 1), as a reading. */
import type { StepReport } from "../../../domain/run/Step.ts"
import type { Events } from "../output/EventReader.ts"
import {
  appended,
  at,
  costsSomething,
  denying,
  failing,
  isOwnTool,
  listAt,
  type Reading,
  reporting,
  sessionUsage,
  sumOf,
  textAt,
  toolCall,
  toolResult
} from "../output/Reading.ts"

/** The last message is the answer; those before it accompany the work. */
interface AcpReading extends Reading {
  /** The ID of the message that is being written. Not every agent gives its messages ids. */
  readonly messageId?: string
  /** Text after a tool was used is another message, if messages have no ids. */
  readonly isInterrupted?: boolean
  /** The text that follows says why it failed. */
  readonly hasFailed?: boolean
}

/** A permission that the agent did not get, in the place of an update. */
export const denied = (permission: string) => ({ denied: permission })

const write = (reading: AcpReading, chunk: unknown): AcpReading => {
  const text = textAt(chunk, "content", "text")
  const messageId = textAt(chunk, "messageId")
  if (text === undefined) return reading
  // A note of the program itself, such as a warning: codex-acp and claude-agent-acp give an id only to what the model says.
  if (messageId === undefined && reading.messageId !== undefined) return reading
  const isNext = messageId === undefined ? reading.isInterrupted : messageId !== reading.messageId
  return {
    ...reading,
    isInterrupted: false,
    ...(messageId !== undefined && { messageId }),
    answer: isNext ? text : appended(reading.answer, text)
  }
}

const stepOf = (update: unknown): StepReport => {
  const [id, kind, status] = [textAt(update, "toolCallId"), textAt(update, "kind"), textAt(update, "status")]
  const input = at(update, "rawInput")
  const title = textAt(input, "description") ?? textAt(update, "title")
  // Gemini CLI gives no input: its titles are whole commands, and a step's title is one line.
  const isBegun = at(update, "sessionUpdate") === "tool_call"
  const { title: _, ...call } = toolCall(id, kind, input ?? (isBegun ? title : undefined))
  const begins = title === undefined ? { ...(id !== undefined && { id }) } : { ...call, title }
  if (status !== "completed" && status !== "failed") return { ...begins, status: "running" }
  const result = at(update, "rawOutput") ?? listAt(update, "content").map((part) => at(part, "content") ?? part)
  return { ...begins, ...toolResult(id, result, status === "failed") }
}

export const updates: Events = {
  read: (reading: AcpReading, update): AcpReading => {
    const permission = textAt(update, "denied")
    if (permission !== undefined) return denying(reading, permission)
    switch (at(update, "sessionUpdate")) {
      case "agent_message_chunk":
        return write(reading, update)
      case "tool_call":
      case "tool_call_update":
        return { ...reading, isInterrupted: true }
      case "usage_update": {
        const amount = at(update, "cost", "currency") === "USD" ? at(update, "cost", "amount") : undefined
        const totals = sessionUsage({ cost_usd: amount })
        return totals === undefined ? reading : { ...reading, totals }
      }
      case "session_info_update": {
        // codex-acp says so, and ends the turn as if it had succeeded.
        if (at(update, "_meta", "codex", "threadStatus", "type") !== "systemError") return reading
        const { answer: _, messageId: __, ...others } = reading
        return { ...others, hasFailed: true }
      }
      default:
        return reading
    }
  },
  usesTool: (update) =>
    at(update, "sessionUpdate") === "tool_call" && !isOwnTool(textAt(update, "title") ?? textAt(update, "kind")),
  speaker: (update) => {
    switch (at(update, "sessionUpdate")) {
      case "agent_message_chunk":
      case "agent_thought_chunk":
      case "tool_call":
        return "model"
      case "tool_call_update":
        return ["completed", "failed"].includes(textAt(update, "status") ?? "") ? "tool" : undefined
      default:
        return undefined
    }
  },
  progress: (update) => {
    switch (at(update, "sessionUpdate")) {
      case "agent_message_chunk":
        return { text: textAt(update, "content", "text") ?? "" }
      case "tool_call":
      case "tool_call_update":
        return { steps: [stepOf(update)] }
      default:
        return undefined
    }
  }
}

/** The tokens of a prompt. The protocol leaves open whether input tokens include those of the cache: the total says it. */
const usageOf = (response: unknown) => {
  const usage = at(response, "usage")
  const quota = at(response, "_meta", "quota")
  const [input, output, cached] = [at(usage, "inputTokens"), at(usage, "outputTokens"), at(usage, "cachedReadTokens")]
  const whole = sumOf(input, cached, at(usage, "cachedWriteTokens"))
  const total = sumOf(at(usage, "totalTokens")) ?? 0
  const isApart = (sumOf(whole, output) ?? 0) <= total
  return {
    // Gemini CLI has its own place for them.
    input_tokens: (isApart ? whole : input) ?? at(quota, "token_count", "input_tokens"),
    output_tokens: output ?? at(quota, "token_count", "output_tokens"),
    cached_input_tokens: cached,
    model: at(listAt(quota, "model_usage")[0], "model")
  }
}

/** The reading with the response to the prompt, after which nothing follows. */
export const withResponse = (reading: AcpReading, response: unknown): Reading => {
  const { answer, hasFailed, ...others } = reading
  const done = reporting(
    { ...others, ...(answer !== undefined && { answer }), isDone: true },
    { usage: usageOf(response) }
  )
  // Stopped at a limit, which says why.
  if (reading.code !== undefined) return done
  if (hasFailed) return { ...done, ...failing((answer ?? "The agent failed").trim()) }
  const reason = textAt(response, "stopReason")
  return reason === "end_turn"
    ? { ...done, least: costsSomething }
    : { ...done, failure: `The agent stopped: ${reason}` }
}
