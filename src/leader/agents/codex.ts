import type { StepReport } from "../../domain/run/Step.ts"
import { isStrict } from "./AnswerSchema.ts"
import { totalsOf } from "./codex/Rollout.ts"
import {
  activityOf,
  at,
  denying,
  failing,
  listAt,
  type Reading,
  reporting,
  retrying,
  sessionUsage,
  textAt,
  toolCall,
  toolResult,
  toolServer
} from "./output/Reading.ts"
import { programPreset } from "./ProgramAgent.ts"
import { uuid } from "./Session.ts"

/** The activity of Codex, from an item that it has begun. */
const activityOfItem = (item: unknown): string | undefined => {
  switch (at(item, "type")) {
    case "command_execution":
      // It runs commands with a shell: `/bin/bash -lc 'npm test'`.
      return textAt(item, "command")?.replace(/^\S+ -lc (['"]?)(.*)\1$/s, "$2")
    case "file_change":
      return activityOf("Edit", listAt(item, "changes")[0])
    case "mcp_tool_call":
      return at(item, "server") === toolServer ? undefined : textAt(item, "tool")
    case "web_search":
      return activityOf("Search", item)
    default:
      return undefined
  }
}

const stepOfItem = (item: unknown, type: "item.started" | "item.completed"): StepReport | undefined => {
  const title = activityOfItem(item)
  if (title === undefined) return undefined
  const [id, tool] = [textAt(item, "id"), textAt(item, "tool") ?? textAt(item, "type")]
  const call = { ...toolCall(id, tool, at(item, "changes") ?? at(item, "arguments") ?? title), title }
  if (type === "item.started") return call
  const hasFailed = !["completed", undefined].includes(textAt(item, "status"))
  return { ...call, ...toolResult(id, at(item, "aggregated_output") ?? at(item, "result"), hasFailed) }
}

/** The usage is that of the whole session; a turn writes at least one token. */
const withTotals = (reading: Reading, usage: unknown): Reading => {
  const totals = sessionUsage(usage as object)
  return totals === undefined ? reading : { ...reading, totals, least: { output_tokens: 1 } }
}

/** https://developers.openai.com/codex/noninteractive; measured with 0.169.0. It reports no cost. */
export const codex = programPreset({
  title: "Codex",
  example: "codex --sandbox workspace-write",
  help: "Install it with `npm install --global @openai/codex`. Sign in with `codex login`.",
  program: "codex",
  args: ({ options, session }) => [
    ...["exec", "--json", "--skip-git-repo-check", ...options],
    ...(session === undefined ? [] : ["resume", session]),
    "-"
  ],
  tools: ({ command, script }) => ({
    // It does not wait for a server that is not required. The strings of TOML are those of JSON.
    options: Object.entries({
      command,
      args: [script],
      required: true,
      default_tools_approval_mode: "approve"
    }).flatMap(([name, value]) => ["-c", `mcp_servers.${toolServer}.${name}=${JSON.stringify(value)}`])
  }),
  answerSchema: { option: "--output-schema", inFile: true, takes: isStrict },
  grants: ["--sandbox", "-s", "--full-auto", "--yolo", "--dangerously-bypass-approvals-and-sandbox"],
  requests: { model: ["--model", "-m"], hidesCost: true },
  totalsOf,
  sessions: {
    format: uuid,
    lost: /no rollout found for thread id/
  },
  read: (reading, event) => {
    switch (at(event, "type")) {
      case "thread.started":
        return reporting(reading, { session_id: at(event, "thread_id") })
      case "turn.started": {
        // Towards a goal, it begins further turns by itself: the last one has the answer.
        const { failure: _, ...before } = reading
        return { ...before, isDone: false }
      }
      case "item.completed": {
        const item = at(event, "item")
        if (at(item, "status") === "declined") return denying(reading, activityOfItem(item) ?? "a tool")
        // The last message is the answer; those before it accompany the work.
        const text = at(item, "type") === "agent_message" ? textAt(item, "text") : undefined
        return text === undefined ? reading : { ...reading, answer: text }
      }
      case "turn.completed":
        return withTotals({ ...reading, isDone: true }, at(event, "usage"))
      case "turn.failed": {
        const message = textAt(event, "error", "message") ?? "The turn failed"
        return { ...reading, ...failing(message), isDone: true }
      }
      default:
        return reading
    }
  },
  usesTool: (event) => {
    const item = at(event, "item")
    // Our own tools may end the run with a question.
    const isOwn = at(item, "server") === toolServer
    const tools = ["command_execution", "file_change", "mcp_tool_call", "web_search"]
    return (
      at(event, "type") === (isOwn ? "item.completed" : "item.started") && tools.includes(textAt(item, "type") ?? "")
    )
  },
  speaker: (event) => {
    const isSaid = ["agent_message", "reasoning"].includes(textAt(event, "item", "type") ?? "")
    const type = at(event, "type")
    return type === "item.started" || (type === "item.completed" && isSaid)
      ? "model"
      : type === "item.completed"
        ? "tool"
        : undefined
  },
  progress: (event) => {
    const item = at(event, "item")
    const type = at(event, "type")
    if (type === "item.completed" && at(item, "type") === "agent_message") {
      return { text: textAt(item, "text") ?? "", isComplete: true }
    }
    if (type === "error") {
      const [, attempt, attempts, reason] =
        /^Reconnecting\D*(\d+)\/(\d+)\s*(.*)/s.exec(textAt(event, "message") ?? "") ?? []
      const status = /\b[45]\d\d\b/.exec(reason ?? "")?.[0]
      return attempt === undefined ? undefined : { steps: [retrying(status, attempt, attempts, reason)] }
    }
    const step = type === "item.started" || type === "item.completed" ? stepOfItem(item, type) : undefined
    return step === undefined ? undefined : { steps: [step] }
  }
})
