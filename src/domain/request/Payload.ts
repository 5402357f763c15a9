/** Bodies of requests as values. Browser-safe: an editor reads a pasted body as the server reads a received one. */

import { Either, Predicate } from "effect"
import * as Json from "../Json.ts"

/** The kinds of bodies. */
export type BodyKind = "json" | "form" | "text"

const json = /^(application\/json|[^\s/;]+\/[^\s/;]+\+json)\s*(;|$)/i
const form = /^application\/x-www-form-urlencoded\s*(;|$)/i
const text = /^(text\/[^\s/;]+|application\/xml|[^\s/;]+\/[^\s/;]+\+xml)\s*(;|$)/i

/** By `Content-Type`; without one, JSON. `undefined` if not supported. */
export const bodyKind = (content_type: string | undefined): BodyKind | undefined => {
  const type = content_type?.trim()
  if (type === undefined || json.test(type)) return "json"
  return form.test(type) ? "form" : text.test(type) ? "text" : undefined
}

type Headers = { readonly [name: string]: unknown }

/** Services that send JSON as text name themselves in one of these headers: Amazon SNS. */
const sendersOfJson = ["x-amz-sns-message-type"]

/** By all headers of a request. */
export const bodyKindOf = (headers: Headers): BodyKind | undefined => {
  if (sendersOfJson.some((name) => headers[name] !== undefined)) return "json"
  const type = headers["content-type"]
  return bodyKind(typeof type === "string" ? type : undefined)
}

/** Strict, because replacement characters would hide what was sent. A byte order mark is dropped. */
const utf8 = new TextDecoder("utf-8", { fatal: true })

/** The body's text, or its fault. */
export const decode = (body: Uint8Array): Either.Either<string, string> => {
  try {
    return Either.right(utf8.decode(body))
  } catch {
    return Either.left("The body is not UTF-8.")
  }
}

export const parseJson = (text: string): Either.Either<unknown, string> => {
  try {
    return Either.right(Json.parse(text))
  } catch {
    return Either.left("The body is not JSON.")
  }
}

export type JsonObject = { readonly [name: string]: unknown }

/** The body as a JSON object, or its fault. */
export const parseObject = (text: string): Either.Either<JsonObject, string> =>
  Either.flatMap(parseJson(text), (value) =>
    Predicate.isReadonlyRecord(value)
      ? Either.right(value as JsonObject)
      : Either.left("The body is not a JSON object.")
  )

/** Form fields by name; a repeated field is a list. */
export type FormFields = { readonly [name: string]: string | ReadonlyArray<string> }

export const fieldsOf = (pairs: Iterable<readonly [name: string, value: string]>): FormFields => {
  const fields = new Map<string, Array<string>>()
  for (const [name, value] of pairs) {
    const values = fields.get(name)
    if (values === undefined) fields.set(name, [value])
    else values.push(value)
  }
  // Built from entries, so that `__proto__` is an ordinary name.
  return Object.fromEntries(Array.from(fields, ([name, values]) => [name, values.length === 1 ? values[0]! : values]))
}

/** As strict as for UTF-8: `URLSearchParams` would replace what it cannot decode. */
const decodedPart = (part: string): string => decodeURIComponent(part.replaceAll("+", " "))

const parseForm = (text: string): Either.Either<FormFields, string> => {
  try {
    const pairs = text.split("&").filter((pair) => pair !== "")
    return Either.right(
      fieldsOf(
        pairs.map((pair) => {
          const at = pair.indexOf("=")
          return at < 0
            ? ([decodedPart(pair), ""] as const)
            : ([decodedPart(pair.slice(0, at)), decodedPart(pair.slice(at + 1))] as const)
        })
      )
    )
  } catch {
    return Either.left("The body is not a form in UTF-8.")
  }
}

/** GitHub and Slack can send JSON as a form's only field, `payload`. Then that is the body. */
const unwrapped = (fields: FormFields): unknown => {
  const { payload } = fields
  if (typeof payload !== "string" || Object.keys(fields).length > 1) return fields
  return Either.getOrElse(parseJson(payload), () => fields)
}

/** The value of a stored body. A body that was cut or cannot be parsed is a text. */
export const ofKept = ({
  body = "",
  headers = {}
}: {
  readonly body?: string
  readonly headers?: { readonly [name: string]: string }
}): unknown => {
  if (body === "" && headers["content-type"] === undefined) return ""
  return Either.getOrElse(parse(bodyKindOf(headers) ?? "text", body), () => body)
}

/** The body's value: any JSON, a form's fields by name, or the text itself. */
export const parse = (kind: BodyKind, text: string): Either.Either<unknown, string> => {
  switch (kind) {
    case "json":
      return parseJson(text)
    case "form":
      return Either.map(parseForm(text), unwrapped)
    case "text":
      return Either.right(text)
  }
}
