/**
 * The contents of prompts and replies, the same on every bus. `docs/reference/amqp.md` documents their JSON for leaders in other
 * languages.
 */
import { StringDecoder } from "node:string_decoder"
import { type Option, Predicate, Schema } from "effect"
import { type AgentReport, readReport } from "../domain/run/AgentReport.ts"
import { PromptBody } from "../domain/run/PromptBody.ts"
import { isIncomingId, maxFile, mostFiles } from "../domain/run/RunFile.ts"
import { isLeaderCode } from "../domain/run/RunStatus.ts"
import { readUsageLimit, usageLimitBody } from "../domain/run/UsageLimit.ts"
import { storable } from "../domain/StorableText.ts"
import type { FileReply, LeaderReply, Prompt, Reply } from "./Bus.ts"

const encodePromptBody = Schema.encodeSync(PromptBody)
const decodePromptBody = Schema.decodeUnknownOption(PromptBody)

/** Without what travels beside it: the team, the correlation ID and the trace. */
export const promptBody = ({ team: _, correlation_id: __, traceparent: ___, ...body }: Prompt) => encodePromptBody(body)

export const readPromptBody = (body: unknown): Option.Option<PromptBody> => decodePromptBody(body)

export const replyTypes = ["started", "file", "file_wanted", "response", "error", "discarded"] as const
export type ReplyType = (typeof replyTypes)[number]

export const replyBody = (given: LeaderReply): readonly [type: ReplyType, body: object] => {
  const reply = limited(given)
  switch (reply._tag) {
    case "Started":
      return ["started", {}]
    case "File": {
      const { bytes, name, type } = reply.file
      return ["file", { n: reply.n, name, media_type: type, content: Buffer.from(bytes).toString("base64") }]
    }
    case "FileWanted":
      return ["file_wanted", { id: reply.id }]
    case "Answered":
      return ["response", { response: reply.response, ...(reply.truncated && { truncated: true }), ...reply.report }]
    case "Failed":
      return ["error", { message: reply.message, ...usageLimitBody(reply.limited), ...codeOf(reply), ...reply.report }]
    case "Discarded":
      return ["discarded", {}]
  }
}

/** The reply of this type with this body; `undefined` if the body is not one. */
export const readReply = (type: ReplyType, body: unknown): LeaderReply | undefined => {
  if (type === "started") return { _tag: "Started" }
  if (type === "discarded") return { _tag: "Discarded" }
  if (!Predicate.isObject(body)) return undefined
  const { message, response, truncated } = body
  if (type === "file") return fileReply(body)
  if (type === "file_wanted") return isIncomingId(body.id) ? { _tag: "FileWanted", id: body.id } : undefined
  if (type === "response") {
    if (typeof response !== "string") return undefined
    return { _tag: "Answered", response, ...(truncated === true && { truncated }), ...reportOf(body) }
  }
  if (typeof message !== "string") return undefined
  return { _tag: "Failed", message, ...readUsageLimit(body), ...codeOf(body), ...reportOf(body) }
}

const fileReply = ({ content, media_type, n, name }: Readonly<Record<string, unknown>>): FileReply | undefined => {
  if (typeof content !== "string" || typeof name !== "string" || typeof n !== "number") return undefined
  const bytes = Buffer.from(content, "base64")
  if (!Number.isInteger(n) || n < 1 || n > mostFiles || bytes.length > maxFile) return undefined
  return { _tag: "File", n, file: { name, bytes, ...(typeof media_type === "string" && { type: media_type }) } }
}

/** The code of the error, and what there is of an answer; nothing for any other error. */
const codeOf = ({ code, response }: { readonly code?: unknown; readonly response?: unknown }) =>
  isLeaderCode(code) ? { code, ...(typeof response === "string" && { response }) } : {}

const reportOf = (body: object): { readonly report?: AgentReport } => {
  const report = readReport(body)
  return report === undefined ? {} : { report }
}

/** The longest answer, in bytes of UTF-8. */
export const maxAnswer = 1024 * 1024

/** How much of a longer one is kept, from its beginning. */
const keptOfAnswer = 64 * 1024

/** Why the run of a longer one failed. */
export const answerTooLarge = "The answer is larger than 1 MiB. Its first 64 KiB are kept."

/** The longest body of a reply that is read, in bytes: the longest message that RabbitMQ takes by default. */
export const maxReplyBody = 16 * 1024 * 1024

const isTooLong = (text: string): boolean =>
  text.length * 3 > maxAnswer && (text.length > maxAnswer || Buffer.byteLength(text) > maxAnswer)

/** Ends with a whole character. */
const beginningOf = (text: string): string =>
  new StringDecoder().write(Buffer.from(text.slice(0, keptOfAnswer)).subarray(0, keptOfAnswer))

/** The same reply without what is too long. A leader sends no more, and a server reads no more. */
export const limited = <A extends LeaderReply>(reply: A): A => {
  if (reply._tag === "Answered" && (reply.truncated || isTooLong(reply.response))) {
    return { ...reply, response: beginningOf(reply.response), truncated: true }
  }
  if (reply._tag !== "Failed") return reply
  const { message, response } = reply
  return {
    ...reply,
    ...(isTooLong(message) && { message: beginningOf(message) }),
    ...(response !== undefined && isTooLong(response) && { response: beginningOf(response) })
  }
}

/**
 * The reply as every bus passes it on: text that any database can store, of bounded size. What a leader wrote is never
 * refused for a character, since the run would then wait for its timeout.
 */
export const storableReply = (reply: Reply): Reply => {
  switch (reply._tag) {
    // An answer is measured as it is stored: a NUL becomes three bytes.
    case "Answered":
      return withReport(limited({ ...reply, response: storable(reply.response) }))
    case "Failed":
      return withReport(
        limited({
          ...reply,
          message: storable(reply.message),
          ...(reply.response !== undefined && { response: storable(reply.response) })
        })
      )
    case "Started":
    case "File":
    case "FileWanted":
    case "Discarded":
    case "DeadLettered":
      return reply
  }
}

const withReport = <A extends { readonly report?: AgentReport }>({ report: given, ...reply }: A) => {
  const report = given === undefined ? undefined : readReport(given)
  return report === undefined ? reply : { ...reply, report }
}

/** In UTF-16 code units. */
export const textLength = (reply: Reply): number => {
  switch (reply._tag) {
    case "Answered":
      return reply.response.length
    case "Failed":
      return reply.message.length + (reply.response?.length ?? 0)
    // It takes as long to store.
    case "File":
      return reply.file.bytes.length
    case "Started":
    case "FileWanted":
    case "Discarded":
    case "DeadLettered":
      return 0
  }
}
