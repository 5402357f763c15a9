import { Predicate } from "effect"
import { type Agent, at, reporting, sumOf, textAt } from "./Agent.ts"

/** The model that cost most. */
const mainModel = (modelUsage: unknown): string | undefined => {
  if (!Predicate.isRecord(modelUsage)) return undefined
  const costOf = (model: string) => sumOf(at(modelUsage, model, "costUSD")) ?? 0
  return Object.keys(modelUsage).sort((a, b) => costOf(b) - costOf(a))[0]
}

const deniedTools = (denials: unknown): ReadonlyArray<unknown> | undefined =>
  Array.isArray(denials) && denials.length > 0 ? denials.map((denial) => at(denial, "tool_name")) : undefined

/** https://code.claude.com/docs/en/headless; measured with 2.1.197. */
export const claude: Agent = {
  title: "Claude Code",
  program: "claude",
  args: (options) => ["-p", "--output-format", "stream-json", "--verbose", ...options],
  read: (work, event) => {
    if (at(event, "type") !== "result") return reporting(work, { session_id: at(event, "session_id") })
    const usage = at(event, "usage")
    const done = reporting(
      { ...work, isDone: true },
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
        denied: deniedTools(at(event, "permission_denials"))
      }
    )
    const text = textAt(event, "result")
    // A failed request to the model has the subtype `success`: only `is_error` counts.
    if (at(event, "is_error") === true || text === undefined) {
      return { ...done, failure: text ?? `Claude Code ended with ${textAt(event, "subtype") ?? "no result"}` }
    }
    return { ...done, answer: text }
  }
}
