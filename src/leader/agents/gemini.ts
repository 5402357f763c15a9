import { Predicate } from "effect"
import { type Agent, at, messageOf, reporting, sumOf, textAt, type Work } from "./Agent.ts"

/** Text after a tool was used begins anew: the last text is the answer. */
interface GeminiWork extends Work {
  readonly isInterrupted?: boolean
}

const mainModel = (models: unknown): string | undefined => {
  if (!Predicate.isRecord(models)) return undefined
  const tokensOf = (model: string) => sumOf(at(models, model, "total_tokens")) ?? 0
  return Object.keys(models).sort((a, b) => tokensOf(b) - tokensOf(a))[0]
}

/** https://geminicli.com/docs/cli/headless/; measured with 0.61.0. It reports no cost. */
export const gemini: Agent = {
  title: "Gemini CLI",
  program: "gemini",
  args: (options) => ["--output-format", "stream-json", "--skip-trust", ...options],
  read: (work: GeminiWork, event): GeminiWork => {
    switch (at(event, "type")) {
      case "init":
        return reporting(work, { session_id: at(event, "session_id") })
      case "tool_use":
      case "tool_result":
        return { ...work, isInterrupted: true }
      case "message": {
        const text = at(event, "role") === "assistant" ? textAt(event, "content") : undefined
        if (text === undefined) return work
        return { ...work, isInterrupted: false, answer: work.isInterrupted ? text : (work.answer ?? "") + text }
      }
      case "result": {
        const stats = at(event, "stats")
        const done: Work = reporting(
          { ...work, isDone: true },
          {
            usage: {
              input_tokens: at(stats, "input_tokens"),
              cached_input_tokens: at(stats, "cached"),
              output_tokens: at(stats, "output_tokens"),
              model: mainModel(at(stats, "models"))
            }
          }
        )
        if (at(event, "status") === "success") return done
        const message = textAt(event, "error", "message") ?? "It ended without a result"
        return { ...done, failure: messageOf(message.replace(/^\[API Error: (.*)\]$/s, "$1")) }
      }
      default:
        return work
    }
  }
}
