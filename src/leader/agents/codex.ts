import { type Agent, at, messageOf, reporting, textAt } from "./Agent.ts"

/** https://developers.openai.com/codex/noninteractive; measured with 0.169.0. It reports no cost. */
export const codex: Agent = {
  title: "Codex",
  program: "codex",
  args: (options) => ["exec", "--json", "--skip-git-repo-check", ...options, "-"],
  read: (work, event) => {
    switch (at(event, "type")) {
      case "thread.started":
        return reporting(work, { session_id: at(event, "thread_id") })
      case "item.completed": {
        // The last message is the answer; those before it accompany the work.
        const text = at(event, "item", "type") === "agent_message" ? textAt(event, "item", "text") : undefined
        return text === undefined ? work : { ...work, answer: text }
      }
      case "turn.completed":
        return reporting({ ...work, isDone: true }, { usage: at(event, "usage") })
      case "turn.failed":
        return { ...work, failure: messageOf(textAt(event, "error", "message") ?? "The turn failed"), isDone: true }
      default:
        return work
    }
  }
}
