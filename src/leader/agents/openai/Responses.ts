import type { Events } from "../output/EventReader.ts"
import { appended, at, type Reading, reporting, textAt } from "../output/Reading.ts"

const ended = (reading: Reading, response: unknown): Reading =>
  reporting(
    { ...reading, isDone: true },
    {
      session_id: at(response, "id"),
      usage: {
        input_tokens: at(response, "usage", "input_tokens"),
        output_tokens: at(response, "usage", "output_tokens"),
        cached_input_tokens: at(response, "usage", "input_tokens_details", "cached_tokens"),
        model: at(response, "model")
      }
    }
  )

/** What the model writes, of an event. */
const written = (event: unknown): string | undefined => {
  const type = at(event, "type")
  return type === "response.output_text.delta" || type === "response.refusal.delta" ? textAt(event, "delta") : undefined
}

/** The events of OpenAI's Responses: https://platform.openai.com/docs/api-reference/responses-streaming */
export const responses: Events = {
  read: (reading, event) => {
    const text = written(event)
    if (text !== undefined) return { ...reading, answer: appended(reading.answer, text) }
    const response = at(event, "response")
    switch (at(event, "type")) {
      case "response.output_item.added":
        // The last message is the answer.
        return at(event, "item", "type") === "message" ? { ...reading, answer: "" } : reading
      case "response.completed":
        return ended(reading, response)
      case "response.incomplete": {
        const reason = textAt(response, "incomplete_details", "reason") ?? "incomplete"
        return { ...ended(reading, response), failure: `The model stopped: ${reason}` }
      }
      case "response.failed":
        return { ...ended(reading, response), failure: textAt(response, "error", "message") ?? "The model failed" }
      case "error":
        return { ...reading, isDone: true, failure: textAt(event, "message") ?? "The model failed" }
      default:
        return reading
    }
  },
  progress: (event) => {
    const text = written(event)
    return text === undefined ? undefined : { text }
  }
}
