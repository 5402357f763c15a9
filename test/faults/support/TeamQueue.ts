/** A team's queue, declared from the bus contract alone. */
import type { Channel } from "amqplib"

export const queueType = process.env.TEST_QUEUE_TYPE === "quorum" ? "quorum" : "classic"

export const teamQueue = (team: string): string => `team.${team}`

export const queueOptions = {
  durable: true,
  arguments: {
    "x-queue-type": queueType,
    "x-single-active-consumer": true,
    "x-dead-letter-exchange": "webhook.dlx",
    ...(queueType === "quorum" && { "x-delivery-limit": 20 })
  }
}

export const declareTeamQueue = async (channel: Channel, team: string): Promise<void> => {
  await channel.assertQueue(teamQueue(team), queueOptions)
}
