/** Prompt templates: text with `{{name}}` placeholders. Parsing and filling take time linear in the input. */

import { Option, Result } from "effect"
import * as Json from "../Json.ts"
import type { Variables } from "../run/Run.ts"
import { type BlockMark, type FilledPart, type FilledValue, isDataValue, textOf } from "./FilledPart.ts"
import { bareName, lookUp, nameOf, type Path, quotedName, unquoted } from "./Path.ts"

/** A placeholder; `start` and `end` are the positions of its braces in the template. */
interface Placeholder {
  /** The path as shown, with quotes only where needed. */
  readonly name: string
  readonly path: Path
  /** Optional: inserts nothing if the value is missing or null. */
  readonly optional: boolean
  readonly start: number
  readonly end: number
}

/** A parsed template. */
interface Template {
  readonly parts: ReadonlyArray<string | Placeholder | BlockMark>
  /** The placeholders among the parts, in order. */
  readonly placeholders: ReadonlyArray<Placeholder>
}

/** Where and why a template's braces do not pair. `offset` counts UTF-16 code units from 0, the others count from 1. */
export interface BrokenBraces {
  readonly offset: number
  readonly line: number
  readonly column: number
  readonly reason: string
}

const blanks = /[ \t]*/y

/** `{{#data}}` and `{{/data}}`. */
const blockMark = /\{\{[ \t]*([#/])data[ \t]*\}\}/y
const otherBlock = /\{\{[ \t]*[#/]/y

/** The end of the match of `pattern` that begins at `from`. */
const skip = (pattern: RegExp, text: string, from: number): number => {
  pattern.lastIndex = from
  pattern.test(text)
  return pattern.lastIndex
}

/** How often the character at `from` is repeated there. */
const runLength = (text: string, from: number): number => {
  let end = from + 1
  while (text[end] === text[from]) end++
  return end - from
}

const invalid = (text: string, offset: number, reason: string): Result.Result<never, BrokenBraces> => {
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf("\n") + 1
  const line = before.split("\n").length
  return Result.fail({ offset, line, column: offset - lineStart + 1, reason })
}

/** The path that begins at `from`, and its end. A missing name between two dots is empty. */
const pathAt = (text: string, from: number) => {
  const path: Array<string> = []
  let isComplete = true
  let at = from
  while (true) {
    const quotedEnd = text[at] === '"' ? skip(quotedName, text, at) : 0
    const end = quotedEnd > at ? quotedEnd : skip(bareName, text, at)
    if (end === at) isComplete = false
    path.push(quotedEnd > at ? unquoted(text.slice(at, end)) : text.slice(at, end))
    if (text[end] !== ".") return { path, isComplete, end }
    at = end + 1
  }
}

const wrongCharacter = (character: string | undefined): string =>
  character === '"'
    ? "this quote is never closed in its line"
    : "a name has letters, digits, `_` and `-` only; put any other one in quotes"

/**
 * Parses a template, or says where its braces are broken. Of a run of opening braces, the last two open the
 * placeholder. Single braces are text, and so is a `}}` that closes two of them, so a prompt may contain JSON. Any
 * other `}}` is an error.
 */
export const parse = (text: string): Result.Result<Template, BrokenBraces> => {
  const parts: Array<string | Placeholder | BlockMark> = []
  const placeholders: Array<Placeholder> = []
  /** Where the blocks begin that are not closed yet. */
  const openBlocks: Array<number> = []
  let literalStart = 0
  let singles = 0
  let at = 0
  while (at < text.length) {
    const character = text[at]
    if (character !== "{" && character !== "}") {
      at++
      continue
    }
    const run = runLength(text, at)
    if (character === "}") {
      if (run > 1 && run > singles) return invalid(text, at, "this `}}` closes nothing")
      singles = Math.max(0, singles - run)
      at += run
    } else if (run === 1) {
      singles++
      at++
    } else {
      singles += run - 2
      const open = at + run - 2
      blockMark.lastIndex = open
      const mark = blockMark.exec(text)
      if (mark !== null) {
        const block = mark[1] === "#" ? "open" : "close"
        if (block === "open") openBlocks.push(open)
        else if (openBlocks.pop() === undefined) return invalid(text, open, "this `{{/data}}` closes nothing")
        parts.push(text.slice(literalStart, open), { block })
        at = literalStart = open + mark[0].length
        continue
      }
      const otherEnd = skip(otherBlock, text, open)
      if (otherEnd > open) return invalid(text, otherEnd - 1, "a block is `{{#data}}` … `{{/data}}`")
      const nameStart = skip(blanks, text, open + 2)
      const { path, isComplete, end: nameEnd } = pathAt(text, nameStart)
      const optional = nameEnd > nameStart && text[nameEnd] === "?"
      const close = skip(blanks, text, optional ? nameEnd + 1 : nameEnd)
      if (!text.startsWith("}}", close)) {
        return text.indexOf("}}", close) < 0
          ? invalid(text, open, "this `{{` is never closed by `}}`")
          : invalid(text, close, wrongCharacter(text[close]))
      }
      if (nameEnd === nameStart) return invalid(text, open, "there is no name between the braces")
      if (!isComplete) return invalid(text, nameStart, "a dot must stand between two names")
      parts.push(text.slice(literalStart, open))
      at = literalStart = close + 2
      const placeholder = { name: nameOf(path), path: path as unknown as Path, optional, start: open, end: at }
      parts.push(placeholder)
      placeholders.push(placeholder)
    }
  }
  const unclosed = openBlocks.at(-1)
  if (unclosed !== undefined) return invalid(text, unclosed, "this `{{#data}}` is never closed by `{{/data}}`")
  parts.push(text.slice(literalStart))
  return Result.succeed({ parts, placeholders })
}

/** The names of the placeholders, each once, in order of appearance. */
export const names = (template: Template): ReadonlyArray<string> => [
  ...new Set(template.placeholders.map(({ name }) => name))
]

const write = (value: unknown): string => (typeof value === "string" ? value : Json.stringify(value))

const nothing = { text: "", isData: false }

/**
 * The prompt in parts, or the names of all placeholders without a value. In parts, because a value that is used often
 * makes a prompt far larger than the request: the caller can refuse it by size before it builds the text.
 */
export const fill = (
  { parts, placeholders }: Template,
  variables: Variables
): Result.Result<ReadonlyArray<FilledPart>, ReadonlyArray<string>> => {
  const values = new Map<string, Omit<FilledValue, "name"> & { readonly isNull: boolean }>()
  const missing = new Set<string>()
  for (const { name, path, optional } of placeholders) {
    if (!values.has(name)) {
      const found = lookUp(path, variables)
      if (Option.isSome(found)) {
        const { value } = found
        values.set(name, { text: write(value), isData: isDataValue(value), isNull: value === null })
      } else if (!optional) missing.add(name)
    }
  }
  if (missing.size > 0) return Result.fail([...missing])
  return Result.succeed(
    parts.map((part): FilledPart => {
      if (typeof part === "string" || "block" in part) return part
      const { name, optional } = part
      const { isNull, ...value } = values.get(name) ?? { ...nothing, isNull: false }
      return { name, ...(optional && isNull ? nothing : value) }
    })
  )
}

/** The prompt, or the names of all placeholders without a value. */
export const render = (template: Template, variables: Variables): Result.Result<string, ReadonlyArray<string>> =>
  Result.map(fill(template, variables), textOf)
