import { fstatSync, statSync } from "node:fs"
import { devNull } from "node:os"
import { Console, Data, DateTime, Effect, Schema } from "effect"
import { Uuid } from "../domain/Id.ts"
import * as Json from "../domain/Json.ts"

type Cell = string | number | undefined

/** Without a terminal, or on one that does not know its width, lines have any length. */
const terminalWidth = (): number => (process.stdout.isTTY && process.stdout.columns) || Number.POSITIVE_INFINITY

const gap = 2
const lengthOf = (text: string): number => [...text].length
const total = (widths: ReadonlyArray<number>): number =>
  widths.reduce((sum, width) => sum + width, 0) + gap * (widths.length - 1)

/** Times and IDs are never cut: a part of an ID that is no end of it names nothing. */
const leastOf = (cells: ReadonlyArray<string>): number =>
  Math.max(14, ...cells.filter((cell) => / ago$/.test(cell) || isId(cell)).map(lengthOf))

/** The widths of as many columns as fit, from the left. The widest are cut; the first keeps twenty characters. */
const widthsFor = (columns: ReadonlyArray<ReadonlyArray<string>>, width: number): ReadonlyArray<number> => {
  const full = columns.map((cells) => Math.max(...cells.map(lengthOf)))
  const least = columns.map((cells, at) => Math.min(full[at]!, at === 0 ? 20 : leastOf(cells)))
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

/** The colours of states on a terminal: SGR codes (ECMA-48, 8.3.117). */
const colours: ReadonlyMap<string, number> = new Map([
  ...["success", "delivered", "resolved"].map((state) => [state, 32] as const),
  ...["error", "failed", "firing"].map((state) => [state, 31] as const),
  ...["timeout"].map((state) => [state, 33] as const),
  ...["queued", "collecting", "pending", "sent", "working"].map((state) => [state, 36] as const),
  ...["cancelled"].map((state) => [state, 90] as const)
])

/** A state in its colour. `hasColors` respects `NO_COLOR` and `TERM`. */
const painted = (state: string): string => {
  const colour = process.stdout.isTTY && process.stdout.hasColors() ? colours.get(state.trimEnd()) : undefined
  return colour === undefined ? state : `\u001b[${colour}m${state}\u001b[0m`
}

const isState = (name: string) => /^(status|state)$/i.test(name)

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
        .map((cell, column) => (isState(head[column]!) ? painted(cell) : cell))
        .join(" ".repeat(gap))
        .trimEnd()
    ),
    ...(hidden.length === 0 ? [] : [`\nToo wide for this terminal: ${hidden.join(", ")}`])
  ].join("\n")
}

interface List<A> {
  readonly data: ReadonlyArray<A>
  readonly next_cursor?: string | null
}

/** A column shows a field, or what is made of the entry. */
type Columns<A> = Readonly<Record<string, keyof A | ((one: A) => unknown)>>

const cellOf = (value: unknown): Cell => {
  if (DateTime.isDateTime(value)) return ago(DateTime.toUtc(value))
  if (typeof value === "boolean") return yesNo(value)
  return Array.isArray(value) ? value.join(" ") : (value as Cell)
}

/** A list as a table: its columns, the text of an empty list, and what the next page has. */
export const listText =
  <A>(columns: Columns<A>, empty: string, more = "") =>
  ({ data, next_cursor }: List<A>): string => {
    const show = (one: A) =>
      Object.values(columns).map((column) => cellOf(typeof column === "function" ? column(one) : one[column]))
    const text = data.length === 0 ? empty : table(Object.keys(columns), data.map(show))
    return more === "" || !next_cursor ? text : `${text}\n\n${more}: --cursor ${next_cursor}`
  }

/** One name and value per line, aligned. Absent values are omitted. */
export const fields = (values: Readonly<Record<string, Cell>>): string => {
  const known = Object.entries(values).filter(([, value]) => value !== undefined)
  const width = Math.max(...known.map(([name]) => name.length))
  return known
    .map(([name, value]) => [name, oneLine(String(value))] as const)
    .map(([name, text]) => `${name.padEnd(width)}  ${isState(name) ? painted(text) : text}`)
    .join("\n")
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

/** Any text as one word of a POSIX shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const oneLine = (text: string): string => printable(text.replace(/\s*\n\s*/g, " ↵ "))

/** `2026-11-20 10:23:28Z` */
export const time = (time: DateTime.Utc | undefined): string | undefined =>
  time && DateTime.formatIso(time).replace("T", " ").replace(/\.\d+/, "")

const units = [
  [1, "s"],
  [60, "min"],
  [3600, "h"],
  [86_400, "d"]
] as const

/** `3 min ago`; less than ten seconds are `just now`. */
export const age = (time: DateTime.Utc, now = Date.now()): string => {
  const seconds = Math.floor((now - time.epochMilliseconds) / 1000)
  const [size, unit] = units.findLast(([size]) => seconds >= size) ?? units[0]
  return seconds < 10 ? "just now" : `${Math.floor(seconds / size)} ${unit} ago`
}

/** A past time in a table: its age on a terminal, and the time itself for programs. */
export const ago = (at: DateTime.Utc | undefined): string | undefined =>
  at && (process.stdout.isTTY ? age(at) : time(at))

/** A past time among other fields: on a terminal, also its age. */
export const timeAndAge = (at: DateTime.Utc | undefined): string | undefined =>
  at && (process.stdout.isTTY ? `${time(at)} (${age(at)})` : time(at))

export const isId = Schema.is(Uuid)
/** An ID in a table. On a terminal it is short: the last digits are random, while IDs of the same minute begin alike. */
export const shortId = (id: string): string => (process.stdout.isTTY && isId(id) ? id.slice(-shortIdLength) : id)
export const shortIdOf = ({ id }: { readonly id: string }): string => shortId(id)
export const shortIdLength = 8

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

export const print = (text: string): Effect.Effect<void> => Console.info(text)
export const printError = (text: string): Effect.Effect<void> => Console.warn(text)
/** Writes a part of a text to standard output. A reader that is gone, as after `head`, does not matter. */
export const write = (text: string): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const ignored = () => {}
    process.stdout.on("error", ignored)
    process.stdout.write(text, () => {
      // The event follows the callback.
      setImmediate(() => process.stdout.off("error", ignored))
      resume(Effect.void)
    })
  })
/** Nobody can have read the text. */
export class NotShown extends Data.TaggedError("NotShown")<{ readonly because: string }> {}
/** Prints a text that cannot be printed again, and fails if standard output is closed or discarded. */
export const printOnce = (text: string): Effect.Effect<void, NotShown> =>
  Effect.callback((resume) => {
    const fail = (because: string) => resume(new NotShown({ because }))
    // Node opens it there if it was closed.
    if (fstatSync(1).rdev === statSync(devNull).rdev && fstatSync(1).isCharacterDevice()) return fail("goes nowhere")
    const ended = (error: NodeJS.ErrnoException) => fail(`fails with ${error.code}`)
    process.stdout.on("error", ended)
    process.stdout.write(`${text}\n`, (error) => {
      setImmediate(() => process.stdout.off("error", ended))
      if (error) ended(error)
      else resume(Effect.void)
    })
  })
export const printJson = (value: unknown): Effect.Effect<void> => print(Json.stringify(value, 2))

export const acceptedText = (id: string): string =>
  `Accepted as ${id}. Show the outcome: webhook-trigger run show ${id}`
