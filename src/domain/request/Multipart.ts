/** Bodies of type `multipart/form-data` (RFC 7578). Browser-safe. */
import { Either } from "effect"

/** An uploaded file. Only a text has its content; others have their names alone. */
export interface FormFile {
  readonly filename: string
  readonly content_type?: string
  readonly text?: string
}

export type Part = readonly [name: string, value: string | FormFile]

/** Far more than forms have. */
const mostParts = 1_000
/** Bytes of the headers of a part. */
const longestHeaders = 8_192

const lenient = new TextDecoder()
const encoder = new TextEncoder()
const [cr, dash] = [13, 45]

/** Where `wanted` begins, from `from` on; -1: nowhere. */
const find = (body: Uint8Array, wanted: Uint8Array, from: number): number => {
  for (let at = body.indexOf(wanted[0]!, from); at >= 0; at = body.indexOf(wanted[0]!, at + 1)) {
    let length = 1
    while (length < wanted.length && body[at + length] === wanted[length]) length++
    if (length === wanted.length) return at
  }
  return -1
}

const decoded = (bytes: Uint8Array, charset: string): string | undefined => {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** A field of an unknown encoding, as in forwarded e-mails, is no reason to refuse the others. */
const fieldText = (bytes: Uint8Array, charset = "utf-8"): string =>
  decoded(bytes, charset) ?? decoded(bytes, "windows-1252") ?? lenient.decode(bytes)

const blank = encoder.encode("\r\n\r\n")

const parameter = (header: string, name: string): string | undefined => {
  const found = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;"]+))`, "i").exec(header)
  return found === null ? undefined : (found[1]?.replace(/\\(["\\])/g, "$1") ?? found[2])
}

/** `filename*=UTF-8''…` (RFC 8187), which some libraries send for other names than ASCII. */
const extended = (header: string): string | undefined => {
  const value = /;\s*filename\*=utf-8''([^\s;]+)/i.exec(header)?.[1]
  try {
    return value && decodeURIComponent(value)
  } catch {
    return undefined
  }
}

/** `undefined`: no field has a name. */
const partOf = (bytes: Uint8Array): Part | undefined => {
  const end = find(bytes.subarray(0, longestHeaders), blank, 0)
  if (end < 0) return undefined
  const lines = lenient.decode(bytes.subarray(0, end)).split("\r\n")
  const header = (name: string) => lines.find((line) => line.toLowerCase().startsWith(`${name}:`)) ?? ""
  const disposition = header("content-disposition")
  const name = parameter(disposition, "name")
  if (name === undefined) return undefined
  const content = bytes.subarray(end + blank.length)
  const content_type = header("content-type").slice("content-type:".length).trim()
  const charset = parameter(`;${content_type}`, "charset")
  const filename = extended(disposition) ?? parameter(disposition, "filename")
  if (filename === undefined) return [name, fieldText(content, charset)]
  const text = decoded(content, charset ?? "utf-8")
  const isText = text !== undefined && !text.includes("\0")
  return [name, { filename, ...(content_type !== "" && { content_type }), ...(isText && { text }) }]
}

/** The parts of the body, by its `Content-Type`, or what is wrong with it. */
export const parseMultipart = (body: Uint8Array, type: string): Either.Either<ReadonlyArray<Part>, string> => {
  const boundary = parameter(type, "boundary")
  if (boundary === undefined) return Either.left("The body's `Content-Type` has no `boundary`.")
  const first = encoder.encode(`--${boundary}`)
  const delimiter = encoder.encode(`\r\n--${boundary}`)
  const parts: Array<Part> = []
  let from = find(body, first, 0)
  if (from < 0) return Either.left("The body has no part of a form.")
  from += first.length
  while (body[from] !== dash || body[from + 1] !== dash) {
    while (from < body.length && body[from] !== cr) from++
    const end = find(body, delimiter, from)
    if (end < 0) return Either.left("The body ends within a part of the form.")
    // From the end of the line on: a part without headers begins with an empty line.
    const part = partOf(body.subarray(from + 2, end))
    if (part === undefined) return Either.left("A part of the form has no name.")
    if (parts.length === mostParts) return Either.left(`The form has more than ${mostParts} parts.`)
    parts.push(part)
    from = end + delimiter.length
  }
  return Either.right(parts)
}
