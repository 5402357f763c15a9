/**
 * Exchanges and queues; `docs/reference/amqp.md` documents them for leaders in other languages.
 *
 * The server declares `webhook.prompts`, `webhook.replies`, `webhook.progress`, `webhook.dlx` and `webhook.dead` each time
 * it connects, and `webhook.cancel.<team>` when it creates or lists the team, at the latest before its first prompt. The
 * leader declares only its team's queue. The server checks team queues passively and binds them to `webhook.prompts`.
 */
import { randomUUID } from "node:crypto"
import type { Channel, Options } from "amqplib"
import type { TeamName } from "../../domain/Team.ts"

/** Quorum queues are replicated in a cluster; classic queues are faster but on one node. */
export type QueueType = "classic" | "quorum"

/**
 * The exchange for prompts. The server binds each team's queue to it, and the binding disappears with the queue. So a
 * returned prompt shows that the queue was deleted, even if a leader has declared it again. With the default exchange, the
 * loss would go unnoticed.
 */
export const promptsExchange = "webhook.prompts"
/**
 * An auto-delete exchange bound to the team's queue. It exists as long as the queue was not deleted. Nothing is published
 * to it.
 * https://www.rabbitmq.com/docs/exchanges#properties
 */
const markerExchange = (team: TeamName): string => `webhook.queue.${team}`
/** The exchange for replies. With it, leaders need no rights on the default exchange, which reaches every queue. */
export const repliesExchange = "webhook.replies"
/**
 * Its name differs from the exchange's because RabbitMQ's rights apply to both: a user who may publish to the exchange
 * could otherwise bind the queue.
 */
export const repliesQueue = "webhook.replies.inbox"
/**
 * The routing key and the queue of progress. The queue holds little and loses the oldest, so that no flood of progress
 * fills the broker or reaches the replies. It is declared with the connection that consumes it, whose failures concern
 * progress only.
 */
export const progressKey = "progress"
export const progressQueue = "webhook.progress"
/**
 * The routing key and the queue of files. A message has up to 7 MB, so the server takes few of them at a time, and they delay
 * no replies.
 */
export const filesKey = "file"
export const filesQueue = "webhook.files"
/**
 * The exchange for cancellations. Leaders bind their own queues to it. Each team has its own, because the right to bind
 * applies to a whole exchange, and a shared one would show leaders the run ids of all teams.
 */
export const cancelExchange = (team: TeamName): string => `webhook.cancel.${team}`
/** Receives undeliverable prompts from team queues. */
const deadLetterExchange = "webhook.dlx"
export const deadQueue = "webhook.dead"

export const teamQueue = (team: TeamName): string => `team.${team}`

/** The maximum number of deliveries of a prompt on a quorum queue, in case its leader crashes on it. */
const deliveryLimit = 20

/**
 * The type is always named: a virtual host may get another default type later, and would then refuse the declaration of
 * a queue that exists. To RabbitMQ, a classic queue that was declared without its type is the same.
 */
const ofType = (type: QueueType, deliveryLimit: number) =>
  type === "quorum" ? { "x-queue-type": type, "x-delivery-limit": deliveryLimit } : { "x-queue-type": type }

/** By default, RabbitMQ 4 drops messages of quorum queues after 20 deliveries. Replies must survive any number of restarts. */
const shared = (type: QueueType): Options.AssertQueue => ({ durable: true, arguments: ofType(type, 1_000_000) })

/** All leaders must use the same arguments; RabbitMQ rejects others (406). */
const teamQueueOptions = (type: QueueType): Options.AssertQueue => ({
  durable: true,
  arguments: {
    "x-single-active-consumer": true,
    "x-dead-letter-exchange": deadLetterExchange,
    ...ofType(type, deliveryLimit)
  }
})

export const declareShared = async (channel: Channel, type: QueueType): Promise<void> => {
  await channel.assertExchange(promptsExchange, "direct", { durable: true })
  await channel.assertExchange(deadLetterExchange, "fanout", { durable: true })
  await channel.assertQueue(deadQueue, shared(type))
  await channel.bindQueue(deadQueue, deadLetterExchange, "")
  await channel.assertExchange(repliesExchange, "direct", { durable: true })
  await channel.assertQueue(repliesQueue, shared(type))
  await channel.bindQueue(repliesQueue, repliesExchange, "")
  await channel.assertQueue(filesQueue, shared(type))
  await channel.bindQueue(filesQueue, repliesExchange, filesKey)
}

/** Classic also in a cluster: progress is not worth a write to several disks. */
export const declareProgressQueue = async (channel: Channel): Promise<void> => {
  await channel.assertQueue(progressQueue, {
    durable: true,
    maxLength: 10_000,
    messageTtl: 10_000,
    // One server gets all of it, in order.
    arguments: {
      "x-queue-type": "classic",
      "x-single-active-consumer": true,
      "x-max-length-bytes": 16 * 1024 * 1024
    }
  })
  await channel.bindQueue(progressQueue, repliesExchange, progressKey)
}

export const declareTeamQueue = async (channel: Channel, team: TeamName, type: QueueType): Promise<void> => {
  await channel.assertQueue(teamQueue(team), teamQueueOptions(type))
}

export const declareCancelExchange = async (channel: Channel, team: TeamName): Promise<void> => {
  await channel.assertExchange(cancelExchange(team), "fanout", { durable: true })
}

/** Fails if no server has declared it, as for a team that does not exist. RabbitMQ requires no rights for the question. */
export const checkCancelExchange = async (channel: Channel, team: TeamName): Promise<void> => {
  await channel.checkExchange(cancelExchange(team))
}

/** Binds the team's queue to prompts and to its marker. Fails if there is no queue. */
export const bindTeamQueue = async (channel: Channel, team: TeamName): Promise<void> => {
  const queue = teamQueue(team)
  const marker = markerExchange(team)
  // Without a queue, the marker would never be deleted.
  await channel.checkQueue(queue)
  // Another server may have deleted it with the team before the team was created again.
  await declareCancelExchange(channel, team)
  await channel.assertExchange(marker, "fanout", { durable: true, autoDelete: true })
  // The marker comes first: a queue replaced between the two calls has no marker and counts as deleted.
  await channel.bindQueue(queue, marker, "")
  await channel.bindQueue(queue, promptsExchange, queue)
}

/** Fails if the queue that was bound last has been deleted. */
export const checkMarker = async (channel: Channel, team: TeamName): Promise<void> => {
  await channel.checkExchange(markerExchange(team))
}

/**
 * This leader's own queue for cancellations, deleted with the connection. Its name begins with the team queue's name,
 * because the leader has rights for that prefix.
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

/** The broker's properties when a connection opens. */
interface BrokerProperties {
  readonly product: string
  readonly version: string
}

/**
 * Set for a RabbitMQ before 3.11.15, where `consumer_timeout` limits the work on a prompt: longer work is begun again and
 * again. No client can read that setting.
 */
export const workLimit = ({ product, version }: BrokerProperties): string | undefined => {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map((part) => Number.parseInt(part, 10))
  const isOld = major < 3 || (major === 3 && (minor < 11 || (minor === 11 && patch < 15)))
  return product === "RabbitMQ" && isOld
    ? `RabbitMQ ${version} gives a prompt out again after its consumer_timeout, 30 minutes by default. For longer work, raise that in rabbitmq.conf, or use RabbitMQ 3.11.15 or later`
    : undefined
}

/**
 * A leader may work for a day, but RabbitMQ requeues prompts that are unacknowledged for half an hour. This consumer
 * argument extends the time (since RabbitMQ 3.11.15; earlier versions have only the setting `consumer_timeout`). Since
 * 4.3, classic queues have no such limit and reject the argument.
 */
export const leaderArguments = (type: QueueType, serverVersion: string): Record<string, unknown> => {
  const [major = 0, minor = 0] = serverVersion.split(".").map(Number)
  const unlimited = type === "classic" && (major > 4 || (major === 4 && minor >= 3))
  return unlimited ? {} : { "x-consumer-timeout": 25 * 60 * 60 * 1000 }
}
