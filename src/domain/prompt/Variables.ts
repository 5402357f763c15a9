import { type Fault, maxFaults } from "../Errors.ts"
import { isNumber } from "../Json.ts"
import type { Variables } from "../run/Run.ts"
import { isStorable, unstorableDetail } from "../StorableText.ts"

/** Maximum number of variables in a request. */
const maxVariables = 100
/** Maximum length of a variable's name, in bytes of UTF-8. */
const maxNameBytes = 256
/** Maximum nesting of arrays and objects in a value. */
const maxDepth = 32

const nameProblem = "must not have a NUL or a lone surrogate in its name"

/** A step of a JSON Pointer (RFC 6901) to a member with any name. Long names are cut. */
export const step = (name: string): string => {
  const short = name.length > maxNameBytes ? `${name.slice(0, maxNameBytes)}…` : name
  return `/${short
    .replaceAll("~", "~0")
    .replaceAll("/", "~1")
    .replaceAll("\0", "\\0")
    .replace(/[\uD800-\uDFFF]/gu, "�")}`
}

/** Also recognizes a plain object of another realm. */
const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/**
 * Faults that keep these variables from being stored and sent unchanged, with JSON Pointers below `root`. PostgreSQL
 * has no NUL, and UTF-8 no lone surrogate. Empty if there are none.
 */
export const checkVariables = (variables: Variables, root = "/variables"): ReadonlyArray<Fault> => {
  const faults: Array<Fault> = []
  let isFull = false
  const fault = (pointer: string, detail: string): void => {
    if (faults.length < maxFaults) faults.push({ pointer, detail })
    else isFull = true
  }

  const check = (value: unknown, pointer: () => string, depth: number): void => {
    if (isFull) return
    switch (typeof value) {
      case "string":
        if (!isStorable(value)) fault(pointer(), unstorableDetail)
        return
      case "boolean":
        return
      case "number":
        if (!Number.isFinite(value)) fault(pointer(), "must be a finite number")
        return
      case "object":
        if (value === null || isNumber(value)) return
        if (depth === maxDepth) {
          fault(pointer(), tooDeep)
          return
        }
        if (Array.isArray(value)) {
          for (let i = 0; i < value.length; i++) check(value[i], () => `${pointer()}/${i}`, depth + 1)
          return
        }
        if (isPlain(value)) {
          for (const name of Object.keys(value)) {
            const here = () => pointer() + step(name)
            if (!isStorable(name)) fault(here(), nameProblem)
            check((value as Variables)[name], here, depth + 1)
          }
          return
        }
    }
    fault(pointer(), "must be a JSON value")
  }

  const names = Object.keys(variables)
  if (names.length > maxVariables) fault(root, `must have at most ${maxVariables} members`)
  for (const name of names) {
    if (isFull) break
    const pointer = () => `${root}${step(name)}`
    // A UTF-16 code unit becomes at most three bytes.
    if (name.length * 3 > maxNameBytes && new TextEncoder().encode(name).length > maxNameBytes) {
      fault(pointer(), `must have a name of at most ${maxNameBytes} bytes`)
    }
    if (!isStorable(name)) fault(pointer(), nameProblem)
    check(variables[name], pointer, 0)
  }
  return faults
}

/** Whether arrays and objects are nested within the limit, so that plain recursion is safe. */
export const isShallow = (value: unknown, depth = 0): boolean => {
  if (typeof value !== "object" || value === null) return true
  if (depth >= maxDepth) return false
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) if (!isShallow(value[at], depth + 1)) return false
    return true
  }
  for (const name of Object.keys(value)) {
    if (!isShallow((value as Variables)[name], depth + 1)) return false
  }
  return true
}

/** The rule of `isShallow`, as an error message. */
export const tooDeep = `must not be nested deeper than ${maxDepth}`
