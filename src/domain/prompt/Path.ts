/**
 * The place of a placeholder's value in the input: `payload.pull_request.title`, `alerts.0.labels."app/name"`.
 * Browser-safe, like the template language.
 */

import { Option, Predicate } from "effect"
import { isNumber } from "../Json.ts"
import type { Variables } from "../run/Run.ts"

/** Names of members and numbers of array items, from the outside in. */
export type Path = readonly [string, ...ReadonlyArray<string>]

/** The characters of a name that needs no quotes. Sticky, and one character class, so it never backtracks. */
export const bareName = /[\p{L}\p{M}\p{N}_-]*/uy
/** Any other name, on one line; quotes and backslashes in it are escaped with a backslash. */
export const quotedName = /"(?:[^"\\\r\n]|\\["\\])*"/uy

const isBare = /^[\p{L}\p{M}\p{N}_-]+$/u
export const isIndex = /^(?:0|[1-9]\d*)$/

export const unquoted = (quoted: string): string => quoted.slice(1, -1).replaceAll(/\\(["\\])/g, "$1")

const written = (name: string): string =>
  isBare.test(name) ? name : `"${name.replaceAll(/["\\]/g, (character) => `\\${character}`)}"`

/** The path as written in a template, with quotes only where needed. */
export const nameOf = (path: ReadonlyArray<string>): string => path.map(written).join(".")

/** Parses a path that `nameOf` has written. */
export const pathOf = (name: string): Path =>
  Array.from(name.matchAll(/"((?:[^"\\]|\\["\\])*)"|[^."]+/g), ([text]) =>
    text.startsWith('"') ? unquoted(text) : text
  ) as unknown as Path

/**
 * The key of a variable that alone leads to the value: `alert.labels.severity`, and `first name` without its quotes.
 */
export const keyOf = (name: string): string => pathOf(name).join(".")

/**
 * The members of `container` that lead to the value: one key, or the rest of the path as one key, which takes
 * precedence.
 */
const keyAt = (container: object, path: ReadonlyArray<string>, at: number): string | undefined => {
  const first = path[at]!
  if (Array.isArray(container)) return isIndex.test(first) && Number(first) < container.length ? first : undefined
  if (at < path.length - 1) {
    const rest = path.slice(at).join(".")
    if (Object.hasOwn(container, rest)) return rest
  }
  return Object.hasOwn(container, first) ? first : undefined
}

const isContainer = (value: unknown): value is { readonly [name: string]: unknown } =>
  Array.isArray(value) || (Predicate.isReadonlyObject(value) && !isNumber(value))

/**
 * Each step from the input to the value, by own properties only; the last one holds the value. Empty if there is no
 * such value. Never longer than the input's nesting.
 */
const stepsTo = (
  path: Path,
  input: Variables
): Option.Option<ReadonlyArray<{ readonly container: object; readonly key: string; readonly value: unknown }>> => {
  const steps: Array<{ readonly container: object; readonly key: string; readonly value: unknown }> = []
  let value: unknown = input
  let at = 0
  while (at < path.length) {
    if (!isContainer(value)) return Option.none()
    const key = keyAt(value, path, at)
    if (key === undefined) return Option.none()
    steps.push({ container: value, key, value: value[key] })
    at = key === path[at] ? at + 1 : path.length
    value = value[key]
  }
  return Option.some(steps)
}

/** The value, if there is one. A member whose own name is the rest of the path takes precedence, at every level. */
export const lookUp = (path: Path, input: Variables): Option.Option<unknown> => {
  const [first, ...more] = path
  // True of nearly all paths of variables.
  if (more.length === 0) return Object.hasOwn(input, first) ? Option.some(input[first]) : Option.none()
  return Option.map(stepsTo(path, input), (steps) => steps.at(-1)!.value)
}

/** `__proto__` is an ordinary name. */
const set = (object: object, key: string, value: unknown): void => {
  Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true })
}

/**
 * Only the values at these paths, in their places, so that each path finds the same value as in the whole. An array
 * whose items are named by number becomes an object with these numbers.
 */
export const pick = (paths: Iterable<Path>, input: Variables): Variables => {
  const picked: Variables = {}
  const copies = new Map<unknown, object>([[input, picked]])
  for (const path of paths) {
    const steps = Option.getOrElse(stepsTo(path, input), () => [])
    for (const [index, { container, key, value }] of steps.entries()) {
      const copy = copies.get(container)!
      const isWhole = Object.hasOwn(copy, key) && (copy as Variables)[key] === value
      if (isWhole) break
      if (index === steps.length - 1) set(copy, key, value)
      else if (!Object.hasOwn(copy, key)) {
        const next = {}
        copies.set(value, next)
        set(copy, key, next)
      }
    }
  }
  return picked
}
