/** Bodies of type `multipart/form-data` (RFC 7578). Browser-safe. */
import { Result } from "effect"

/** An uploaded file. Only a text that a prompt may hold has its content here; others have their names alone. */
export interface FormFile {
  readonly filename: string
  readonly content_type?: string
  readonly text?: string
}

export type Part = readonly [name: string, value: string | FormFile, content: Uint8Array]

/** Far more than forms have. */
const mostParts = 1_000
/** Bytes of the headers of a part. */
const longestHeaders = 8_192
/** Characters of a boundary: RFC 2046 allows 70. */
const longestBoundary = 200
/** Bytes of a file's content in `text`: what a prompt may have. */
const longestText = 256 * 1024

const lenient = new TextDecoder()
const encoder = new TextEncoder()
const [cr, dash] = [13, 45]

/** Where `wanted` begins, from `from` on; -1: nowhere. In linear time (Knuth, Morris and Pratt), whatever the body. */
const find = (body: Uint8Array, wanted: Uint8Array, from: number): number => {
  const back = new Uint16Array(wanted.length)
  for (let at = 1, length = 0; at < wanted.length; at++) {
    while (length > 0 && wanted[at] !== wanted[length]) length = back[length - 1]!
    if (wanted[at] === wanted[length]) length++
    back[at] = length
  }
  for (let at = from, length = 0; at < body.length; at++) {
    if (length === 0) {
      // Quicker by far than this loop.
      at = body.indexOf(wanted[0]!, at)
      if (at < 0) return -1
    }
    while (length > 0 && body[at] !== wanted[length]) length = back[length - 1]!
    if (body[at] === wanted[length]) length++
    if (length === wanted.length) return at + 1 - length
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
  if (filename === undefined) return [name, fieldText(content, charset), content]
  const text = content.length > longestText ? undefined : decoded(content, charset ?? "utf-8")
  const isText = text !== undefined && !text.includes("\0")
  return [name, { filename, ...(content_type !== "" && { content_type }), ...(isText && { text }) }, content]
}

/** The parts of the body, by its `Content-Type`, or what is wrong with it. */
export const parseMultipart = (body: Uint8Array, type: string): Result.Result<ReadonlyArray<Part>, string> => {
  const boundary = parameter(type, "boundary")
  if (boundary === undefined) return Result.fail("The body's `Content-Type` has no `boundary`.")
  if (boundary.length > longestBoundary) return Result.fail("The body's `boundary` is too long.")
  const first = encoder.encode(`--${boundary}`)
  const delimiter = encoder.encode(`\r\n--${boundary}`)
  const parts: Array<Part> = []
  let from = find(body, first, 0)
  if (from < 0) return Result.fail("The body has no part of a form.")
  from += first.length
  while (body[from] !== dash || body[from + 1] !== dash) {
    while (from < body.length && body[from] !== cr) from++
    const end = find(body, delimiter, from)
    if (end < 0) return Result.fail("The body ends within a part of the form.")
    // From the end of the line on: a part without headers begins with an empty line.
    const part = partOf(body.subarray(from + 2, end))
    if (part === undefined) return Result.fail("A part of the form has no name.")
    if (parts.length === mostParts) return Result.fail(`The form has more than ${mostParts} parts.`)
    parts.push(part)
    from = end + delimiter.length
  }
  return Result.succeed(parts)
}
