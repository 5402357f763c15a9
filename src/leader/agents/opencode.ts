import { Predicate } from "effect"
import type { StepReport } from "../../domain/run/Step.ts"
import {
  at,
  denying,
  failing,
  type Reading,
  reporting,
  sumOf,
  textAt,
  toolCall,
  toolResult,
  toolServer
} from "./output/Reading.ts"
import { programPreset } from "./ProgramAgent.ts"

/** The steps of a run each report what they used. */
const addStep = (reading: Reading, part: unknown): Reading => {
  const before = reading.report?.usage
  const tokens = at(part, "tokens")
  const cached = at(tokens, "cache", "read")
  return reporting(reading, {
    usage: {
      ...before,
      input_tokens: sumOf(before?.input_tokens, at(tokens, "input"), cached, at(tokens, "cache", "write")),
      cached_input_tokens: sumOf(before?.cached_input_tokens, cached),
      output_tokens: sumOf(before?.output_tokens, at(tokens, "output")),
      cost_usd: sumOf(before?.cost_usd, at(part, "cost"))
    }
  })
}

/** The reasons for the end of a step after which there is another one. */
const goesOn = ["tool-calls", "unknown"]

/** The operator's own settings in the variable, which ours are added to; `undefined`: they are none. */
const settings = (text: string | undefined): Readonly<Record<string, unknown>> | undefined => {
  try {
    const parsed: unknown = JSON.parse(text || "{}")
    return Predicate.isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

/** https://opencode.ai/docs/cli/#run; measured with 1.18.33. Without `--auto`, it rejects what its settings say to ask. */
export const opencode = programPreset({
  title: "OpenCode",
  example: "opencode --model anthropic/claude-opus-4-8",
  help: "Install it with `npm install --global opencode-ai`. Sign in with `opencode auth login`.",
  program: "opencode",
  args: ({ options, session }) => [
    ...["run", "--format", "json"],
    ...(session === undefined ? [] : ["--session", session]),
    ...options
  ],
  tools: ({ command, script }) => {
    const own = settings(process.env.OPENCODE_CONFIG_CONTENT)
    if (own === undefined) return {}
    const { mcp, permission = {} } = own
    const config = {
      ...own,
      mcp: { ...(mcp as object), [toolServer]: { type: "local", command: [command, script] } },
      permission: Predicate.isObject(permission) ? { ...permission, [`${toolServer}_*`]: "allow" } : permission
    }
    return { env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(config) } }
  },
  grants: ["--auto", "--agent"],
  requests: { model: ["--model", "-m"] },
  sessions: { format: /^ses_\w+$/, lost: /Session not found/ },
  read: (before, event) => {
    const reading = reporting(before, { session_id: at(event, "sessionID") })
    const part = at(event, "part")
    switch (at(event, "type")) {
      case "step_start":
        return { ...reading, isDone: false }
      case "text":
        // The last text is the answer; those before it accompany the work.
        return { ...reading, answer: textAt(part, "text") ?? reading.answer ?? "" }
      case "tool_use": {
        const isDenied = textAt(part, "state", "error")?.includes("rejected permission") === true
        return isDenied ? denying(reading, textAt(part, "tool") ?? "a tool") : reading
      }
      case "step_finish":
        return { ...addStep(reading, part), isDone: !goesOn.includes(textAt(part, "reason") ?? "") }
      case "error":
        return {
          ...reading,
          isDone: true,
          ...failing(
            textAt(event, "error", "data", "message") ?? textAt(event, "error", "name") ?? "It failed",
            at(event, "error")
          )
        }
      default:
        return reading
    }
  },
  // It reports tools when they have been used, and then what the step has used.
  usesTool: (event) =>
    at(event, "type") === "step_finish" && goesOn.includes(textAt(at(event, "part"), "reason") ?? ""),
  speaker: (event) => {
    const type = at(event, "type")
    return type === "step_start" ? "model" : type === "step_finish" ? "tool" : undefined
  },
  progress: (event) => {
    const part = at(event, "part")
    if (at(event, "type") === "text") return { text: textAt(part, "text") ?? "", isComplete: true }
    if (at(event, "type") !== "tool_use") return undefined
    // It reports tools only when they have been used.
    const [id, state] = [textAt(part, "callID"), at(part, "state")]
    const [start, end] = [at(state, "time", "start"), at(state, "time", "end")]
    const call: StepReport = {
      ...toolCall(id, textAt(part, "tool"), at(state, "input")),
      ...toolResult(id, at(state, "output") ?? at(state, "error"), at(state, "status") === "error"),
      ...(typeof start === "number" && typeof end === "number" && { duration_ms: Math.max(0, end - start) })
    }
    return { steps: [call] }
  }
})
