/**
 * The leader of all teams, the same for everyone who uses RabbitMQ: it answers immediately, one prompt of a team at a
 * time, from the bus contract alone.
 */
import { connect } from "amqplib"
import { listenForControl } from "./Control.ts"
import { given, teams } from "./Given.ts"

// `isDisposed` is what a NestJS client expects in a last reply.
const body = Buffer.from(JSON.stringify({ response: "done", isDisposed: true }))
let prompts = 0

const connection = await connect(given.amqpUrl, { noDelay: true })
const channel = await connection.createChannel()
// Of each consumer.
await channel.prefetch(1)
for (const team of teams) {
  const { queue } = await channel.assertQueue(`team.${team}`, {
    durable: true,
    arguments: { "x-single-active-consumer": true, "x-dead-letter-exchange": "webhook.dlx" }
  })
  await channel.consume(queue, (message) => {
    if (message === null) throw new Error(`${queue} was deleted`)
    prompts++
    const { correlationId, replyTo } = message.properties
    if (replyTo !== undefined) {
      const options = { type: "response", contentType: "application/json", correlationId, persistent: true }
      // Ours names an exchange, as the bus contract says; the others name a queue.
      if (replyTo === "webhook.replies") channel.publish(replyTo, "", body, options)
      else channel.sendToQueue(replyTo, body, options)
    }
    channel.ack(message)
  })
}
listenForControl(() => ({ prompts }))
