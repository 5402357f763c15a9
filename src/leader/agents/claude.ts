import { Predicate } from "effect"
import { withoutCommand } from "./CallerText.ts"
import { activityOf, at, listAt, reporting, sumOf, textAt } from "./output/Reading.ts"
import { programPreset } from "./ProgramAgent.ts"
import { uuid } from "./Session.ts"

/** The model that cost most. */
const mainModel = (modelUsage: unknown): string | undefined => {
  if (!Predicate.isRecord(modelUsage)) return undefined
  const costOf = (model: string) => sumOf(at(modelUsage, model, "costUSD")) ?? 0
  return Object.keys(modelUsage).sort((a, b) => costOf(b) - costOf(a))[0]
}

const line = (message: unknown) => `${JSON.stringify(message)}\n`

/** https://code.claude.com/docs/en/headless; measured with 2.1.197. */
export const claude = programPreset({
  title: "Claude Code",
  example: "claude --permission-mode acceptEdits",
  help: "Install it with `npm install --global @anthropic-ai/claude-code`. Sign in: start `claude` and enter /login, or set ANTHROPIC_API_KEY.",
  program: "claude",
  args: (options, session) => [
    ...["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
    "--include-partial-messages",
    ...(session === undefined ? [] : ["--resume", session]),
    ...options
  ],
  input: (prompt) =>
    line({ type: "user", message: { role: "user", content: [{ type: "text", text: withoutCommand(prompt) }] } }),
  interrupt: line({ type: "control_request", request_id: "stop", request: { subtype: "interrupt" } }),
  permissions: [
    ...["--allowedTools", "--permission-mode", "--dangerously-skip-permissions", "--permission-prompt-tool"],
    ...["--settings", "--tools", "--allowed-tools"]
  ],
  sessions: { format: uuid, lost: /No conversation found with session ID/ },
  read: (reading, event) => {
    if (at(event, "type") !== "result") return reporting(reading, { session_id: at(event, "session_id") })
    const usage = at(event, "usage")
    const denied = listAt(event, "permission_denials").map((denial) => at(denial, "tool_name"))
    const done = reporting(
      { ...reading, isDone: true },
      {
        usage: {
          // Without those that the cache saved.
          input_tokens: sumOf(
            at(usage, "input_tokens"),
            at(usage, "cache_read_input_tokens"),
            at(usage, "cache_creation_input_tokens")
          ),
          cached_input_tokens: at(usage, "cache_read_input_tokens"),
          output_tokens: at(usage, "output_tokens"),
          cost_usd: at(event, "total_cost_usd"),
          model: mainModel(at(event, "modelUsage"))
        },
        session_id: at(event, "session_id"),
        ...(denied.length > 0 && { denied })
      }
    )
    const text = textAt(event, "result")
    // A failed request to the model has the subtype `success`: only `is_error` counts.
    if (at(event, "is_error") !== true && text !== undefined) return { ...done, answer: text }
    const [error] = listAt(event, "errors")
    const ending = `Claude Code ended with ${textAt(event, "subtype") ?? "no result"}`
    return { ...done, failure: text ?? (typeof error === "string" ? error : ending) }
  },
  progress: (event) => {
    // The work of a subagent is no part of the answer.
    const isOwn = typeof at(event, "parent_tool_use_id") !== "string"
    if (at(event, "type") === "stream_event" && isOwn) {
      const text = textAt(event, "event", "delta", "text")
      return text === undefined ? undefined : { text }
    }
    if (at(event, "type") !== "assistant") return undefined
    const [tool] = listAt(event, "message", "content").filter((part) => at(part, "type") === "tool_use")
    const activity = activityOf(textAt(tool, "name"), at(tool, "input"))
    return activity === undefined ? undefined : { activity }
  }
})
