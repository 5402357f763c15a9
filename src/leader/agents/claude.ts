import { Predicate } from "effect"
import type { Prompt } from "../../bus/Bus.ts"
import { isPlain } from "./AnswerSchema.ts"
import { costExceeded, turnsExceeded } from "./output/Limits.ts"
import {
  at,
  costsSomething,
  failing,
  listAt,
  mainModel,
  type Reading,
  reporting,
  retrying,
  sessionUsage,
  sumOf,
  textAt,
  toolCall,
  toolResult,
  toolServer
} from "./output/Reading.ts"
import { limitUntil } from "./output/UsageLimits.ts"
import { programPreset } from "./ProgramAgent.ts"
import { uuid } from "./Session.ts"

/**
 * The prompt's text for agents that take a text which begins with a slash for a command, such as `/clear`. Only people who
 * manage the webhook, or chat with the team, may give one.
 */
const withoutCommand = ({ prompt, source, template }: Prompt): string =>
  prompt.startsWith("/") && source === "webhook" && !template?.startsWith("/") ? ` ${prompt}` : prompt

interface ClaudeReading extends Reading {
  /** A turn has ended with a result. */
  readonly hasResult?: boolean
  /** Agents and commands of it work in the background; when they end, it begins another turn. */
  readonly hasTasks?: boolean
  /** The last input of the tool for its answer, as JSON. */
  readonly shaped?: string
}

const withDone = (reading: ClaudeReading): ClaudeReading => ({
  ...reading,
  isDone: reading.hasResult === true && reading.hasTasks !== true
})

/** The work of a subagent is no part of the answer. */
const isOwn = (event: unknown): boolean => typeof at(event, "parent_tool_use_id") !== "string"

const said = (event: unknown): string =>
  listAt(event, "message", "content")
    .map((part) => textAt(part, "text") ?? "")
    .join("")

/** The tool that takes an answer with a schema. */
const shapedIn = (event: unknown): string | undefined => {
  const use = listAt(event, "message", "content").findLast((part) => at(part, "name") === "StructuredOutput")
  const input = at(use, "input")
  return input === undefined ? undefined : JSON.stringify(input)
}

/** The tokens that it read include those that the cache saved. */
const tokensOf = (input: unknown, cached: unknown, created: unknown, output: unknown) => ({
  input_tokens: sumOf(input, cached, created),
  cached_input_tokens: cached,
  output_tokens: output
})

/** The usage of the turn, without subagents. */
const turnUsage = (event: unknown) => {
  const usage = at(event, "usage")
  const [input, output] = [at(usage, "input_tokens"), at(usage, "output_tokens")]
  return tokensOf(input, at(usage, "cache_read_input_tokens"), at(usage, "cache_creation_input_tokens"), output)
}

/** The tokens of all models, so with subagents; since about 2.1.277, of the whole session. */
const modelTokens = (models: Readonly<Record<string, unknown>>) => {
  const sum = (field: string) => sumOf(...Object.values(models).map((model) => at(model, field)))
  const [input, output] = [sum("inputTokens"), sum("outputTokens")]
  return tokensOf(input, sum("cacheReadInputTokens"), sum("cacheCreationInputTokens"), output)
}

const withUsage = (reading: ClaudeReading, event: unknown): ClaudeReading => {
  const [models, cost_usd] = [at(event, "modelUsage"), at(event, "total_cost_usd")]
  const isByModel = Predicate.isObject(models)
  const usage = { model: mainModel(models, "costUSD"), ...(!isByModel && turnUsage(event)) }
  const totals = sessionUsage({ cost_usd, ...(isByModel && modelTokens(models)) })
  if (totals === undefined) return reporting(reading, { usage })
  const isFailure = at(event, "is_error") === true
  const least = isByModel ? sessionUsage(turnUsage(event)) : isFailure ? undefined : costsSomething
  return { ...reporting(reading, { usage }), totals, ...(least && { least }) }
}

const withResult = ({ failure: _, ...before }: ClaudeReading, event: unknown): ClaudeReading => {
  const denied = listAt(event, "permission_denials").map((denial) => at(denial, "tool_name"))
  const reported = reporting(withUsage(before, event), {
    session_id: at(event, "session_id"),
    ...(denied.length > 0 && { denied })
  })
  const reading: ClaudeReading = { ...reported, hasResult: true }
  // With a schema, the answer is what it gave to a tool.
  const shaped = at(event, "structured_output")
  const text = shaped === undefined ? textAt(event, "result") : JSON.stringify(shaped)
  // A failed request to the model has the subtype `success`: only `is_error` counts.
  if (at(event, "is_error") !== true && text !== undefined) return { ...reading, answer: text }
  const [error] = listAt(event, "errors")
  const subtype = textAt(event, "subtype")
  if (subtype === "error_max_turns") return { ...reading, ...turnsExceeded(undefined) }
  if (subtype === "error_max_structured_output_retries") {
    const answer = text ?? reading.shaped ?? reading.answer
    const failure = "Claude Code gave up: its answers did not match the schema"
    return { ...reading, code: "answer_invalid", failure, ...(answer !== undefined && { answer }) }
  }
  if (subtype === "error_max_budget_usd") return { ...reading, ...costExceeded(undefined) }
  const ending = `Claude Code ended with ${subtype ?? "no result"}`
  const failed = failing(text ?? (typeof error === "string" ? error : ending))
  const isLimited = (failed.limited ?? reading.limited) !== undefined || at(event, "api_error_status") === 429
  return { ...reading, ...failed, ...(isLimited && { limited: { ...failed.limited, ...reading.limited } }) }
}

const line = (message: unknown) => `${JSON.stringify(message)}\n`

/** https://code.claude.com/docs/en/headless; measured with 2.1.197 and 2.1.332. */
export const claude = programPreset({
  title: "Claude Code",
  example: "claude --permission-mode acceptEdits",
  help: "Install it with `npm install --global @anthropic-ai/claude-code`. Sign in: start `claude` and enter /login, or set ANTHROPIC_API_KEY.",
  program: "claude",
  args: ({ options, session }) => [
    ...["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
    "--include-partial-messages",
    ...(session === undefined ? [] : ["--resume", session]),
    ...options
  ],
  tools: ({ command, script }) => ({
    options: [
      // `alwaysLoad`: otherwise it begins before the server is there, or has to search for the tools.
      "--mcp-config",
      JSON.stringify({ mcpServers: { [toolServer]: { command, args: [script], alwaysLoad: true } } }),
      ...["--allowedTools", `mcp__${toolServer}`]
    ]
  }),
  input: (prompt) =>
    line({ type: "user", message: { role: "user", content: [{ type: "text", text: withoutCommand(prompt) }] } }),
  interrupt: line({ type: "control_request", request_id: "stop", request: { subtype: "interrupt" } }),
  permissions: [
    ...["--allowedTools", "--permission-mode", "--dangerously-skip-permissions", "--permission-prompt-tool"],
    ...["--settings", "--tools", "--allowed-tools"]
  ],
  answerSchema: { option: "--json-schema", takes: isPlain },
  requests: { model: ["--model"], max_turns: "--max-turns", max_cost: "--max-budget-usd" },
  sessions: { format: uuid, lost: /No conversation found with session ID/ },
  read: (before: ClaudeReading, event): ClaudeReading => {
    const type = at(event, "type")
    if (type === "result") return withDone(withResult(before, event))
    const reading: ClaudeReading = reporting(before, { session_id: at(event, "session_id") })
    switch (type === "system" ? at(event, "subtype") : type) {
      case "background_tasks_changed":
        return withDone({ ...reading, hasTasks: listAt(event, "tasks").length > 0 })
      case "init": {
        const version = textAt(event, "claude_code_version")
        return withDone({ ...reading, hasResult: false, ...(version !== undefined && { version }) })
      }
      case "rate_limit_event": {
        const { limited: _, ...others } = reading
        const info = at(event, "rate_limit_info")
        if (at(info, "status") !== "rejected") return others
        const end = at(info, "resetsAt")
        return { ...others, limited: limitUntil(typeof end === "number" ? end * 1_000 : undefined) }
      }
      case "stream_event":
        return isOwn(event) ? withDone({ ...reading, hasResult: false }) : reading
      case "assistant": {
        if (!isOwn(event)) return reading
        const [text, shaped] = [said(event), shapedIn(event)]
        return { ...reading, ...(text !== "" && { answer: text }), ...(shaped !== undefined && { shaped }) }
      }
      default:
        return reading
    }
  },
  progress: (event) => {
    const parts = (type: string) => listAt(event, "message", "content").filter((part) => at(part, "type") === type)
    switch (at(event, "type")) {
      case "stream_event": {
        const text = isOwn(event) ? textAt(event, "event", "delta", "text") : undefined
        return text === undefined ? undefined : { text }
      }
      case "assistant":
        return {
          steps: parts("tool_use").map((use) => toolCall(textAt(use, "id"), textAt(use, "name"), at(use, "input")))
        }
      case "user":
        return {
          steps: parts("tool_result").map((result) =>
            toolResult(textAt(result, "tool_use_id"), at(result, "content"), at(result, "is_error") === true)
          )
        }
      case "system": {
        if (at(event, "subtype") !== "api_retry") return undefined
        const [reason, status] = [textAt(event, "error"), at(event, "error_status")]
        return { steps: [retrying(status ?? reason, at(event, "attempt"), at(event, "max_retries"), reason)] }
      }
      default:
        return undefined
    }
  }
})
