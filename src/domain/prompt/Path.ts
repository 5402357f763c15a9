/**
 * Where in the input a placeholder's value lies: `payload.pull_request.title`, `alerts.0.labels."app/name"`. Browser-safe, as
 * the template language is.
 */
import { Option, Predicate } from "effect"
import type { Variables } from "../run/Run.ts"

/** Names of members, and numbers of an array's items, from the outside to the inside. */
export type Path = readonly [string, ...ReadonlyArray<string>]

/** The characters of a name that needs no quotes. Sticky, and one character class: nothing to backtrack into. */
export const bareName = /[\p{L}\p{M}\p{N}_-]*/uy
/** Any other name, on one line; a quote or a backslash in it is escaped with a backslash. */
export const quotedName = /"(?:[^"\\\r\n]|\\["\\])*"/uy

const isBare = /^[\p{L}\p{M}\p{N}_-]+$/u
const isIndex = /^(?:0|[1-9]\d*)$/

export const unquoted = (quoted: string): string => quoted.slice(1, -1).replaceAll(/\\(["\\])/g, "$1")

const written = (name: string): string =>
  isBare.test(name) ? name : `"${name.replaceAll(/["\\]/g, (character) => `\\${character}`)}"`

/** The path as it is written in a template, with quotes only where they are needed. */
export const nameOf = (path: ReadonlyArray<string>): string => path.map(written).join(".")

/** The path that `nameOf` has written. */
export const pathOf = (name: string): Path =>
  Array.from(name.matchAll(/"((?:[^"\\]|\\["\\])*)"|[^."]+/g), ([text]) =>
    text.startsWith('"') ? unquoted(text) : text
  ) as unknown as Path

/** The key of a variable by which alone the path is found: `alert.labels.severity`, and `first name` without its quotes. */
export const keyOf = (name: string): string => pathOf(name).join(".")

/** The members of `container` that lead to the value: one key, or all that is left of the path as one key, which wins. */
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
  Predicate.isReadonlyRecord(value) || Array.isArray(value)

/**
 * Each step from the input to the value, own properties only; the last one holds the value. None: there is no such value.
 * Its length is that of the input's nesting at most, whatever the path's.
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

/** The value, when there is one. A member whose own name is all that is left of the path takes precedence, at every level. */
export const lookUp = (path: Path, input: Variables): Option.Option<unknown> => {
  const [first, ...more] = path
  // As nearly all paths of variables are.
  if (more.length === 0) return Object.hasOwn(input, first) ? Option.some(input[first]) : Option.none()
  return Option.map(stepsTo(path, input), (steps) => steps.at(-1)!.value)
}

/** `__proto__` is a name like any other. */
const set = (object: object, key: string, value: unknown): void => {
  Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true })
}

/**
 * Only the values at these paths, where they were: what is looked up in it by one of them is found as in the whole. Of an
 * array of which items are named by their numbers, an object with these numbers is left.
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
