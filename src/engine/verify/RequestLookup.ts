/** Finds texts in a request, as named by a description. */
import type { X509Certificate } from "node:crypto"
import { parsePlain } from "../../domain/Json.ts"
import type { Condition, Source } from "../../domain/verification/Description.ts"

export interface Certificate {
  readonly url: string
  readonly x509: X509Certificate
}

/** A bearer token that its issuer's keys were tried on. */
export interface CheckedToken {
  readonly token: string
  /** Its claims; absent: it is not valid. */
  readonly claims?: { readonly [name: string]: unknown }
  readonly isExpired?: boolean
}

/** The certificate or token that was fetched or checked to verify a request. */
export type Evidence = Certificate | CheckedToken

/** A request as it arrived. */
export interface SignedRequest {
  /** By lower-case name, as in Node. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** The body's bytes as sent; absent: not read yet. */
  readonly body?: Uint8Array | undefined
  readonly method?: string
  /** The whole URL with the token, as the sender called it. */
  readonly url?: () => string
  /** Absent: nothing was fetched yet. */
  readonly evidence?: Evidence | undefined
}

export interface Lookup {
  readonly header: (name: string) => string | undefined
  /** The text at that place. JSON numbers and booleans become their JSON text. */
  readonly at: (source: Source) => string | undefined
  /** The texts at all places of the path in the body's JSON, in which `*` is every item of a list. */
  readonly each: (path: ReadonlyArray<string>) => ReadonlyArray<string | undefined>
  readonly first: (sources: ReadonlyArray<Source>) => string | undefined
  /** The names and values of a form's fields, in the order of the names; `undefined`: the body is no form. */
  readonly sortedForm: () => string | undefined
  readonly holds: (condition: Condition) => boolean
}

/** Byte order marks are dropped, as in `domain/request/Payload.ts`. */
const utf8 = new TextDecoder()

const isForm = /^application\/x-www-form-urlencoded\s*(;|$)/i

const own = (object: unknown, name: string): unknown =>
  typeof object === "object" && object !== null && Object.hasOwn(object, name)
    ? (object as Readonly<Record<string, unknown>>)[name]
    : undefined

const members = (value: unknown, path: ReadonlyArray<string>): ReadonlyArray<unknown> =>
  path.reduce<ReadonlyArray<unknown>>(
    (found, name) => found.flatMap((each) => (name === "*" ? (Array.isArray(each) ? each : []) : [own(each, name)])),
    [value]
  )

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" || typeof value === "number" ? String(value) : undefined

/** Each form of the body is parsed once. */
export const make = ({ body, headers, url }: SignedRequest, signatureItems: ReadonlyArray<string> = []): Lookup => {
  const header = (name: string): string | undefined => {
    const value = headers[name]
    return typeof value === "object" ? value[0] : value
  }
  const text = lazy(() => (body === undefined ? "" : utf8.decode(body).replace(/^\uFEFF+/, "")))
  const hasForm = () => isForm.test(header("content-type") ?? "")
  const form = lazy(() => new URLSearchParams(hasForm() ? text() : ""))
  const query = lazy(() => new URL(url?.() ?? "http://none").searchParams)
  const json = new Map<string | undefined, unknown>()
  const jsonOf = (field: string | undefined): unknown => {
    if (!json.has(field)) json.set(field, parsePlain(field === undefined ? text() : (form().get(field) ?? "")))
    return json.get(field)
  }

  const at = (source: Source): string | undefined => {
    if ("header" in source) return header(source.header)
    if ("signature" in source) {
      return signatureItems.find((item) => item.startsWith(source.signature))?.slice(source.signature.length)
    }
    if ("query" in source) return query().get(source.query) ?? undefined
    if (!("json" in source)) return form().get(source.form) ?? undefined
    const [value, ...others] = members(jsonOf(source.form), source.json)
    return others.length > 0 ? undefined : textOf(value)
  }

  return {
    header,
    at,
    each: (path) => members(jsonOf(undefined), path).map(textOf),
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
