/** Finds texts in a request, as named by a description. */
import type { Condition, Source } from "../../domain/verification/Description.ts"

/** A request as it arrived. */
export interface SignedRequest {
  /** By lower-case name, as in Node. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** The body's bytes as sent; absent: not read yet. */
  readonly body?: Uint8Array | undefined
  readonly method?: string
  /** The whole URL with the token, as the sender called it. */
  readonly url?: () => string
}

export interface Lookup {
  readonly header: (name: string) => string | undefined
  /** The text at that place. JSON numbers and booleans become their JSON text. */
  readonly at: (source: Source) => string | undefined
  readonly first: (sources: ReadonlyArray<Source>) => string | undefined
  /** The names and values of a form's fields, in the order of the names; `undefined`: the body is no form. */
  readonly sortedForm: () => string | undefined
  readonly holds: (condition: Condition) => boolean
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Drops a byte order mark, as `domain/request/Payload.ts` does. */
const utf8 = new TextDecoder()

const isForm = /^application\/x-www-form-urlencoded\s*(;|$)/i

const member = (value: unknown, path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>(
    (object, name) =>
      typeof object === "object" && object !== null && Object.hasOwn(object, name)
        ? (object as Readonly<Record<string, unknown>>)[name]
        : undefined,
    value
  )

/** Each form of the body is parsed once. */
export const make = ({ body, headers }: SignedRequest, signatureItems: ReadonlyArray<string> = []): Lookup => {
  const header = (name: string): string | undefined => {
    const value = headers[name]
    return typeof value === "object" ? value[0] : value
  }
  const text = lazy(() => (body === undefined ? "" : utf8.decode(body)))
  const hasForm = () => isForm.test(header("content-type") ?? "")
  const form = lazy(() => new URLSearchParams(hasForm() ? text() : ""))
  const json = new Map<string | undefined, unknown>()
  const jsonOf = (field: string | undefined): unknown => {
    if (!json.has(field)) json.set(field, parseJson(field === undefined ? text() : (form().get(field) ?? "")))
    return json.get(field)
  }

  const at = (source: Source): string | undefined => {
    if ("header" in source) return header(source.header)
    if ("signature" in source) {
      return signatureItems.find((item) => item.startsWith(source.signature))?.slice(source.signature.length)
    }
    if (!("json" in source)) return form().get(source.form) ?? undefined
    const value = member(jsonOf(source.form), source.json)
    return typeof value === "string" || typeof value === "number" ? String(value) : undefined
  }

  return {
    header,
    at,
    first: (sources) => {
      for (const source of sources) {
        const found = at(source)
        if (found !== undefined && found !== "") return found
      }
      return undefined
    },
    sortedForm: () => {
      if (!hasForm()) return undefined
      const names = [...new Set(form().keys())].sort()
      // Each value of a name once, as Twilio's own libraries do.
      const values = (name: string) => [...new Set(form().getAll(name))].sort()
      return names
        .map((name) =>
          values(name)
            .map((value) => name + value)
            .join("")
        )
        .join("")
    },
    holds: ({ at: source, is }) => {
      const found = at(source)
      return found !== undefined && (is === undefined || found === is)
    }
  }
}

const lazy = <A>(compute: () => A): (() => A) => {
  let computed: { readonly value: A } | undefined
  return () => {
    computed ??= { value: compute() }
    return computed.value
  }
}
