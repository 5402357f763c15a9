/** What the presets for agent programs share. Each preset is a file of its own in this folder. */
import { Predicate } from "effect"
import { type AgentReport, readReport } from "../../domain/run/AgentReport.ts"

/** A program that answers one prompt at a time, and prints what it does as JSON, one event on a line. */
export interface Agent {
  /** As people know it: `Claude Code`. */
  readonly title: string
  /** The program's name in `PATH`. */
  readonly program: string
  /** The program's arguments, given the operator's options. The prompt is on its standard input, never among them. */
  readonly args: (options: ReadonlyArray<string>) => ReadonlyArray<string>
  /** The work after one more event. */
  readonly read: (work: Work, event: unknown) => Work
}

/** What the events have shown so far. */
export interface Work {
  /** The answer, or its beginning. */
  readonly answer?: string
  /** Why it failed. */
  readonly failure?: string
  readonly report?: AgentReport
  /** No event that matters can follow, so the program should end. */
  readonly isDone?: boolean
}

export const nothing: Work = {}

/** The value at the path in an event; `undefined` if there is none. */
export const at = (event: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((value, name) => (Predicate.isRecord(value) ? value[name] : undefined), event)

export const textAt = (event: unknown, ...path: ReadonlyArray<string>): string | undefined => {
  const value = at(event, ...path)
  return typeof value === "string" ? value : undefined
}

/** The sum of those values that are numbers; `undefined` if none is. */
export const sumOf = (...values: ReadonlyArray<unknown>): number | undefined => {
  const numbers = values.filter((value) => typeof value === "number")
  return numbers.length === 0 ? undefined : numbers.reduce((sum, value) => sum + value, 0)
}

/** The work with these parts of a report, as far as they are known and valid. */
export const reporting = (work: Work, parts: { readonly [Part in keyof AgentReport]?: unknown }): Work => {
  const report = readReport(parts)
  return report === undefined ? work : { ...work, report: { ...work.report, ...report } }
}

/** An error message; of one that is JSON, as model endpoints send it, the message in it. */
export const messageOf = (text: string): string => {
  try {
    const parsed: unknown = JSON.parse(text)
    return textAt(parsed, "error", "message") ?? textAt(parsed, "message") ?? text
  } catch {
    return text
  }
}
