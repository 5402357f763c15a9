import { type Agent, at, reporting, sumOf, textAt, type Work } from "./Agent.ts"

/** The steps of a run each report what they used. */
const addStep = (work: Work, part: unknown): Work => {
  const before = work.report?.usage
  const tokens = at(part, "tokens")
  const cached = at(tokens, "cache", "read")
  return reporting(work, {
    usage: {
      ...before,
      input_tokens: sumOf(before?.input_tokens, at(tokens, "input"), cached, at(tokens, "cache", "write")),
      cached_input_tokens: sumOf(before?.cached_input_tokens, cached),
      output_tokens: sumOf(before?.output_tokens, at(tokens, "output")),
      cost_usd: sumOf(before?.cost_usd, at(part, "cost"))
    }
  })
}

/** https://opencode.ai/docs/cli/#run; measured with 1.18.33. */
export const opencode: Agent = {
  title: "OpenCode",
  program: "opencode",
  args: (options) => ["run", "--format", "json", ...options],
  read: (before, event) => {
    const work = reporting(before, { session_id: at(event, "sessionID") })
    switch (at(event, "type")) {
      case "text":
        // The last text is the answer; those before it accompany the work.
        return { ...work, answer: textAt(event, "part", "text") ?? work.answer ?? "" }
      case "step_finish":
        return addStep(work, at(event, "part"))
      case "error":
        return {
          ...work,
          failure: textAt(event, "error", "data", "message") ?? textAt(event, "error", "name") ?? "It failed"
        }
      default:
        return work
    }
  }
}
