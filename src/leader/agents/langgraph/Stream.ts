/** The events of a LangGraph server's run in the stream modes `messages-tuple` and `values`, as a reading. */
import { mergeSteps } from "../../../domain/run/Step.ts"
import type { Events } from "../output/EventReader.ts"
import { at, failing, listAt, type Reading, reporting, sumOf, textAt, toolCall, toolResult } from "../output/Reading.ts"

interface RunReading extends Reading {
  /** The server's id of the run. */
  readonly runId?: string
  /** The interrupts that the graph waits for. */
  readonly interrupts?: ReadonlyArray<unknown>
}

const isFromModel = (message: unknown): boolean => ["ai", "AIMessageChunk"].includes(textAt(message, "type") ?? "")

/** The text of a message, which is a string or a list of parts. */
const textOf = (message: unknown): string =>
  textAt(message, "content") ??
  listAt(message, "content")
    .map((part) => textAt(part, "text") ?? "")
    .join("")

const messageIn = (event: unknown): unknown => {
  const data = at(event, "data")
  return at(event, "type") === "messages" && Array.isArray(data) ? data[0] : undefined
}

/** Adds up the usage of the messages that the run writes. Each piece of a message has its part of it, if any. */
const addUsage = (reading: Reading, message: unknown): Reading => {
  const used = at(message, "usage_metadata")
  const before = reading.report?.usage
  return reporting(reading, {
    usage: {
      ...before,
      input_tokens: sumOf(before?.input_tokens, at(used, "input_tokens")),
      output_tokens: sumOf(before?.output_tokens, at(used, "output_tokens")),
      cached_input_tokens: sumOf(before?.cached_input_tokens, at(used, "input_token_details", "cache_read")),
      model: textAt(message, "response_metadata", "model_name") ?? before?.model
    }
  })
}

/** The state after a step. Its last message is the answer, if the model wrote it. */
const readState = (reading: RunReading, state: unknown): RunReading => {
  const { answer: _, ...others } = reading
  const last = listAt(state, "messages").at(-1)
  const interrupts = listAt(state, "__interrupt__")
  return { ...others, interrupts, ...(isFromModel(last) && { answer: textOf(last) }) }
}

export const runOf = (reading: Reading): string | undefined => (reading as RunReading).runId

export const interruptsOf = (reading: Reading): ReadonlyArray<unknown> => (reading as RunReading).interrupts ?? []

export const runEvents: Events = {
  read: (reading: RunReading, event): RunReading => {
    const data = at(event, "data")
    switch (at(event, "type")) {
      case "metadata": {
        const runId = textAt(data, "run_id")
        return runId === undefined ? reading : { ...reading, runId }
      }
      case "messages": {
        const message = messageIn(event)
        return isFromModel(message) ? { ...reading, ...addUsage(reading, message) } : reading
      }
      case "values":
        return readState(reading, data)
      case "error":
        return { ...reading, ...failing(textAt(data, "message") ?? textAt(data, "error") ?? "The run failed", data) }
      default:
        return reading
    }
  },
  progress: (event) => {
    const message = messageIn(event)
    if (["tool", "ToolMessage"].includes(textAt(message, "type") ?? "")) {
      const hasFailed = textAt(message, "status") === "error"
      return { steps: [toolResult(textAt(message, "tool_call_id"), textOf(message), hasFailed)] }
    }
    if (!isFromModel(message)) return undefined
    const text = textOf(message)
    const calls = [...listAt(message, "tool_call_chunks"), ...listAt(message, "tool_calls")]
      .filter((call) => textAt(call, "name"))
      .map((call) => toolCall(textAt(call, "id"), textAt(call, "name"), at(call, "args")))
    return { ...(text !== "" && { text }), ...(calls.length > 0 && { steps: mergeSteps([], calls) }) }
  }
}
