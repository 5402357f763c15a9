/** The leader of all teams: answers immediately, one prompt of a team at a time. With `SILENT` it never answers. */
import { createServer } from "node:http"
import { connect } from "amqplib"

const { AMQP_URL, ANSWER, CONTROL_PORT, SILENT, TEAMS } = process.env
const body = Buffer.from(JSON.stringify({ response: ANSWER }))
let prompts = 0

const connection = await connect(AMQP_URL, { noDelay: true })
const channel = await connection.createChannel()
// Of each consumer.
await channel.prefetch(1)
for (const team of JSON.parse(TEAMS)) {
  const { queue } = await channel.assertQueue(`team.${team}`, {
    durable: true,
    arguments: { "x-single-active-consumer": true, "x-dead-letter-exchange": "webhook.dlx" }
  })
  await channel.consume(queue, (message) => {
    prompts++
    if (SILENT) return
    const { correlationId, replyTo } = message.properties
    const options = { type: "response", contentType: "application/json", correlationId, persistent: true }
    channel.publish(replyTo, "", body, options)
    channel.ack(message)
  })
}
createServer((_, response) => response.end(JSON.stringify({ prompts }))).listen(Number(CONTROL_PORT), "127.0.0.1")
