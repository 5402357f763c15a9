/** The bus contract's messages, as bytes: `docs/amqp.md` describes them for leaders in other languages. */
import { randomUUID } from "node:crypto"
import type { Message, Options } from "amqplib"
import { Either, Option, Predicate, Schema } from "effect"
import { RunId, WebhookId } from "../../domain/Id.ts"
import { type AgentReport, readReport } from "../../domain/run/AgentReport.ts"
import { RunSource } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { DeadLettered, LeaderReply, Prompt, Reply } from "../Bus.ts"
import { longReply } from "../LongReplies.ts"
import { answerTooLarge, maxAnswer, storableReply } from "../Replies.ts"
import type { ReplyKind } from "./Metrics.ts"
import { cancelExchange, lateExchange, promptsExchange, repliesExchange } from "./Topology.ts"

/** A message ready for the broker. `id` is its `message_id`: a returned message is known by it. */
export interface Outgoing {
  readonly id: string
  readonly exchange: string
  readonly routingKey: string
  readonly body: Buffer
  readonly options: Options.Publish
  /** The trace that it belongs to; see `Prompt`. */
  readonly traceparent?: string | undefined
}

/** Taken as it is and not copied, as a `Schema.Record` would, which loses the name `__proto__` on the way. */
const Texts = Schema.declare(
  (value): value is Readonly<Record<string, string>> =>
    Predicate.isReadonlyRecord(value) && Object.values(value).every(Predicate.isString)
)

const PromptBody = Schema.Struct({
  run_id: RunId,
  source: RunSource,
  webhook: Schema.optionalWith(Schema.Struct({ id: WebhookId, name: Schema.String }), { exact: true }),
  prompt: Schema.String,
  template: Schema.optionalWith(Schema.String, { exact: true }),
  values: Schema.optionalWith(Texts, { exact: true }),
  deadline: Schema.optionalWith(Schema.DateTimeUtc, { exact: true })
})
const anyField = Schema.Record({ key: Schema.String, value: Schema.Unknown })
const CancelBody = Schema.Struct({ run_id: RunId })
/** The other fields are the report, which is read by itself. */
const AnswerBody = Schema.Struct({ response: Schema.String }, anyField)
const ErrorBody = Schema.Struct({ message: Schema.String }, anyField)

const decodePromptBody = Schema.decodeUnknownOption(Schema.parseJson(PromptBody))
const encodePromptBody = Schema.encodeSync(Schema.parseJson(PromptBody))
const decodeCancelBody = Schema.decodeUnknownOption(Schema.parseJson(CancelBody))
const decodeAnswer = Schema.decodeUnknownOption(Schema.parseJson(AnswerBody))
const decodeError = Schema.decodeUnknownOption(Schema.parseJson(ErrorBody))

const json = "application/json"

/** @param left what is left of the deadline in milliseconds, more than 0; none: the prompt does not expire. */
export const encodePrompt = (prompt: Prompt, queue: string, left: number | undefined): Outgoing => {
  const { team: _, correlation_id, traceparent, ...body } = prompt
  return {
    id: prompt.run_id,
    traceparent,
    exchange: promptsExchange,
    routingKey: queue,
    body: Buffer.from(encodePromptBody(body)),
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
 * A prompt that reaches only a consumer that is free: with a prefetch of 1, one that has no prompt. It expires after a
 * millisecond; with 0, a quorum queue would not deliver it at all.
 */
export const encodeOffer = (prompt: Prompt, queue: string): Outgoing => {
  const outgoing = encodePrompt(prompt, queue, 1)
  return { ...outgoing, options: { ...outgoing.options, headers: { [offerHeader]: true } } }
}

/** Which run is not to be worked on. */
/** Its id differs from its prompt's: the publisher tells by ids which of its messages the broker has confirmed. */
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
  Option.map(decodePromptBody(message.content.toString()), (body) => ({
    ...body,
    team,
    correlation_id: String(message.properties.correlationId ?? body.run_id)
  }))

/** A reply that is too long becomes an error that says so: RabbitMQ 4 closes the channel on messages over 16 MiB. */
export const encodeReply = (reply: LeaderReply, { correlation_id, run_id }: Prompt, exchange: string): Outgoing => {
  const message = (type: string, content: unknown): Outgoing => {
    const body = Buffer.from(JSON.stringify(content))
    if (body.length > maxAnswer) return message("error", { message: answerTooLarge })
    const options = { type, contentType: json, correlationId: correlation_id }
    return { id: `${run_id}:${type}`, exchange, routingKey: "", body, options }
  }
  switch (reply._tag) {
    case "Started":
      return message("started", {})
    case "Answered":
      return message("response", { response: reply.response, ...reply.report })
    case "Failed":
      return message("error", { message: reply.message, ...reply.report })
  }
}

/** What a message on `webhook.replies.inbox` or `webhook.dead` says; left: nothing that could be acted on. */
export type Decoded = Either.Either<{ readonly kind: ReplyKind; readonly reply: Reply }, "malformed" | "unknown">

const isText = ({ contentType }: Message["properties"]): boolean => /^text\/plain\s*(;|$)/i.test(String(contentType))

/**
 * A reply's type is `started`, `response` or `error`; none is taken for `response`. A `text/plain` body is the answer, or
 * the error's message, as it is; bytes that are not UTF-8 become U+FFFD in it.
 */
export const decodeReply = (message: Message, run_id: RunId): Decoded => {
  const type = message.properties.type ?? "response"
  const decoded = (kind: ReplyKind, reply: LeaderReply): Decoded =>
    Either.right({ kind, reply: storableReply({ ...reply, run_id }) })
  if (type === "started") return decoded("started", { _tag: "Started" })
  if (type !== "response" && type !== "error") return Either.left("unknown")
  if (message.content.length > maxAnswer) return decoded("error", { _tag: "Failed", message: answerTooLarge })
  const body = message.content.toString()
  if (type === "error") {
    const text = isText(message.properties) ? Option.some({ message: body }) : decodeError(body)
    return Option.isSome(text)
      ? decoded("error", { _tag: "Failed", message: text.value.message, ...reportOf(text.value) })
      : Either.left("malformed")
  }
  const answer = isText(message.properties) ? Option.some({ response: body }) : decodeAnswer(body)
  return Option.isSome(answer)
    ? decoded("response", { _tag: "Answered", response: answer.value.response, ...reportOf(answer.value) })
    : Either.left("malformed")
}

const reportOf = (body: object): { readonly report?: AgentReport } => {
  const report = readReport(body)
  return report === undefined ? {} : { report }
}

/** Whether `decodeReply` would have to read a long text. */
export const isLongReply = ({ content, properties }: Message): boolean =>
  content.length > longReply && content.length <= maxAnswer && properties.type !== "started"

/** A reply as it came, for another queue. Its id is its own: there may be several of one run. */
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
 * A prompt that its queue gave up, or what a leader has published in its place, which it may do for its own prompts. The
 * latest entry of RabbitMQ's `x-death` header says why: https://www.rabbitmq.com/docs/dlx#effects
 */
export const decodeDeadLetter = (message: Message, run_id: RunId): Decoded =>
  Either.right({ kind: "dead", reply: { _tag: "DeadLettered", run_id, reason: reasonOf(message) } })

/** An offer that no leader took. */
export const isExpiredOffer = (message: Message): boolean =>
  message.properties.headers?.[offerHeader] === true && reasonOf(message) === "expired"

const reasonOf = ({ properties: { headers } }: Message): DeadLettered["reason"] => {
  const why: string | undefined = headers?.["x-death"]?.[0]?.reason ?? headers?.["x-first-death-reason"]
  return why === "expired" || why === "delivery_limit" ? why : "rejected"
}
