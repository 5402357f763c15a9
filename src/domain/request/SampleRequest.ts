/** Requests that a webhook takes, made up from the names in its template, for examples. */
import { keyOf, nameOf, pathOf } from "../prompt/Path.ts"

type Sample = Record<string, unknown>

const isNumbered = (keys: ReadonlyArray<string>): boolean =>
  keys.length > 0 && keys.every((_, index) => keys.includes(String(index)))

/** What is named by numbers from 0 on is a list. */
const withLists = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).map(([key, member]) => [key, withLists(member)] as const)
  return isNumbered(Object.keys(value)) ? entries.map(([, member]) => member) : Object.fromEntries(entries)
}

/** Sample values for a template's names; names with dots are fields of objects, or items of lists. */
export const sampleVariables = (names: ReadonlyArray<string>): Sample => {
  const root: Sample = {}
  const sample = (name: string) => `your ${name}`
  const keys = names.map(keyOf)
  for (const [index, name] of keys.entries()) {
    const path = pathOf(names[index]!)
    // With `a` beside `a.b`, or a name such as `__proto__`, an exact key is simpler and works as well.
    const nests =
      path.length > 1 &&
      !keys.some((other) => other !== name && (name.startsWith(`${other}.`) || other.startsWith(`${name}.`))) &&
      !path.includes("__proto__")
    if (!nests) {
      Object.defineProperty(root, name, { value: sample(name), enumerable: true, configurable: true, writable: true })
      continue
    }
    let object = root
    for (const step of path.slice(0, -1)) {
      if (!Object.hasOwn(object, step)) object[step] = {}
      object = object[step] as Sample
    }
    object[path.at(-1)!] = sample(name)
  }
  return Object.fromEntries(Object.entries(root).map(([name, value]) => [name, withLists(value)]))
}

/** A request, but for what verifies it. */
export interface SampleRequest {
  readonly body: unknown
  readonly headers: { readonly [name: string]: string }
  readonly query: { readonly [name: string]: string }
}

/** As a webhook with this `input` takes it; `names` are those of its template. */
export const sampleRequest = (input: string | undefined, names: ReadonlyArray<string>): SampleRequest => {
  if (input !== "payload") return { body: { variables: sampleVariables(names) }, headers: {}, query: {} }
  /** The names of what lies below one of the three parts. */
  const below = (part: string) =>
    names.map(pathOf).flatMap(([root, ...rest]) => (root === part && rest.length > 0 ? [nameOf(rest)] : []))
  const texts = (part: string) =>
    Object.fromEntries(below(part).map((name) => [pathOf(name)[0], `your ${pathOf(name)[0]}`]))
  const headers = Object.entries(texts("headers")).filter(([name]) => /^[\w!#$%&*+.^`|~-]+$/.test(name))
  return {
    body: withLists(sampleVariables(below("payload"))),
    headers: Object.fromEntries(headers),
    query: texts("query")
  }
}
