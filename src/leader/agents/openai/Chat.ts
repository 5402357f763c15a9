import type { Events } from "../output/EventReader.ts"
import { appended, at, listAt, type Reading, reporting, textAt } from "../output/Reading.ts"

const choiceOf = (event: unknown): unknown => listAt(event, "choices")[0]

/** What the model writes, of an event. */
const written = (event: unknown): string | undefined => {
  const delta = at(choiceOf(event), "delta")
  return textAt(delta, "content") ?? textAt(delta, "refusal")
}

const withUsage = (reading: Reading, event: unknown): Reading =>
  reporting(reading, {
    usage: {
      input_tokens: at(event, "usage", "prompt_tokens"),
      output_tokens: at(event, "usage", "completion_tokens"),
      cached_input_tokens: at(event, "usage", "prompt_tokens_details", "cached_tokens"),
      model: at(event, "model")
    }
  })

/** The events of Chat Completions: https://platform.openai.com/docs/api-reference/chat-streaming */
export const chat: Events = {
  read: (before, event) => {
    const text = written(event)
    const answered = text === undefined ? before : { ...before, answer: appended(before.answer, text) }
    const reading = at(event, "usage") ? withUsage(answered, event) : answered
    const failure = textAt(event, "error", "message")
    if (failure !== undefined) return { ...reading, isDone: true, failure }
    const reason = textAt(choiceOf(event), "finish_reason")
    if (reason === undefined) return reading
    return { ...reading, isDone: true, ...(reason !== "stop" && { failure: `The model stopped: ${reason}` }) }
  },
  progress: (event) => {
    const text = written(event)
    return text === undefined ? undefined : { text }
  }
}
