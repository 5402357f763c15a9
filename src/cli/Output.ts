import { Console, DateTime, Effect } from "effect"
import * as Json from "../domain/Json.ts"

type Cell = string | number | undefined

/** Without a terminal, or on one that does not know its width, lines have any length. */
export const terminalWidth = (): number => (process.stdout.isTTY && process.stdout.columns) || Number.POSITIVE_INFINITY

const gap = 2
const lengthOf = (text: string): number => [...text].length
const total = (widths: ReadonlyArray<number>): number =>
  widths.reduce((sum, width) => sum + width, 0) + gap * (widths.length - 1)

/** A cut time is legible up to its minute. */
const leastOf = (cells: ReadonlyArray<string>): number =>
  cells.some((cell) => /^\d{4}-\d\d-\d\d \d\d:/.test(cell)) ? "2026-01-02 03:04".length + 1 : 8

/**
 * The widths of as many columns as fit, from the left. The first is never cut, as it identifies the row; of the others, the
 * widest are.
 */
const widthsFor = (columns: ReadonlyArray<ReadonlyArray<string>>, width: number): ReadonlyArray<number> => {
  const full = columns.map((cells) => Math.max(...cells.map(lengthOf)))
  const least = columns.map((cells, at) => (at === 0 ? full[at]! : Math.min(full[at]!, leastOf(cells))))
  const count = Math.max(1, columns.filter((_, at) => total(least.slice(0, at + 1)) <= width).length)
  const widths = full.slice(0, count)
  while (total(widths) > width) {
    const widest = widths.reduce((best, each, at) => (each - least[at]! > widths[best]! - least[best]! ? at : best), 0)
    if (widths[widest] === least[widest]) break
    widths[widest]!--
  }
  return widths
}

const cut = (text: string, width: number): string =>
  lengthOf(text) <= width ? text : `${[...text].slice(0, width - 1).join("")}…`

/**
 * A table with two spaces between columns and a dash for absent values. On a terminal it has the terminal's width: long
 * cells are cut, and columns that do not fit are named below.
 */
export const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<Cell>>): string => {
  const lines = [head, ...rows.map((row) => row.map((cell) => oneLine(String(cell ?? "-"))))]
  const widths = widthsFor(
    head.map((_, column) => lines.map((line) => line[column]!)),
    terminalWidth()
  )
  const hidden = head.slice(widths.length)
  return [
    ...lines.map((line) =>
      widths
        .map((width, column) => cut(line[column]!, width))
        .map((cell, column) => cell + " ".repeat(widths[column]! - lengthOf(cell)))
        .join(" ".repeat(gap))
        .trimEnd()
    ),
    ...(hidden.length === 0 ? [] : [`\nToo wide for this terminal: ${hidden.join(", ")}`])
  ].join("\n")
}

/** One name and value per line, aligned. Absent values are omitted. */
export const fields = (values: Readonly<Record<string, Cell>>): string => {
  const known = Object.entries(values).filter(([, value]) => value !== undefined)
  const width = Math.max(...known.map(([name]) => name.length))
  return known.map(([name, value]) => `${name.padEnd(width)}  ${oneLine(String(value))}`).join("\n")
}

/** An indented text under a heading. */
export const section = (heading: string, text: string): string =>
  `\n${heading}\n${text
    .split("\n")
    .map((line) => `  ${printable(line)}`.trimEnd())
    .join("\n")}`

/** Replaces control characters, so that text from others cannot control the terminal. */
export const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to replace
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "�")

/** An agent's answer, unchanged for programs and safe for terminals. */
export const answerText = (text: string): string => (process.stdout.isTTY ? printable(text) : text)

const oneLine = (text: string): string => printable(text.replace(/\s*\n\s*/g, " ↵ "))

/** `2026-11-20 10:23:28Z` */
export const time = (time: DateTime.Utc | undefined): string | undefined =>
  time && DateTime.formatIso(time).replace("T", " ").replace(/\.\d+/, "")

/** As in `1 run` and `3 runs`. */
export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

export const yesNo = (value: boolean): string => (value ? "yes" : "no")

const symbols: Readonly<Record<string, string>> = { seconds: "s" }

/** `60 s`, `3 GiB`, `20` */
export const quantity = (value: number | string, unit: string | undefined): string =>
  unit === undefined ? String(value) : `${value} ${symbols[unit] ?? unit}`

/** `340 ms`, `12.5 s`, `3 min 20 s` */
export const elapsed = (ms: number | undefined): string | undefined => {
  if (ms === undefined) return undefined
  if (ms < 1000) return `${ms} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`
}

/** Not `log` and `error`, which the library uses. */
export const print = (text: string): Effect.Effect<void> => Console.info(text)
export const printError = (text: string): Effect.Effect<void> => Console.warn(text)
/** Writes a part of a text to standard output. A reader that is gone, as after `head`, does not matter. */
export const write = (text: string): Effect.Effect<void> =>
  Effect.async((resume) => {
    const ignored = () => {}
    process.stdout.on("error", ignored)
    process.stdout.write(text, () => {
      // The event follows the callback.
      setImmediate(() => process.stdout.off("error", ignored))
      resume(Effect.void)
    })
  })
export const printJson = (value: unknown): Effect.Effect<void> => print(Json.stringify(value, 2))

export const acceptedText = (id: string): string =>
  `Accepted as ${id}. Show the outcome: webhook-trigger run show ${id}`
