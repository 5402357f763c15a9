import {
  appended,
  at,
  denying,
  failing,
  isOwnTool,
  mainModel,
  type Reading,
  reporting,
  textAt,
  toolCall,
  toolResult
} from "./output/Reading.ts"
import { programPreset } from "./ProgramAgent.ts"
import { uuid } from "./Session.ts"

/** Text after a tool was used begins anew: the last text is the answer. */
interface GeminiReading extends Reading {
  readonly isInterrupted?: boolean
}

/** The tools' ids begin with their names. */
const deniedTool = (event: unknown): string | undefined =>
  at(event, "error", "type") === "policy_violation" ? textAt(event, "tool_id")?.split(/__|-\d/, 1)[0] : undefined

const saidBy = (event: unknown): string | undefined =>
  at(event, "role") === "assistant" ? textAt(event, "content") : undefined

/** https://geminicli.com/docs/cli/headless/; measured with 0.61.0. It reports no cost. */
export const gemini = programPreset({
  title: "Gemini CLI",
  example: "gemini --approval-mode auto_edit",
  help: "Install it with `npm install --global @google/gemini-cli`. Sign in: start `gemini` once, or set GEMINI_API_KEY.",
  program: "gemini",
  args: ({ options, session }) => [
    ...["--output-format", "stream-json", "--skip-trust"],
    ...(session === undefined ? [] : ["--resume", session]),
    ...options
  ],
  // It takes servers from its settings alone, in which they may name a variable: docs/use/agents.md.
  tools: ({ script }) => ({ env: { WEBHOOK_TOOLS: script } }),
  permissions: ["--approval-mode", "--yolo", "-y", "--policy", "--admin-policy", "--allowed-tools"],
  requests: { model: ["--model", "-m"], hidesCost: true },
  sessions: { format: uuid, lost: /Invalid session identifier/ },
  read: (reading: GeminiReading, event): GeminiReading => {
    switch (at(event, "type")) {
      case "init":
        return reporting(reading, { session_id: at(event, "session_id") })
      case "tool_use":
        return { ...reading, isInterrupted: true }
      case "tool_result": {
        const denied = deniedTool(event)
        return { ...(denied === undefined ? reading : denying(reading, denied)), isInterrupted: true }
      }
      case "message": {
        const text = saidBy(event)
        if (text === undefined) return reading
        return {
          ...reading,
          isInterrupted: false,
          answer: reading.isInterrupted ? text : appended(reading.answer, text)
        }
      }
      case "result": {
        const stats = at(event, "stats")
        const done: Reading = reporting(
          { ...reading, isDone: true },
          {
            usage: {
              input_tokens: at(stats, "input_tokens"),
              cached_input_tokens: at(stats, "cached"),
              output_tokens: at(stats, "output_tokens"),
              model: mainModel(at(stats, "models"), "total_tokens")
            }
          }
        )
        if (at(event, "status") === "success") return done
        const message = textAt(event, "error", "message") ?? "It ended without a result"
        return { ...done, ...failing(message.replace(/^\[API Error: (.*)\]$/s, "$1"), at(event, "error")) }
      }
      default:
        return reading
    }
  },
  // Our own tools may end the run with a question.
  usesTool: (event) => at(event, "type") === "tool_use" && !isOwnTool(textAt(event, "tool_name")),
  speaker: (event) => {
    const type = at(event, "type")
    if (type === "tool_use" || (type === "message" && at(event, "role") === "assistant")) return "model"
    return type === "tool_result" ? "tool" : undefined
  },
  progress: (event) => {
    const id = textAt(event, "tool_id")
    switch (at(event, "type")) {
      case "tool_use":
        return { steps: [toolCall(id, textAt(event, "tool_name"), at(event, "parameters"))] }
      case "tool_result":
        return { steps: [toolResult(id, at(event, "output"), at(event, "status") === "error")] }
      case "message": {
        const text = saidBy(event)
        return text === undefined ? undefined : { text }
      }
      default:
        return undefined
    }
  }
})
