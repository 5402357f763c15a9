/** `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): a repeat of the request returns the first run. */

import { createHash } from "node:crypto"
import { Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { InvalidParameter, type InvalidVariables } from "../../domain/Errors.ts"
import * as Json from "../../domain/Json.ts"
import type { Variables } from "../../domain/run/Run.ts"
import type { StoredFile } from "../../domain/run/RunFile.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import * as Input from "../../engine/prompt/Input.ts"
import type { RunRequest } from "../../engine/trigger/Candidates.ts"
import { nodeRequest } from "../request/Body.ts"

const header = "idempotency-key"
const printable = /^[\x20-\x7e]{1,255}$/
/** A string in the syntax of structured fields (RFC 9651, 3.3.3). */
const quoted = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/

const isKey = (text: unknown): text is string => typeof text === "string" && printable.test(text)

/** The draft quotes the key, most callers do not: `"k"` and `k` are the same key. */
const parse = (text: string): string | undefined => {
  const key = text.startsWith('"') ? quoted.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, "$1") : text
  return isKey(key) ? key : undefined
}

/** JSON independent of the order of members and of white space. */
const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (Json.isNumber(value)) return Json.canonical(value)
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical((value as Variables)[name])}`)
  return `{${members.join()}}`
}

type Idempotency = Pick<RunRequest, "idempotency">

const wrongKey = (name: string, more = "") =>
  new InvalidParameter({ name, detail: `must be 1 to 255 printable ASCII characters${more}` })

/** The key with a hash of its request's content, whose nesting is bounded. So `canonical` cannot overflow the stack. */
const withHash = (key: string, content: unknown): Required<Idempotency> => ({
  idempotency: { key, request_hash: createHash("sha256").update(canonical(content)).digest() }
})

/** Each of these senders has its own keys. They never equal the key of a header, which cannot contain a line break. */
const keyOf = (sender: string, key: string): string => `${sender}\n${key}`

/** A key that is not in a header, with a hash of its request's content. */
export const ofSender = (name: string, key: unknown, sender: string, content: unknown) =>
  isKey(key) ? Result.succeed(withHash(keyOf(sender, key), content)) : Result.fail(wrongKey(name))

/** The request's key, if any, with a hash of its input, whose nesting is bounded. Each `sender` has its own keys. */
export const readWith = <E>(
  request: HttpServerRequest.HttpServerRequest,
  content: () => Result.Result<Variables, E>,
  sender?: string
): Result.Result<Idempotency, InvalidParameter | E> => {
  const text = request.headers[header]
  if (text === undefined) return Result.succeed({})
  const count = nodeRequest(request)?.headersDistinct[header]?.length ?? 1
  const key = count === 1 ? parse(text) : undefined
  if (key === undefined) {
    return Result.fail(wrongKey("Idempotency-Key", ", given once"))
  }
  return Result.map(content(), (content) => withHash(sender === undefined ? key : keyOf(sender, key), content))
}

const hashesOf = (files: ReadonlyArray<StoredFile>) =>
  files.length === 0
    ? {}
    : { files: files.map(({ bytes, name }) => `${createHash("sha256").update(bytes).digest("hex")} ${name}`) }

/**
 * The key of a request that triggers the webhook with this input. With another callback, time or files it is another
 * request.
 */
export const read = (
  request: HttpServerRequest.HttpServerRequest,
  webhook: WebhookRow,
  input: Variables,
  {
    callback_url,
    files = [],
    not_before,
    sender
  }: {
    readonly callback_url?: string | undefined
    readonly not_before?: string | undefined
    readonly files?: ReadonlyArray<StoredFile>
    readonly sender?: string | undefined
  } = {}
): Result.Result<Idempotency, InvalidParameter | InvalidVariables> =>
  readWith(
    request,
    () =>
      Result.map(Input.contentOf(webhook, input), (content) =>
        callback_url === undefined && not_before === undefined && files.length === 0
          ? content
          : {
              content,
              ...(callback_url !== undefined && { callback_url }),
              ...(not_before !== undefined && { not_before }),
              ...hashesOf(files)
            }
      ),
    sender
  )
