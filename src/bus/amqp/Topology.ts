/**
 * Exchanges and queues, defined once; `docs/amqp.md` says the same to leaders in other languages.
 *
 * The server declares `webhook.prompts`, `webhook.replies`, `webhook.dlx` and `webhook.dead` each time it connects, and
 * `webhook.cancel.<team>` before a team's first prompt. The leader declares its team's queue, and needs no right to
 * configure anything else. The server checks team queues passively, and binds them to `webhook.prompts`.
 */
import { randomUUID } from "node:crypto"
import type { Channel, Options } from "amqplib"
import type { TeamName } from "../../domain/Team.ts"

/** Quorum queues are replicated over a cluster's nodes; classic ones are faster and are on one node. */
export type QueueType = "classic" | "quorum"

/**
 * Where prompts are published. The server binds each team's queue to it, and the binding is deleted with the queue: so a
 * prompt that is returned shows that the queue was deleted, although a leader may have declared it again by now. The
 * default exchange would take the new queue for the old one, and what was lost with it would go unnoticed.
 */
export const promptsExchange = "webhook.prompts"
/**
 * Shows whether a team's queue is still the one that its prompts were published to. Nothing is published here: the server
 * binds the queue to it as well, and since the exchange is auto-delete, it is gone once that queue was deleted.
 * https://www.rabbitmq.com/docs/exchanges#properties
 */
const markerExchange = (team: TeamName): string => `webhook.queue.${team}`
/** Where leaders reply to: an exchange, so that a leader needs no right on the default exchange, which reaches every queue. */
export const repliesExchange = "webhook.replies"
/**
 * Its name differs from the exchange's: RabbitMQ's rights do not distinguish the two, and a user who may publish to an
 * exchange could bind a queue of the same name.
 */
export const repliesQueue = "webhook.replies.inbox"
/**
 * Where the server puts long answers to runs that have ended, so that those behind them in `repliesQueue` need not wait: an
 * exchange, and the queue bound to it.
 */
export const lateExchange = "webhook.replies.late"
export const lateQueue = "webhook.replies.late"
/**
 * The exchange through which the server asks the team's leaders to stop working on a run. Leaders bind their own queues to
 * it. Each team has one, since the right to bind applies to a whole exchange: on a shared one, leaders could learn the run
 * ids of all teams.
 */
export const cancelExchange = (team: TeamName): string => `webhook.cancel.${team}`
/** Where team queues send the prompts that they give up. */
const deadLetterExchange = "webhook.dlx"
export const deadQueue = "webhook.dead"

export const teamQueue = (team: TeamName): string => `team.${team}`

/** How often a prompt on a quorum queue is delivered before it is given up: its leader may crash on it. */
const deliveryLimit = 20

/**
 * What a shared queue is declared with. RabbitMQ 4 drops messages of quorum queues after 20 deliveries unless set
 * otherwise; a reply must outlast any number of our restarts.
 */
const shared = (type: QueueType): Options.AssertQueue => ({
  durable: true,
  arguments: type === "quorum" ? { "x-queue-type": "quorum", "x-delivery-limit": 1_000_000 } : {}
})

/** What a team's queue is declared with: by every leader alike, since RabbitMQ refuses other arguments (406). */
const teamQueueOptions = (type: QueueType): Options.AssertQueue => ({
  durable: true,
  arguments: {
    "x-single-active-consumer": true,
    "x-dead-letter-exchange": deadLetterExchange,
    ...(type === "quorum" ? { "x-queue-type": "quorum", "x-delivery-limit": deliveryLimit } : {})
  }
})

export const declareShared = async (channel: Channel, type: QueueType): Promise<void> => {
  await channel.assertExchange(promptsExchange, "direct", { durable: true })
  await channel.assertExchange(deadLetterExchange, "fanout", { durable: true })
  await channel.assertQueue(deadQueue, shared(type))
  await channel.bindQueue(deadQueue, deadLetterExchange, "")
  await channel.assertExchange(repliesExchange, "fanout", { durable: true })
  await channel.assertQueue(repliesQueue, shared(type))
  await channel.bindQueue(repliesQueue, repliesExchange, "")
  await channel.assertExchange(lateExchange, "fanout", { durable: true })
  await channel.assertQueue(lateQueue, shared(type))
  await channel.bindQueue(lateQueue, lateExchange, "")
}

export const declareTeamQueue = async (channel: Channel, team: TeamName, type: QueueType): Promise<void> => {
  await channel.assertQueue(teamQueue(team), teamQueueOptions(type))
}

export const declareCancelExchange = async (channel: Channel, team: TeamName): Promise<void> => {
  await channel.assertExchange(cancelExchange(team), "fanout", { durable: true })
}

/** Leads prompts for the team into its queue, and marks that one; fails when there is none. */
export const bindTeamQueue = async (channel: Channel, team: TeamName): Promise<void> => {
  const queue = teamQueue(team)
  const marker = markerExchange(team)
  // A marker for a queue that is not there would stay.
  await channel.checkQueue(queue)
  // Another server may have deleted it with the team, which has been created again since.
  await declareCancelExchange(channel, team)
  await channel.assertExchange(marker, "fanout", { durable: true, autoDelete: true })
  // First: a queue that is replaced between the two has no marker then, and counts as deleted.
  await channel.bindQueue(queue, marker, "")
  await channel.bindQueue(queue, promptsExchange, queue)
}

/** Fails when the queue that was bound last was deleted. */
export const checkMarker = async (channel: Channel, team: TeamName): Promise<void> => {
  await channel.checkExchange(markerExchange(team))
}

/**
 * A queue of this leader's own for what it is asked to cancel; it goes with the connection. Its name begins with the team's
 * queue's, because that is what a leader has rights for.
 */
export const declareCancelQueue = async (channel: Channel, team: TeamName): Promise<string> => {
  const { queue } = await channel.assertQueue(`${teamQueue(team)}.cancel.${randomUUID()}`, {
    durable: false,
    exclusive: true,
    autoDelete: true
  })
  await channel.bindQueue(queue, cancelExchange(team), "")
  return queue
}

/**
 * A leader may work for a day, and RabbitMQ takes a prompt back that is not acknowledged in half an hour. This argument
 * of the consumer requests more (RabbitMQ 3.11.15 and later; earlier ones have only their `consumer_timeout`
 * setting). From 4.3 classic queues have no such limit, and refuse the argument.
 */
export const leaderArguments = (type: QueueType, serverVersion: string): Record<string, unknown> => {
  const [major = 0, minor = 0] = serverVersion.split(".").map(Number)
  const unlimited = type === "classic" && (major > 4 || (major === 4 && minor >= 3))
  return unlimited ? {} : { "x-consumer-timeout": 25 * 60 * 60 * 1000 }
}
