/** The messages on the broker; `docs/amqp.md` documents them for leaders in other languages. */
import { randomUUID } from "node:crypto"
import type { Message, Options } from "amqplib"
import { Either, Option, Schema } from "effect"
import { RunId } from "../../domain/Id.ts"
import { type NumberedProgress, readProgress } from "../../domain/run/Progress.ts"
import type { TeamName } from "../../domain/Team.ts"
import {
  answerTooLarge,
  maxAnswer,
  parseJson,
  promptBody,
  type ReplyType,
  readPromptBody,
  readReply,
  replyBody,
  storableReply
} from "../Bodies.ts"
import type { DeadLettered, LeaderReply, Prompt, Reply } from "../Bus.ts"
import { longReply } from "../LongReplies.ts"
import type { ReplyKind } from "./Metrics.ts"
import { cancelExchange, lateExchange, progressKey, promptsExchange, repliesExchange } from "./Topology.ts"

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
const decodeCancelBody = Schema.decodeUnknownOption(Schema.parseJson(CancelBody))

const json = "application/json"
const progressType = "progress"
/** In bytes. The longest text, of control characters that JSON escapes, is shorter. */
const maxProgress = 512 * 1024

/** @param left the time to the deadline in milliseconds, more than 0; `undefined` if the prompt does not expire. */
export const encodePrompt = (prompt: Prompt, queue: string, left: number | undefined): Outgoing => {
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
      ...(left === undefined ? {} : { expiration: String(Math.ceil(left)) })
    }
  }
}

/** Marks a prompt as an offer. */
const offerHeader = "x-webhook-offer"

/**
 * A prompt that reaches only an idle consumer, because it expires after a millisecond. With 0, a quorum queue would not
 * deliver it at all.
 */
export const encodeOffer = (prompt: Prompt, queue: string): Outgoing => {
  const outgoing = encodePrompt(prompt, queue, 1)
  return { ...outgoing, options: { ...outgoing.options, headers: { [offerHeader]: true } } }
}

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

export const decodePrompt = (message: Message, team: TeamName): Option.Option<Prompt> =>
  Option.map(readPromptBody(parseJson(message.content.toString())), (body) => ({
    ...body,
    team,
    correlation_id: String(message.properties.correlationId ?? body.run_id)
  }))

/** A reply that is too long becomes an error, because RabbitMQ 4 closes the channel on messages over 16 MiB. */
export const encodeReply = (reply: LeaderReply, prompt: Prompt, exchange: string): Outgoing => {
  const [type, content] = replyBody(reply)
  const body = Buffer.from(JSON.stringify(content))
  if (body.length > maxAnswer) return encodeReply({ _tag: "Failed", message: answerTooLarge }, prompt, exchange)
  const options = { type, contentType: json, correlationId: prompt.correlation_id }
  return { id: `${prompt.run_id}:${type}`, exchange, routingKey: "", body, options }
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
  return content.length > maxProgress ? undefined : readProgress(parseJson(content.toString()))
}

/** Progress with an empty routing key comes with the replies. */
export const isProgress = ({ properties }: Message): boolean => properties.type === progressType

/** A decoded message from `webhook.replies.inbox` or `webhook.dead`; left if it is unusable. */
export type Decoded = Either.Either<{ readonly kind: ReplyKind; readonly reply: Reply }, "malformed" | "unknown">

const isReplyType = (type: unknown): type is ReplyType =>
  type === "started" || type === "response" || type === "error" || type === "discarded"

const hasText = (type: unknown): boolean => type !== "started" && type !== "discarded"

const isText = ({ contentType }: Message["properties"]): boolean => /^text\/plain\s*(;|$)/i.test(String(contentType))

/**
 * A reply's type is `started`, `response` (the default), `error` or `discarded`. A `text/plain` body is the answer or the error
 * message; bytes that are not UTF-8 become U+FFFD.
 */
export const decodeReply = (message: Message, run_id: RunId): Decoded => {
  const type = message.properties.type ?? "response"
  const decoded = (kind: ReplyKind, reply: LeaderReply): Decoded =>
    Either.right({ kind, reply: storableReply({ ...reply, run_id }) })
  if (!isReplyType(type)) return Either.left("unknown")
  if (hasText(type) && message.content.length > maxAnswer) {
    return decoded("error", { _tag: "Failed", message: answerTooLarge })
  }
  const text = message.content.toString()
  const body = isText(message.properties) ? { response: text, message: text } : parseJson(text)
  const reply = readReply(type, body)
  return reply === undefined ? Either.left("malformed") : decoded(type, reply)
}

/** Whether `decodeReply` would have to read a long text. */
export const isLongReply = ({ content, properties }: Message): boolean =>
  content.length > longReply && content.length <= maxAnswer && hasText(properties.type)

/** An unchanged reply for another queue. It has a random id, because a run may have several replies. */
export const encodeLate = (message: Message): Outgoing => {
  const { contentType, correlationId, headers, type } = message.properties
  return {
    id: randomUUID(),
    exchange: lateExchange,
    routingKey: "",
    body: message.content,
    options: { type, contentType, correlationId },
    traceparent: headers?.traceparent
  }
}

/**
 * A dead-lettered prompt. A leader may also publish one for its own prompts. The reason is the latest entry of RabbitMQ's
 * header `x-death`: https://www.rabbitmq.com/docs/dlx#effects
 */
export const decodeDeadLetter = (message: Message, run_id: RunId): Decoded =>
  Either.right({ kind: "dead", reply: { _tag: "DeadLettered", run_id, reason: reasonOf(message) } })

/** Whether the message is an offer that no leader accepted. */
export const isExpiredOffer = (message: Message): boolean =>
  message.properties.headers?.[offerHeader] === true && reasonOf(message) === "expired"

const reasonOf = ({ properties: { headers } }: Message): DeadLettered["reason"] => {
  const why: string | undefined = headers?.["x-death"]?.[0]?.reason ?? headers?.["x-first-death-reason"]
  return why === "expired" || why === "delivery_limit" ? why : "rejected"
}
