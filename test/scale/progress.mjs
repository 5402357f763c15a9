/**
 * A leader that gets one prompt and reports progress on request: `POST /?megabytes=20&seconds=5`, in messages of 16 KiB.
 * `DELETE /` answers the prompt.
 */
import { createServer } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { connect } from "amqplib"

const { AMQP_URL, CONTROL_PORT, TEAM } = process.env
const messageSize = 16 * 1024
const text = "All work and no play makes an agent dull.\n".repeat(400).slice(0, messageSize)

const connection = await connect(AMQP_URL, { noDelay: true })
const channel = await connection.createConfirmChannel()
await channel.prefetch(1)
const { queue } = await channel.assertQueue(`team.${TEAM}`, {
  durable: true,
  arguments: { "x-single-active-consumer": true, "x-dead-letter-exchange": "webhook.dlx" }
})
let prompt
let seq = 0
const reply = (type, body, persistent) =>
  channel.publish(prompt.properties.replyTo, "", Buffer.from(JSON.stringify(body)), {
    type,
    contentType: "application/json",
    correlationId: prompt.properties.correlationId,
    persistent
  })
await channel.consume(queue, (message) => {
  prompt = message
  reply("started", {}, true)
})

/** Evenly over the time, and no faster than the broker takes it. */
const report = async (megabytes, seconds) => {
  const messages = Math.ceil((megabytes * 1024 * 1024) / messageSize)
  const began = performance.now()
  for (let sent = 0; sent < messages; sent++) {
    reply("progress", { seq: ++seq, text }, false)
    const early = began + (sent * seconds * 1000) / messages - performance.now()
    if (early > 5) await sleep(early)
    if (sent % 50 === 49) await channel.waitForConfirms()
  }
  await channel.waitForConfirms()
}

createServer(async (request, response) => {
  const query = new URL(request.url, "http://localhost").searchParams
  if (request.method === "POST") await report(Number(query.get("megabytes")), Number(query.get("seconds")))
  if (request.method === "DELETE") {
    reply("response", { response: "done" }, true)
    await channel.waitForConfirms()
    channel.ack(prompt)
  }
  response.end(JSON.stringify({ prompts: prompt === undefined ? 0 : 1 }))
}).listen(Number(CONTROL_PORT), "127.0.0.1")
