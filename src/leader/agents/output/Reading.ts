/** The reading of the events of a program or an endpoint so far; and functions that read events. */

import { Effect, Predicate } from "effect"
import { maxAnswer } from "../../../bus/Bodies.ts"
import { type AgentReport, readReport, type SessionUsage } from "../../../domain/run/AgentReport.ts"
import type { LeaderCode } from "../../../domain/run/RunStatus.ts"
import type { StepReport } from "../../../domain/run/Step.ts"
import type { UsageLimit } from "../../../domain/run/UsageLimit.ts"
import { type LeaderAnswer, LeaderError } from "../../Leader.ts"
import { limitedBy } from "./UsageLimits.ts"

export interface Reading {
  /** The answer, or its beginning; of an agent that is not done, what it said last. */
  readonly answer?: string
  /** Why it failed. */
  readonly failure?: string
  /** The usage limit that it has reached. It counts only with a failure: an agent may go on. */
  readonly limited?: UsageLimit
  /** It failed in this way, for example because it reached a limit: then it is stopped, and what there is of an answer is kept. */
  readonly code?: LeaderCode
  readonly report?: AgentReport
  /** The usage of the session, if the agent counts that. Some versions of an agent count the run. */
  readonly totals?: SessionUsage
  /** The agent's version, if it says it. */
  readonly version?: string
  /** The least that the run used of it. */
  readonly least?: SessionUsage
  /** No event that matters follows, unless the agent goes on. */
  readonly isDone?: boolean
}

export const nothing: Reading = {}

/** The least usage of a turn, if its session costs anything. */
export const costsSomething: SessionUsage = { cost_usd: 1e-9 }

/** The result of the reading, once there is nothing more to read. `silence`: the failure if there is no answer. */
export const conclude = (
  { answer, code, failure, limited, report }: Reading,
  silence: string
): Effect.Effect<LeaderAnswer, LeaderError> => {
  const known = report === undefined ? {} : { report }
  if (failure !== undefined) {
    if (code === undefined) {
      return new LeaderError({ message: failure, ...(limited && { limited }), ...known })
    }
    return new LeaderError({ message: failure, code, ...(answer !== undefined && { response: answer }), ...known })
  }
  if (answer === undefined) return new LeaderError({ message: silence, ...known })
  return Effect.succeed({ response: answer, ...known })
}

/** The text so far and its next piece. A text that is too long for an answer grows no more. */
export const appended = (text: string | undefined, piece: string): string =>
  text === undefined ? piece : text.length > maxAnswer ? text : text + piece

/** The value at the path in an event; `undefined` if there is none. */
export const at = (event: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((value, name) => (Predicate.isObject(value) ? value[name] : undefined), event)

export const textAt = (event: unknown, ...path: ReadonlyArray<string>): string | undefined => {
  const value = at(event, ...path)
  return typeof value === "string" ? value : undefined
}

export const listAt = (event: unknown, ...path: ReadonlyArray<string>): ReadonlyArray<unknown> => {
  const value = at(event, ...path)
  return Array.isArray(value) ? value : []
}

/** The sum of those values that are numbers; `undefined` if none is. */
export const sumOf = (...values: ReadonlyArray<unknown>): number | undefined => {
  const numbers = values.filter((value) => typeof value === "number")
  return numbers.length === 0 ? undefined : numbers.reduce((sum, value) => sum + value, 0)
}

/** The reading with these parts of a report, as far as they are known and valid. */
export const reporting = (reading: Reading, parts: { readonly [Part in keyof AgentReport]?: unknown }): Reading => {
  const report = readReport(parts)
  return report === undefined ? reading : { ...reading, report: { ...reading.report, ...report } }
}

/** The usage of a whole session, as far as it is known and valid. */
export const sessionUsage = (parts: { readonly [Part in keyof SessionUsage]?: unknown }): SessionUsage | undefined =>
  readReport({ session_usage: parts })?.session_usage

/** The reading with one more permission that the agent did not get. */
export const denying = (reading: Reading, permission: string): Reading =>
  reporting(reading, { denied: [...(reading.report?.denied ?? []), permission] })

/** An error message; of one that is JSON, as model endpoints send it, the message in it. */
export const messageOf = (text: string): string => {
  try {
    const parsed: unknown = JSON.parse(text)
    return textAt(parsed, "error", "message") ?? textAt(parsed, "message") ?? text
  } catch {
    return text
  }
}

/** How it failed, by an error's text, and the usage limit that this, or the whole error, reports. */
export const failing = (text: string, error: unknown = text): Pick<Reading, "failure" | "limited"> => ({
  failure: messageOf(text),
  ...limitedBy(error)
})

/** The name of our server of tools. */
export const toolServer = "webhook"
/** Programs' names for one of its tools: `mcp__webhook__ask`, `webhook_ask`, `ask (webhook MCP Server)`. */
const ownTool = new RegExp(`^((mcp_+)?${toolServer}_+\\w+|\\w+ \\(${toolServer} MCP Server\\))$`)
export const isOwnTool = (name: string | undefined): boolean => ownTool.test(name ?? "")

/** Agents' names for the object of a tool's use. */
const objects = ["command", "file_path", "path", "filePath", "pattern", "query", "url"]

/** The use of a tool in one line: the agent's own description, or the tool and what it is used on. */
export const activityOf = (tool: string | undefined, input: unknown): string | undefined => {
  const object = objects.map((name) => textAt(input, name)).find((text) => text !== undefined)
  return textAt(input, "description") ?? (object === undefined ? tool : `${tool}: ${object}`)
}

/** Tools that change files, as the programs call them. */
const changesFiles =
  /^(edit|multi_?edit|write|write_file|notebook_?edit|replace|patch|apply_patch|file_change|delete|move)$/i

/** A tool call that begins, or all of it. */
export const toolCall = (id: string | undefined, tool: string | undefined, input: unknown): StepReport => {
  const detail = textAt(input, "command") ?? (typeof input === "string" ? input : JSON.stringify(input))
  return {
    kind: changesFiles.test(tool ?? "") ? "file" : "tool",
    title: activityOf(tool, input) ?? "A tool",
    ...(id !== undefined && { id }),
    ...(tool !== undefined && { tool }),
    ...(detail !== undefined && detail !== "{}" && { detail }),
    status: "running"
  }
}

const bytesOf = (result: unknown): number =>
  Buffer.byteLength(typeof result === "string" ? result : (textAt(result, "text") ?? JSON.stringify(result) ?? ""))

/** How a tool call ended. */
export const toolResult = (id: string | undefined, result: unknown, hasFailed: boolean): StepReport => ({
  ...(id !== undefined && { id }),
  status: hasFailed ? "failed" : "ok",
  ...(result !== undefined && {
    result_bytes: Array.isArray(result) ? result.reduce((sum, part) => sum + bytesOf(part), 0) : bytesOf(result)
  })
})

/** A request to the model that failed and is repeated. */
export const retrying = (reason: unknown, attempt: unknown, attempts: unknown, detail?: string): StepReport => ({
  kind: "retry",
  title: `Retrying: ${reason ?? "no answer"} (${attempt} of ${attempts})`,
  ...(detail !== undefined && { detail })
})

/** The model with most of this amount, such as its cost. */
export const mainModel = (models: unknown, amount: string): string | undefined => {
  if (!Predicate.isObject(models)) return undefined
  const amountOf = (model: string) => sumOf(at(models, model, amount)) ?? 0
  return Object.keys(models).sort((a, b) => amountOf(b) - amountOf(a))[0]
}
