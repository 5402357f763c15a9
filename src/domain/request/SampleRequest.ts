/** Example requests for a webhook, made from the names in its template. */
import { keyOf, nameOf, pathOf } from "../prompt/Path.ts"

type Sample = Record<string, unknown>

const isNumbered = (keys: ReadonlyArray<string>): boolean =>
  keys.length > 0 && keys.every((_, index) => keys.includes(String(index)))

/** A list, if members are named by numbers from 0 on. */
export const withLists = (value: unknown): unknown => {
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

/** A request without its verification. */
export interface SampleRequest {
  /** The body's value; a form if the `content-type` among the headers says so, else JSON. */
  readonly body: unknown
  readonly headers: { readonly [name: string]: string }
  readonly query: { readonly [name: string]: string }
}

/** A value that the webhook's filter asks for. */
interface Wanted {
  readonly path: ReadonlyArray<string>
  readonly value: unknown
}

const isObject = (value: unknown): value is Sample =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Puts a value at the path, in place of what is there. */
const put = (object: Sample, [name, ...rest]: ReadonlyArray<string>, value: unknown): Sample => {
  if (name === undefined || name === "__proto__") return object
  const member = isObject(object[name]) ? object[name] : {}
  return { ...object, [name]: rest.length === 0 ? value : put(member, rest, value) }
}

/** A request for this `input`; `names` are those of the template. */
export const sampleRequest = (
  input: string | undefined,
  names: ReadonlyArray<string>,
  wanted: ReadonlyArray<Wanted> = []
): SampleRequest => {
  const withWanted = (sample: Sample) => wanted.reduce((sample, { path, value }) => put(sample, path, value), sample)
  if (input !== "payload") return { body: { variables: withWanted(sampleVariables(names)) }, headers: {}, query: {} }
  /** The names below one of the three parts. */
  const below = (part: string) =>
    names.map(pathOf).flatMap(([root, ...rest]) => (root === part && rest.length > 0 ? [nameOf(rest)] : []))
  const texts = (part: string) =>
    Object.fromEntries(below(part).map((name) => [pathOf(name)[0], `your ${pathOf(name)[0]}`]))
  const payload = withLists(sampleVariables(below("payload")))
  const sample = withWanted({ payload, headers: texts("headers"), query: texts("query") })
  const headers = Object.entries(sample.headers as SampleRequest["headers"])
  return {
    body: sample.payload,
    headers: Object.fromEntries(
      headers.flatMap(([name, value]) => (/^[\w!#$%&*+.^`|~-]+$/.test(name) ? [[name, String(value)]] : []))
    ),
    query: Object.fromEntries(
      Object.entries(sample.query as SampleRequest["query"]).map(([name, value]) => [name, String(value)])
    )
  }
}
