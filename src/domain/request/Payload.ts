/** Bodies of requests as values. Browser-safe: an editor reads a pasted body as the server reads a received one. */

import { Predicate, Result } from "effect"
import * as Json from "../Json.ts"
import { type FormFile, type Part, parseMultipart } from "./Multipart.ts"

/** The kinds of bodies. */
export type BodyKind = "json" | "form" | "multipart" | "text"

const json = /^(application\/json|text\/json|[^\s/;]+\/[^\s/;]+\+json)\s*(;|$)/i
const form = /^application\/x-www-form-urlencoded\s*(;|$)/i
const multipart = /^multipart\/form-data\s*;/i
const text = /^(text\/[^\s/;]+|application\/xml|[^\s/;]+\/[^\s/;]+\+xml)\s*(;|$)/i

/** By `Content-Type`; without one, JSON. `undefined` if not supported. */
const bodyKind = (content_type: string | undefined): BodyKind | undefined => {
  const type = content_type?.trim()
  if (type === undefined || json.test(type)) return "json"
  if (form.test(type)) return "form"
  return multipart.test(type) ? "multipart" : text.test(type) ? "text" : undefined
}

type Headers = { readonly [name: string]: unknown }

/** Services that send JSON as text name themselves in one of these headers: Amazon SNS. */
const sendersOfJson = ["x-amz-sns-message-type"]

/** By all headers of a request. */
export const bodyKindOf = (headers: Headers): BodyKind | undefined => {
  if (sendersOfJson.some((name) => headers[name] !== undefined)) return "json"
  return bodyKind(typeOf(headers))
}

export const typeOf = (headers: Headers): string | undefined => {
  const type = headers["content-type"]
  return typeof type === "string" ? type : undefined
}

/** Strict, because replacement characters would hide what was sent. */
const utf8 = new TextDecoder("utf-8", { fatal: true })

type Decoder = InstanceType<typeof TextDecoder>

/** The decoder for the encoding that the body's type declares, such as `iso-8859-1`; otherwise, for UTF-8. */
const decoderOf = (type: string | undefined): Decoder => {
  const charset = type && /;\s*charset="?([^";\s]+)/i.exec(type)?.[1]
  if (!charset || /^(utf-?8|(us-)?ascii)$/i.test(charset)) return utf8
  try {
    return new TextDecoder(charset, { fatal: true })
  } catch {
    return utf8
  }
}

/** The body's text, or its fault. Byte order marks are dropped: some senders write two. */
export const decode = (body: Uint8Array, type?: string): Result.Result<string, string> => {
  const decoder = decoderOf(type)
  try {
    return Result.succeed(decoder.decode(body).replace(/^\uFEFF+/, ""))
  } catch {
    return Result.fail(`The body is not ${decoder.encoding.toUpperCase()}.`)
  }
}

const parseJson = (text: string): Result.Result<unknown, string> => {
  try {
    return Result.succeed(Json.parse(text))
  } catch {
    return Result.fail("The body is not JSON.")
  }
}

export type JsonObject = { readonly [name: string]: unknown }

/** The body as a JSON object, or its fault. */
export const parseObject = (text: string): Result.Result<JsonObject, string> =>
  Result.flatMap(parseJson(text), (value) =>
    Predicate.isReadonlyObject(value)
      ? Result.succeed(value as JsonObject)
      : Result.fail("The body is not a JSON object.")
  )

/** Form fields by name; a repeated field is a list. */
export type FormFields = { readonly [name: string]: string | ReadonlyArray<string> }

export const fieldsOf = <Value>(
  pairs: Iterable<readonly [name: string, value: Value, ...rest: ReadonlyArray<unknown>]>
): { readonly [name: string]: Value | ReadonlyArray<Value> } => {
  const fields = new Map<string, Array<Value>>()
  for (const [name, value] of pairs) {
    const values = fields.get(name)
    if (values === undefined) fields.set(name, [value])
    else values.push(value)
  }
  // Built from entries, so that `__proto__` is an ordinary name.
  return Object.fromEntries(Array.from(fields, ([name, values]) => [name, values.length === 1 ? values[0]! : values]))
}

/** As strict as for UTF-8: `URLSearchParams` would replace what it cannot decode. */
const decodedPart = (part: string, decoder: Decoder): string => {
  if (!/[+%]/.test(part)) return part
  const spaced = part.replaceAll("+", " ")
  if (decoder === utf8) return decodeURIComponent(spaced)
  return spaced.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) =>
    decoder.decode(Uint8Array.from(bytes.slice(1).split("%"), (byte) => Number.parseInt(byte, 16)))
  )
}

/** JSON that was sent as a form, as by `curl -d '{"a":1}'`; encoded, it is the name of the only field. */
export const jsonInForm = (text: string): string | undefined => {
  if (!/^\s*([[{]|%5b|%7b)/i.test(text)) return undefined
  if (Result.isSuccess(parseJson(text))) return text
  const fields = Object.entries(Result.getOrElse(parseForm(text, utf8), () => ({})))
  const [[name, value] = ["", undefined]] = fields
  return fields.length === 1 && value === "" && Result.isSuccess(parseJson(name)) ? name : undefined
}

const parseForm = (text: string, decoder: Decoder): Result.Result<FormFields, string> => {
  try {
    const pairs = text.split("&").filter((pair) => pair !== "")
    return Result.succeed(
      fieldsOf(
        pairs.map((pair) => {
          const at = pair.indexOf("=")
          return at < 0
            ? ([decodedPart(pair, decoder), ""] as const)
            : ([decodedPart(pair.slice(0, at), decoder), decodedPart(pair.slice(at + 1), decoder)] as const)
        })
      )
    )
  } catch {
    return Result.fail(`The body is not a form in ${decoder.encoding.toUpperCase()}.`)
  }
}

/** GitHub and Slack can send JSON as a form's only field, `payload`. Then that is the body. */
const unwrapped = (fields: { readonly [name: string]: unknown }): unknown => {
  const { payload } = fields
  if (typeof payload !== "string" || Object.keys(fields).length > 1) return fields
  return Result.getOrElse(parseJson(payload), () => fields)
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
  return Result.getOrElse(parse(headers, body), () => body)
}

/** The fields of a form with files, by name. */
export const ofParts = (parts: ReadonlyArray<Part>): unknown => unwrapped(fieldsOf<string | FormFile>(parts))

/** The value of a body with these headers: any JSON, a form's fields by name, or the text itself. */
export const parse = (headers: Headers, text: string): Result.Result<unknown, string> => {
  const type = typeOf(headers)
  switch (bodyKindOf(headers) ?? "text") {
    case "json":
      return parseJson(text)
    case "form": {
      const json = jsonInForm(text)
      return json === undefined ? Result.map(parseForm(text, decoderOf(type)), unwrapped) : parseJson(json)
    }
    case "multipart":
      return Result.map(parseMultipart(new TextEncoder().encode(text), type ?? ""), ofParts)
    case "text":
      return Result.succeed(text)
  }
}
