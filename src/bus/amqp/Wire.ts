/** The messages on the broker; `docs/reference/amqp.md` documents them for leaders in other languages. */
import { randomUUID } from "node:crypto"
import type { Message, Options } from "amqplib"
import { Option, Result, Schema } from "effect"
import { RunId } from "../../domain/Id.ts"
import { parsePlain } from "../../domain/Json.ts"
import { type NumberedProgress, readProgress } from "../../domain/run/Progress.ts"
import type { TeamName } from "../../domain/Team.ts"
import {
  maxAnswer,
  maxReplyBody,
  promptBody,
  type ReplyType,
  readPromptBody,
  readReply,
  replyBody,
  replyTypes,
  storableReply
} from "../Bodies.ts"
import type { DeadLettered, LeaderReply, Prompt, Reply, WantedFile } from "../Bus.ts"
import type { ReplyKind } from "./Metrics.ts"
import { cancelExchange, filesKey, progressKey, promptsExchange, repliesExchange } from "./Topology.ts"

/** A message for the broker. `id` is its `message_id`, which identifies returned messages. */
export interface Outgoing {
  readonly id: string
  readonly exchange: string
  readonly routingKey: string
  readonly body: Buffer
  readonly options: Options.Publish
  /** See `Prompt`. */
  readonly traceparent?: string | undefined
}

const CancelBody = Schema.Struct({ run_id: RunId })
const decodeCancelBody = Schema.decodeUnknownOption(Schema.fromJsonString(CancelBody))

const FileBody = Schema.Struct({
  file: Schema.Struct({
    run_id: RunId,
    id: Schema.String,
    content: Schema.String,
    missing: Schema.optionalKey(Schema.String)
  })
})
const decodeFileBody = Schema.decodeUnknownOption(Schema.fromJsonString(FileBody))

const json = "application/json"
const progressType = "progress"
const fileType = "file"
/** In bytes. The longest text, of control characters that JSON escapes, is shorter. */
const maxProgress = 512 * 1024

/** Marks a prompt that may have been sent before. */
const offerHeader = "x-webhook-offer"

/** @param left the time to the deadline in milliseconds, more than 0; `undefined` if the prompt does not expire. */
export const encodePrompt = (prompt: Prompt, queue: string, left: number | undefined, isAgain: boolean): Outgoing => {
  const { correlation_id, traceparent } = prompt
  return {
    id: prompt.run_id,
    traceparent,
    exchange: promptsExchange,
    routingKey: queue,
    body: Buffer.from(JSON.stringify(promptBody(prompt))),
    options: {
      type: "prompt",
      contentType: json,
      correlationId: correlation_id,
      replyTo: repliesExchange,
      ...(isAgain && { headers: { [offerHeader]: true } }),
      ...(left === undefined ? {} : { expiration: String(Math.ceil(left)) })
    }
  }
}

/**
 * A prompt that reaches only an idle consumer, because it expires after a millisecond. With 0, a quorum queue would not
 * deliver it at all.
 */
export const encodeOffer = (prompt: Prompt, queue: string): Outgoing => encodePrompt(prompt, queue, 1, true)

/** A cancellation. Its id differs from the prompt's, because the publisher matches confirmations by id. */
export const encodeCancel = (team: TeamName, run_id: RunId): Outgoing => ({
  id: `${run_id}:cancel`,
  exchange: cancelExchange(team),
  routingKey: "",
  body: Buffer.from(JSON.stringify({ run_id })),
  options: { type: "cancel", contentType: json }
})

export const decodeCancel = (message: Message): Option.Option<RunId> =>
  Option.map(decodeCancelBody(message.content.toString()), ({ run_id }) => run_id)

/** Without `run_id` beside it: no leader takes it for a cancellation. */
export const encodeFile = (team: TeamName, run_id: RunId, { bytes, id, missing }: WantedFile): Outgoing => ({
  id: randomUUID(),
  exchange: cancelExchange(team),
  routingKey: "",
  body: Buffer.from(JSON.stringify({ file: { run_id, id, content: Buffer.from(bytes).toString("base64"), missing } })),
  options: { type: fileType, contentType: json }
})

export const isFile = ({ properties }: Message): boolean => properties.type === fileType

export const decodeFile = (message: Message): Option.Option<WantedFile & { readonly run_id: RunId }> =>
  Option.map(decodeFileBody(message.content.toString()), ({ file: { content, ...file } }) => ({
    ...file,
    bytes: Buffer.from(content, "base64")
  }))

export const decodePrompt = (message: Message, team: TeamName): Option.Option<Prompt> =>
  Option.map(readPromptBody(parsePlain(message.content.toString())), (body) => ({
    ...body,
    team,
    correlation_id: String(message.properties.correlationId ?? body.run_id)
  }))

export const encodeReply = (reply: LeaderReply, prompt: Prompt, exchange: string): Outgoing => {
  const [type, content] = replyBody(reply)
  const body = Buffer.from(JSON.stringify(content))
  const options = { type, contentType: json, correlationId: prompt.correlation_id }
  const id = reply._tag === "File" || reply._tag === "FileWanted" ? randomUUID() : `${prompt.run_id}:${type}`
  return { id, exchange, routingKey: reply._tag === "File" ? filesKey : "", body, options }
}

/** Without a confirmation, and not stored on the broker's disk. */
export const encodeProgress = (progress: NumberedProgress, { correlation_id }: Prompt, exchange: string): Outgoing => ({
  id: randomUUID(),
  exchange,
  routingKey: progressKey,
  body: Buffer.from(JSON.stringify(progress)),
  options: { type: progressType, contentType: json, correlationId: correlation_id }
})

/** @returns `undefined` if it is unusable. */
export const decodeProgress = ({ content }: Message): NumberedProgress | undefined => {
  return content.length > maxProgress ? undefined : readProgress(parsePlain(content.toString()))
}

/** Progress with an empty routing key comes with the replies. */
export const isProgress = ({ properties }: Message): boolean => properties.type === progressType

/** A decoded message from `webhook.replies.inbox` or `webhook.dead`; left if it is unusable. */
type Decoded = Result.Result<{ readonly kind: ReplyKind; readonly reply: Reply }, "malformed" | "unknown">

const isReplyType = (type: unknown): type is ReplyType => (replyTypes as ReadonlyArray<unknown>).includes(type)

const isText = ({ contentType }: Message["properties"]): boolean => /^text\/plain\s*(;|$)/i.test(String(contentType))

/**
 * A reply's type is `started`, `response` (the default), `error` or `discarded`. A `text/plain` body is the answer or the error
 * message; bytes that are not UTF-8 become U+FFFD.
 */
export const decodeReply = (message: Message, run_id: RunId): Decoded => {
  const type = message.properties.type ?? "response"
  const decoded = (kind: ReplyKind, reply: LeaderReply): Decoded =>
    Result.succeed({ kind, reply: storableReply({ ...reply, run_id }) })
  if (!isReplyType(type)) return Result.fail("unknown")
  const reply = readReply(type, bodyOf(message))
  return reply === undefined ? Result.fail("malformed") : decoded(type, reply)
}

/** Reads a text, or JSON that is too long to be parsed, only as far as needed to show that it is too long. */
const bodyOf = ({ content, properties }: Message): unknown => {
  if (!isText(properties) && content.length <= maxReplyBody) return parsePlain(content.toString())
  const text = content.subarray(0, maxAnswer + 1).toString()
  return { response: text, message: text }
}

/**
 * A dead-lettered prompt; `undefined`: an offer that no leader accepted. A leader may also publish one for its own prompts.
 * The reason is the latest entry of RabbitMQ's header `x-death`: https://www.rabbitmq.com/docs/dlx#effects
 */
export const decodeDeadLetter = (message: Message, run_id: RunId): Decoded | undefined => {
  const reason = reasonOf(message)
  if (reason === "expired" && message.properties.headers?.[offerHeader] === true) return undefined
  return Result.succeed({ kind: "dead", reply: { _tag: "DeadLettered", run_id, reason } })
}

const reasonOf = ({ properties: { headers } }: Message): DeadLettered["reason"] => {
  const why: string | undefined = headers?.["x-death"]?.[0]?.reason ?? headers?.["x-first-death-reason"]
  return why === "expired" || why === "delivery_limit" ? why : "rejected"
}
