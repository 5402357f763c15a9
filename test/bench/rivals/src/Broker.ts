/** RabbitMQ for the programs written by hand: confirmed, persistent prompts, and replies matched by run ID. */
import { type ConsumeMessage, connect } from "amqplib"
import { given } from "./Given.ts"

export const replyQueue = "by-hand.replies"

const connection = await connect(given.amqpUrl, { noDelay: true })
const prompts = await connection.createConfirmChannel()
const replies = await connection.createChannel()

export interface Prompt {
  readonly id: string
  readonly team: string
  readonly prompt: string
  /** Whether the leader should reply. */
  readonly replies: boolean
}

/** Resolves when the broker has confirmed the prompt. */
export const publish = (prompt: Prompt): Promise<void> =>
  new Promise((resolve, reject) => {
    const body = Buffer.from(JSON.stringify({ run_id: prompt.id, source: "webhook", prompt: prompt.prompt }))
    const options = {
      persistent: true,
      mandatory: true,
      type: "prompt",
      contentType: "application/json",
      messageId: prompt.id,
      correlationId: prompt.id,
      ...(prompt.replies ? { replyTo: replyQueue } : {})
    }
    prompts.publish("", `team.${prompt.team}`, body, options, (error) => (error ? reject(error) : resolve()))
  })

export interface Reply {
  readonly id: string
  readonly response: string
  readonly acknowledge: () => void
}

const read = (message: ConsumeMessage): Reply => ({
  id: String(message.properties.correlationId),
  response: JSON.parse(message.content.toString()).response,
  acknowledge: () => replies.ack(message)
})

export const consumeReplies = async (handle: (reply: Reply) => void): Promise<void> => {
  await replies.assertQueue(replyQueue, { durable: true })
  await replies.prefetch(200)
  await replies.consume(replyQueue, (message) => {
    if (message !== null) handle(read(message))
  })
}
