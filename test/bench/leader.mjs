/** A leader that answers immediately, from the bus contract alone, in a process of its own. */
import { connect } from "amqplib"

const [url, team] = process.argv.slice(2)
const model = await connect(url, { noDelay: true })
const channel = await model.createChannel()
await channel.assertQueue(`team.${team}`, {
  durable: true,
  arguments: { "x-single-active-consumer": true, "x-dead-letter-exchange": "webhook.dlx" }
})
await channel.prefetch(1)
await channel.consume(`team.${team}`, (message) => {
  const { correlationId, replyTo } = message.properties
  const body = Buffer.from(JSON.stringify({ response: "done" }))
  channel.sendToQueue(replyTo, body, { type: "response", correlationId, persistent: true })
  channel.ack(message)
})
process.send({ ready: true })
