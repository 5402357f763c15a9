/**
 * The leader of all teams, for all contenders with RabbitMQ. It answers immediately, one prompt of a team at a time,
 * using only the bus contract.
 */
import { connect } from "amqplib"
import { listenForControl } from "./Control.ts"
import { given, teams } from "./Given.ts"

// A NestJS client expects `isDisposed` in the last reply.
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
      // Our prompts name an exchange, as in the bus contract; the others name a queue.
      if (replyTo === "webhook.replies") channel.publish(replyTo, "", body, options)
      else channel.sendToQueue(replyTo, body, options)
    }
    channel.ack(message)
  })
}
listenForControl(() => ({ prompts }))
