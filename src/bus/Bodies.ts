/**
 * The contents of prompts and replies, the same on every bus. `docs/amqp.md` documents their JSON for leaders in other
 * languages.
 */
import { type Option, Predicate, Schema } from "effect"
import { type AgentReport, readReport } from "../domain/run/AgentReport.ts"
import { PromptBody } from "../domain/run/PromptBody.ts"
import { storable } from "../domain/StorableText.ts"
import type { LeaderReply, Prompt, Reply } from "./Bus.ts"

const encodePromptBody = Schema.encodeSync(PromptBody)
const decodePromptBody = Schema.decodeUnknownOption(PromptBody)

/** Without what travels beside it: the team, the correlation ID and the trace. */
export const promptBody = ({ team: _, correlation_id: __, traceparent: ___, ...body }: Prompt) => encodePromptBody(body)

export const readPromptBody = (body: unknown): Option.Option<PromptBody> => decodePromptBody(body)

/** The value of a JSON text; `undefined` if it is none. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export type ReplyType = "started" | "response" | "error" | "discarded"

export const replyBody = (reply: LeaderReply): readonly [type: ReplyType, body: object] => {
  switch (reply._tag) {
    case "Started":
      return ["started", {}]
    case "Answered":
      return ["response", { response: reply.response, ...reply.report }]
    case "Failed":
      return ["error", { message: reply.message, ...reply.report }]
    case "Discarded":
      return ["discarded", {}]
  }
}

/** The reply of this type with this body; `undefined` if the body is not one. */
export const readReply = (type: ReplyType, body: unknown): LeaderReply | undefined => {
  if (type === "started") return { _tag: "Started" }
  if (type === "discarded") return { _tag: "Discarded" }
  if (!Predicate.isRecord(body)) return undefined
  const { message, response } = body
  if (type === "response") {
    return typeof response === "string" ? { _tag: "Answered", response, ...reportOf(body) } : undefined
  }
  return typeof message === "string" ? { _tag: "Failed", message, ...reportOf(body) } : undefined
}

const reportOf = (body: object): { readonly report?: AgentReport } => {
  const report = readReport(body)
  return report === undefined ? {} : { report }
}

/** The longest answer that is stored, in bytes of UTF-8. */
export const maxAnswer = 8 * 1024 * 1024

/** What takes the place of a longer one. */
export const answerTooLarge = "answer larger than 8 MiB"

const withinLimit = (text: string): boolean =>
  text.length * 3 <= maxAnswer || (text.length <= maxAnswer && Buffer.byteLength(text) <= maxAnswer)

/** Measured as it would be stored: a NUL becomes three bytes. `undefined`: it is too long. */
const storableAnswer = (text: string): string | undefined => {
  if (!withinLimit(text)) return undefined
  const stored = storable(text)
  return stored === text || withinLimit(stored) ? stored : undefined
}

/**
 * The reply as every bus passes it on: text that any database can store, of bounded size. What a leader wrote is never
 * refused for a character, since the run would then wait for its timeout.
 */
export const storableReply = (reply: Reply): Reply => {
  switch (reply._tag) {
    case "Answered": {
      const response = storableAnswer(reply.response)
      return response === undefined
        ? { _tag: "Failed", run_id: reply.run_id, message: answerTooLarge }
        : withReport({ ...reply, response })
    }
    case "Failed":
      return withReport({ ...reply, message: storableAnswer(reply.message) ?? answerTooLarge })
    case "Started":
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
      return reply.message.length
    case "Started":
    case "Discarded":
    case "DeadLettered":
      return 0
  }
}
