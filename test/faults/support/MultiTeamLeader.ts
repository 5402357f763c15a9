/** One connection that leads many teams, a channel each: for tests with too many leaders for a connection each. */
import { connect } from "amqplib"
import { declareTeamQueue, teamQueue } from "./TeamQueue.ts"

export interface Work {
  readonly run_id: string
  readonly prompt: string
  /** Of a caller who waits. */
  readonly deadline?: string
}

export const leadTeams = async (
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
      await declareTeamQueue(channel, team)
      await channel.prefetch(1)
      await channel.consume(teamQueue(team), async (message) => {
        if (message === null) return
        const { correlationId, replyTo } = message.properties
        const response = await handle(JSON.parse(message.content.toString()))
        const options = { type: "response", contentType: "application/json", correlationId, persistent: true }
        channel.publish(replyTo, "", Buffer.from(JSON.stringify({ response })), options)
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
