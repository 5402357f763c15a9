/**
 * Prompt templates: text with `{{name}}` placeholders. Pure and browser-safe, so that the form in which a template is
 * written shows what the server will do with it; so it needs `Either` and no `Schema`, which alone is 120 KB of
 * compressed JavaScript. Parsing and filling take time linear in their input.
 */
import { Either, Option, Predicate } from "effect"
import type { Variables } from "./Run.ts"

/** A template taken apart: `literals[0]`, the value of `names[0]`, `literals[1]`, …, and a last literal. */
export interface Template {
  readonly literals: ReadonlyArray<string>
  readonly names: ReadonlyArray<string>
}

/** Where a template's braces do not pair, and why; `offset` counts UTF-16 code units from 0, the others from 1. */
export interface BrokenBraces {
  readonly offset: number
  readonly line: number
  readonly column: number
  readonly reason: string
}

// Sticky, and one character class: nothing to backtrack into.
const nameCharacters = /[\p{L}\p{M}\p{N}_.-]*/uy
const blanks = /[ \t]*/y

/** Where what `pattern` matches, beginning at `from`, ends. */
const skip = (pattern: RegExp, text: string, from: number): number => {
  pattern.lastIndex = from
  pattern.test(text)
  return pattern.lastIndex
}

/** How many times the character at `from` stands there in a row. */
const runLength = (text: string, from: number): number => {
  let end = from + 1
  while (text[end] === text[from]) end++
  return end - from
}

const invalid = (text: string, offset: number, reason: string): Either.Either<never, BrokenBraces> => {
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf("\n") + 1
  const line = before.split("\n").length
  return Either.left({ offset, line, column: offset - lineStart + 1, reason })
}

/**
 * Takes a template apart, or says where its braces are broken. Of a run of opening braces the last two open the
 * placeholder. Single braces are text, and so is a `}}` that closes two of them, so a prompt may hold JSON; any other
 * `}}` is taken for a slip of the pen.
 */
export const parse = (text: string): Either.Either<Template, BrokenBraces> => {
  const literals: Array<string> = []
  const names: Array<string> = []
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
      const nameStart = skip(blanks, text, open + 2)
      const nameEnd = skip(nameCharacters, text, nameStart)
      const close = skip(blanks, text, nameEnd)
      if (!text.startsWith("}}", close)) {
        return text.indexOf("}}", close) < 0
          ? invalid(text, open, "this `{{` is never closed by `}}`")
          : invalid(text, close, "a placeholder's name has letters, digits, `_`, `-` and `.` only")
      }
      const name = text.slice(nameStart, nameEnd)
      if (name === "") return invalid(text, open, "there is no name between the braces")
      if (name.split(".").includes("")) return invalid(text, nameStart, "a dot must stand between two names")
      literals.push(text.slice(literalStart, open))
      names.push(name)
      at = literalStart = close + 2
    }
  }
  literals.push(text.slice(literalStart))
  return Either.right({ literals, names })
}

/** The placeholders' names, each once, in order of appearance. */
export const placeholders = (template: Template): ReadonlyArray<string> => [...new Set(template.names)]

/** The value a name stands for: an exact key wins, else a dot reaches into an object. Own properties only. */
const lookUp = (name: string, within: Variables): Option.Option<unknown> => {
  let object: unknown = within
  let rest = name
  while (Predicate.isReadonlyRecord(object)) {
    if (Object.hasOwn(object, rest)) return Option.some(object[rest])
    const dot = rest.indexOf(".")
    const first = rest.slice(0, dot)
    if (dot < 0 || !Object.hasOwn(object, first)) break
    object = object[first]
    rest = rest.slice(dot + 1)
  }
  return Option.none()
}

const write = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

/**
 * The prompt in pieces, to be joined; or the names of all placeholders without a value. In pieces, because a value used
 * many times makes a prompt far larger than the request: the caller can refuse by size before it builds the text.
 */
export const fill = (
  template: Template,
  variables: Variables
): Either.Either<ReadonlyArray<string>, ReadonlyArray<string>> => {
  const values = new Map<string, string>()
  const missing: Array<string> = []
  for (const name of placeholders(template)) {
    const value = lookUp(name, variables)
    if (Option.isSome(value)) values.set(name, write(value.value))
    else missing.push(name)
  }
  if (missing.length > 0) return Either.left(missing)
  return Either.right(
    template.literals.flatMap((literal, i) =>
      i < template.names.length ? [literal, values.get(template.names[i]!)!] : [literal]
    )
  )
}

/** The prompt, or the names of all placeholders without a value. */
export const render = (template: Template, variables: Variables): Either.Either<string, ReadonlyArray<string>> =>
  Either.map(fill(template, variables), (pieces) => pieces.join(""))
