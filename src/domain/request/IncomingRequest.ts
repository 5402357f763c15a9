/** A trigger request, and the part of it that templates and filters see. */

import { Result } from "effect"
import { BodyTooLarge, InvalidBody, UnsupportedMediaType } from "../Errors.ts"
import * as Json from "../Json.ts"
import { allFiles, incomingFiles, maxFile, mostFiles, type StoredFile } from "../run/RunFile.ts"
import { type Part, parseMultipart } from "./Multipart.ts"
import * as Payload from "./Payload.ts"
import { isSecretHeader } from "./SecretHeaders.ts"
import { withoutCutToken, withoutMembers, withoutToken } from "./WithoutToken.ts"

/** The request as received. Stored and rendered parts are read through the functions here, which remove the token. */
export interface IncomingRequest {
  /** The token that authenticated it; absent in a request written by hand. */
  readonly token?: string | undefined
  /** Byte for byte, since signatures cover it. */
  readonly body: Uint8Array
  /** By lower-case name, including headers with secrets. */
  readonly headers: { readonly [name: string]: unknown }
  /** The URL's query, from its `?` on, or empty. */
  readonly search: string
  /** Members of the body's JSON that hold secrets. */
  readonly secretMembers?: ReadonlyArray<string>
}

/** The content. A type alias, so that a template's input can be this or the variables. */
export type RequestValues = {
  /** The body: any JSON, a form's fields by name, or a text. */
  readonly payload: unknown
  /** By lower-case name, without headers that hold secrets. */
  readonly headers: { readonly [name: string]: string }
  /** The URL's parameters except `wait`, which belongs to the service. */
  readonly query: Payload.FormFields
}

type Headers = IncomingRequest["headers"]

const named: { readonly [Kind in Payload.BodyKind]: string } = {
  json: "`application/json`",
  form: "`application/x-www-form-urlencoded`",
  multipart: "`multipart/form-data`",
  text: "`text/plain`"
}

const encodingOf = (headers: Headers): string =>
  String(headers["content-encoding"] ?? "")
    .trim()
    .toLowerCase()

export const isGzipped = (headers: Headers): boolean => ["gzip", "x-gzip"].includes(encodingOf(headers))

/** Why a body with these headers is not read: an unsupported media type, or an encoding. */
export const mediaTypeFault = (
  headers: Headers,
  kinds: readonly [Payload.BodyKind, ...ReadonlyArray<Payload.BodyKind>],
  { mayBeGzipped = false }: { readonly mayBeGzipped?: boolean } = {}
): UnsupportedMediaType | undefined => {
  // Some senders name the second although it should not be sent (RFC 9110, 8.4).
  if (!["", "identity"].includes(encodingOf(headers)) && !(mayBeGzipped && isGzipped(headers))) {
    const other = mayBeGzipped ? "other than `gzip` " : ""
    return new UnsupportedMediaType({ detail: `A body with a \`Content-Encoding\` ${other}is not accepted.` })
  }
  const kind = Payload.bodyKindOf(headers)
  if (kind !== undefined && kinds.includes(kind)) return undefined
  return notAccepted(kinds)
}

const notAccepted = (kinds: ReadonlyArray<Payload.BodyKind>): UnsupportedMediaType => {
  const accepted = kinds
    .map((kind) => named[kind])
    .join(" or ")
    .replace("`application", "`Content-Type: application")
  return new UnsupportedMediaType({ detail: `Send ${accepted}.` })
}

type Payloads = Result.Result<unknown, InvalidBody>

/** The body's text, or what is wrong with it. */
const textOf = ({ body, headers, secretMembers, token }: IncomingRequest): Result.Result<string, string> =>
  Result.map(Payload.decode(body, Payload.typeOf(headers)), (text) =>
    withoutMembers(withoutToken(text, token), secretMembers)
  )

const invalidBody = (detail: string) => new InvalidBody({ detail })

/** The body as a JSON object, also if it was sent as a form. */
export const objectOf = (
  request: IncomingRequest
): Result.Result<Payload.JsonObject, InvalidBody | UnsupportedMediaType> =>
  Result.flatMap(
    Result.mapError(textOf(request), invalidBody),
    (text): Result.Result<Payload.JsonObject, InvalidBody | UnsupportedMediaType> => {
      const json = Payload.bodyKindOf(request.headers) === "form" ? Payload.jsonInForm(text) : text
      return json === undefined
        ? Result.fail(notAccepted(["json"]))
        : Result.mapError(Payload.parseObject(json), invalidBody)
    }
  )

/** A token's characters are the same in JSON. */
const withoutTokenIn = (value: unknown, token: string | undefined): unknown => {
  const json = Json.stringify(value)
  const safe = withoutToken(json, token)
  return safe === json ? value : Json.parse(safe)
}

const parsed = (request: IncomingRequest): Payloads => {
  const type = Payload.typeOf(request.headers)
  // From a caller that sends nothing, such as a scheduler.
  if (type === undefined && request.body.length === 0) return Result.succeed("")
  return isMultipart(request)
    ? Result.map(partsOf(request), (parts) => withoutTokenIn(Payload.ofParts(parts), request.token))
    : Result.mapError(
        Result.flatMap(textOf(request), (text) => Payload.parse(request.headers, text)),
        invalidBody
      )
}

/** Reads a value from a request only once. */
const once = <A>(read: (request: IncomingRequest) => A) => {
  const known = new WeakMap<IncomingRequest, { readonly value: A }>()
  return (request: IncomingRequest): A => {
    const before = known.get(request)
    if (before !== undefined) return before.value
    const value = read(request)
    known.set(request, { value })
    return value
  }
}

/** The body, of a supported kind. */
const payloadOf = once(parsed)

export const isMultipart = ({ headers }: IncomingRequest): boolean => Payload.bodyKindOf(headers) === "multipart"

const partsOf = once(
  ({ body, headers }): Result.Result<ReadonlyArray<Part>, InvalidBody> =>
    Result.mapError(parseMultipart(body, Payload.typeOf(headers) ?? ""), invalidBody)
)

/** The texts of a form with files, by name. */
export const fieldsOf = (request: IncomingRequest): Result.Result<Payload.JsonObject, InvalidBody> =>
  Result.map(partsOf(request), (parts) => {
    const fields = Payload.fieldsOf(parts.filter(([, value]) => typeof value === "string"))
    return withoutTokenIn(fields, request.token) as Payload.JsonObject
  })

/** The files of a form. What else it has may be as long as another body, in bytes. */
export const filesOf = (
  request: IncomingRequest,
  maxBody: number
): Result.Result<ReadonlyArray<StoredFile>, InvalidBody | BodyTooLarge> =>
  Result.flatMap(isMultipart(request) ? partsOf(request) : Result.succeed([]), (parts) => {
    const sent = parts.flatMap(([, file, bytes]) =>
      // A form in a browser sends such a part for a field without a file.
      typeof file === "string" || (file.filename === "" && bytes.length === 0)
        ? []
        : [{ name: withoutToken(file.filename, request.token), type: file.content_type, bytes }]
    )
    const size = sent.reduce((sum, { bytes }) => sum + bytes.length, 0)
    const isTooMuch =
      sent.length > mostFiles ||
      sent.some(({ bytes }) => bytes.length > maxFile) ||
      request.body.length - size > maxBody
    return isTooMuch ? Result.fail(filesTooLarge(maxBody)) : Result.succeed(incomingFiles(sent))
  })

/** The longest body of this type, in bytes, where another may be so long. */
export const longestBody = (headers: Headers, maxBody: number): number =>
  Payload.bodyKindOf(headers) === "multipart" ? maxBody + allFiles : maxBody

export const filesTooLarge = (maxBody: number) =>
  new BodyTooLarge({
    limit_bytes: maxBody + allFiles,
    detail: `At most ${mostFiles} files of ${maxFile / 1e6} MB each are accepted, and ${maxBody} bytes beside them.`
  })

/** Invalid bytes become replacement characters. */
const lenientUtf8 = new TextDecoder("utf-8", { ignoreBOM: true })

/** @param secret lower-case names of further headers that hold secrets */
export const headersOf = (
  { headers, token }: IncomingRequest,
  secret: ReadonlyArray<string>
): RequestValues["headers"] =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === "string" && !isSecretHeader(name, secret) ? [[name, withoutToken(value, token)]] : []
    )
  )

export const queryOf = ({ search, token }: IncomingRequest): RequestValues["query"] => {
  const { wait, ...query } = Payload.fieldsOf(new URLSearchParams(withoutToken(search, token)))
  return query
}

/** Up to this many bytes of the body, as text. */
export const beginningOf = ({ body, headers, secretMembers, token }: IncomingRequest, bytes: number): string => {
  const beginning = body.subarray(0, bytes)
  const isForm = Payload.bodyKindOf(headers) === "multipart"
  const text = isForm ? Result.fail("") : Payload.decode(beginning, Payload.typeOf(headers))
  return withoutMembers(
    withoutCutToken(
      Result.getOrElse(text, () => lenientUtf8.decode(beginning)),
      token
    ),
    secretMembers
  )
}

/** The request's content, without headers that hold secrets, including those named by the webhook. */
export const valuesOf = (
  request: IncomingRequest,
  secret: ReadonlyArray<string> = []
): Result.Result<RequestValues, InvalidBody> =>
  Result.map(payloadOf(request), (payload) => ({
    payload,
    headers: headersOf(request, secret),
    query: queryOf(request)
  }))
