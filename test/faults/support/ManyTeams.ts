/** One connection that leads many teams, a channel each: for tests with more leaders than connections are worth. */
import { connect } from "amqplib"
import { queueType } from "./RecordingLeader.ts"

export interface Work {
  readonly run_id: string
  readonly prompt: string
  /** Of a caller who waits. */
  readonly deadline?: string
}

export const leadMany = async (
  url: string,
  teams: ReadonlyArray<string>,
  handle: (work: Work) => Promise<string>
): Promise<{ readonly close: () => Promise<void> }> => {
  const model = await connect(url, { noDelay: true })
  model.on("error", () => {})
  const channels = await Promise.all(
    teams.map(async (team) => {
      const channel = await model.createChannel()
      channel.on("error", () => {})
      await channel.assertQueue(`team.${team}`, {
        durable: true,
        arguments: {
          "x-single-active-consumer": true,
          "x-dead-letter-exchange": "webhook.dlx",
          ...(queueType === "quorum" ? { "x-queue-type": "quorum", "x-delivery-limit": 20 } : {})
        }
      })
      await channel.prefetch(1)
      await channel.consume(`team.${team}`, async (message) => {
        if (message === null) return
        const { correlationId, replyTo } = message.properties
        const response = await handle(JSON.parse(message.content.toString()))
        const options = { type: "response", contentType: "application/json", correlationId, persistent: true }
        channel.sendToQueue(replyTo, Buffer.from(JSON.stringify({ response })), options)
        channel.ack(message)
      })
      return channel
    })
  )
  return {
    close: async () => {
      await Promise.all(channels.map((channel) => channel.close().catch(() => {})))
      await model.close()
    }
  }
}
