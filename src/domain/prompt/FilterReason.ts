/** Why a filter ignores an input: the first part of its `&&` that does not hold, and the values that it reads. Browser-safe. */

import { Predicate } from "effect"
import * as Jmespath from "../evaluation/Jmespath.ts"
import * as Json from "../Json.ts"
import { type FilterOptions, filter } from "./Filter.ts"
import { pathsIn } from "./FilterPaths.ts"

export interface FilterReason {
  /** The part of the expression, as its author has written it. */
  readonly part: string
  readonly values: ReadonlyArray<{
    readonly name: string /** As JSON; absent: there is none. */
    readonly json?: string
  }>
}

const token = /'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|"(?:[^"\\]|\\.)*"|&&|\|\||./gs

/** The parts that must hold together. One part: the expression is no `&&`. */
const partsOf = (expression: string): ReadonlyArray<string> => {
  const parts = [""]
  let depth = 0
  for (const [text] of expression.matchAll(token)) {
    if ("([{".includes(text)) depth++
    else if (")]}".includes(text)) depth--
    else if (depth === 0 && (text === "||" || text === "|" || text === "?" || text === "$")) return [expression]
    if (depth === 0 && text === "&&") parts.push("")
    else parts[parts.length - 1] += text
  }
  return parts.map((part) => part.trim())
}

const maxJson = 100

const cut = (text: string): string => (text.length > maxJson ? `${text.slice(0, maxJson)}…` : text)

const jsonAt = (path: ReadonlyArray<string>, input: unknown): string | undefined => {
  let value = input
  for (const name of path) {
    if (!Predicate.isReadonlyObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  if (Array.isArray(value)) return `a list of ${value.length}`
  return Predicate.isReadonlyObject(value) && !Json.isNumber(value) ? "an object" : cut(Json.stringify(value))
}

/** Why the expression ignores this input. `undefined`: it accepts it, or fails. */
export const reasonOf = (expression: string, input: unknown, options: FilterOptions = {}): FilterReason | undefined => {
  for (const part of partsOf(expression)) {
    const result = filter(part, input, options)
    if ("failed" in result) return undefined
    if (result.accepted) continue
    const paths = new Map(pathsIn(Jmespath.compile(part)).map((path) => [path.map(Jmespath.written).join("."), path]))
    const values = Array.from(paths, ([name, path]) => {
      const json = jsonAt(path, input)
      return json === undefined ? { name } : { name, json }
    })
    return { part, values }
  }
  return undefined
}

/** As a sentence; `withValues`: with what the input has. */
export const textOfReason = (
  { part, values }: FilterReason,
  { withValues }: { readonly withValues: boolean }
): string => {
  const found = values.map(({ json, name }) => `\`${name}\` is ${json ?? "missing"}`).join(", ")
  const written = part.includes("`") ? `“${cut(part)}”` : `\`${cut(part)}\``
  return `${written} does not hold${withValues && found !== "" ? `: ${found}` : ""}.`
}
