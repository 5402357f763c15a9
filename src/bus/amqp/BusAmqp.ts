import type { Channel, Message } from "amqplib"
import { Clock, Effect, Either, Layer, type Redacted, Schedule, Scope } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { ReplyHandler } from "../Acknowledgement.ts"
import { textLength } from "../Bodies.ts"
import { Bus, QueueGone, type ReplyChecks } from "../Bus.ts"
import type { Received } from "../LongReplies.ts"
import { defaultAtOnce, makeInbox, tracedPublish } from "../Replies.ts"
import * as Broker from "./Broker.ts"
import { type Connection, call, openChannel, unavailable } from "./Connection.ts"
import * as Link from "./Link.ts"
import { countReceived } from "./Metrics.ts"
import * as Probe from "./Probe.ts"
import { consumeProgress } from "./ProgressConsumer.ts"
import * as Publisher from "./Publisher.ts"
import * as Reception from "./Reception.ts"
import {
  deadQueue,
  declareShared,
  lateQueue,
  progressQueue,
  type QueueType,
  repliesQueue,
  teamQueue
} from "./Topology.ts"
import * as Trace from "./Trace.ts"
import {
  type Decoded,
  decodeDeadLetter,
  decodeReply,
  encodeCancel,
  encodeLate,
  encodeOffer,
  encodePrompt,
  isExpiredOffer,
  isLongReply,
  isProgress,
  type Outgoing
} from "./Wire.ts"

export interface AmqpOptions {
  /** `amqp://` or `amqps://`, with a password. */
  readonly url: Redacted.Redacted<string>
  readonly queueType: QueueType
}

/** Milliseconds per group. After that the replies return to the broker, which may give them to another server. */
const handleTimeout = 2_000
/** In addition, per UTF-16 code unit of text: 8 s for the longest answer. */
const handleTimeoutOfText = 0.001
/** Per late reply. After that the answer is stored like a timely one. */
const setAsideTimeout = "2 seconds"
/** How often a server checks whether it can handle replies. */
const readyInterval = "500 millis"
/**
 * Seconds. The broker drops a frozen server after two to three times this, so that others get its replies. A process that
 * is only busy may reconnect needlessly, which does no harm.
 */
const consumeHeartbeat = 1

const make = ({ queueType, url }: AmqpOptions) =>
  Effect.gen(function* () {
    const broker = Broker.make(url)
    const declare = (channel: Channel) => call("declaring queues", () => declareShared(channel, queueType))
    const probe = yield* Probe.make({ broker, queueType })
    /** Teams whose cancellation exchange was declared since the publisher connected. */
    const cancellable = new Set<TeamName>()
    const publisher = yield* Publisher.make({
      broker,
      name: "publish",
      prepare: (channel) =>
        Effect.suspend(() => {
          cancellable.clear()
          return declare(channel)
        })
    })
    /** Until then the leader may be unable to listen. It tries again at the first prompt. */
    const makeCancellable = (team: TeamName) =>
      Effect.map(probe.declareCancelExchange(team), () => cancellable.add(team))
    const scope = yield* Effect.scope
    /** For late replies, so that prompts do not wait behind them. Connects on first use. */
    const latePublisher = yield* Effect.cached(
      Scope.extend(Publisher.make({ broker, name: "late", prepare: declare }), scope)
    )
    const setAside = (message: Message) =>
      Effect.flatMap(latePublisher, ({ publish }) => publish([encodeLate(message)])).pipe(
        Effect.filterOrFail(
          (confirmation) => confirmation === "confirmed",
          () => unavailable(`${lateQueue} is not there`)
        ),
        Effect.timeoutFail({ duration: setAsideTimeout, onTimeout: () => unavailable("not confirmed in time") }),
        Effect.map(() => countReceived("late"))
      )
    const inbox = makeInbox()

    /** If the work fails or takes too long, drops the connection, which returns all replies to the broker. */
    const givingBack = <A>(connection: Connection, text: number, work: Effect.Effect<A, Unavailable>) =>
      Effect.suspend(() => {
        const giveBack = (why: string) => connection.markLost(`replies go back to the broker: ${why}`)
        const timer = setTimeout(
          () => giveBack("they were not handled in time"),
          handleTimeout + text * handleTimeoutOfText
        )
        return work.pipe(
          Effect.tapError(({ detail }) => Effect.sync(() => giveBack(detail))),
          Effect.onExit(() => Effect.sync(() => clearTimeout(timer)))
        )
      })

    const consumeOn = (connection: Connection, handle: ReplyHandler, checks: ReplyChecks) =>
      Effect.gen(function* () {
        const { answerable, atOnce = defaultAtOnce, ready = Effect.void } = checks
        yield* Effect.retry(ready, Schedule.spaced(readyInterval))
        const open = Effect.fnUntraced(function* (prefetch: number) {
          const channel = yield* openChannel(connection)
          yield* call("setting the prefetch", () => channel.prefetch(prefetch))
          return channel
        })
        const channel = yield* open(atOnce)
        yield* declare(channel)
        const { drop, isOver, subjectOf, takeProgress } = yield* Reception.make(checks)
        const receive = yield* inbox.consume(
          (replies) => givingBack(connection, sum(replies.map(textLength)), handle(replies)),
          { atOnce, ...(answerable && { answerable: (runs) => givingBack(connection, 0, answerable(runs)) }) }
        )
        const listen = (
          channel: Channel,
          queue: string,
          decode: (message: Message, run_id: RunId) => Decoded,
          receive: (received: Received, message: Message) => void
        ) =>
          call(`consuming ${queue}`, () =>
            channel.consume(queue, (message) => {
              if (message === null) return connection.markLost(`${queue} was deleted`)
              const acknowledge = () => acknowledgeOn(channel, message)
              if (isProgress(message)) {
                takeProgress(message, queue)
                return acknowledge()
              }
              const subject = subjectOf(message, queue)
              if (subject === undefined || isOver(subject)) return acknowledge()
              const skip = () => countReceived("ended")
              const read = () => {
                const decoded = decode(message, subject.run_id)
                if (Either.isLeft(decoded)) return drop(queue, decoded.left)
                countReceived(decoded.right.kind)
                return decoded.right.reply
              }
              const span = Trace.spanOf(message)
              const bytes = message.content.length
              receive({ ...subject, bytes, isLong: false, read, skip, acknowledge, span }, message)
            })
          )
        yield* listen(channel, repliesQueue, decodeReply, (received, message) =>
          receive.reply(isLongReply(message) ? { ...received, isLong: true, setAside: setAside(message) } : received)
        )
        yield* listen(channel, deadQueue, decodeDeadLetter, (received, message) =>
          isExpiredOffer(message) ? received.acknowledge() : receive.reply(received)
        )
        yield* listen(yield* open(1), lateQueue, decodeReply, receive.late)
      })

    /** Its own connection, so that a flood of progress or a failure does not delay replies. */
    const observe = (checks: ReplyChecks) =>
      Effect.flatMap(Reception.make(checks), ({ takeProgress }) =>
        Link.make({
          broker,
          name: "progress",
          heartbeat: consumeHeartbeat,
          use: (connection) => consumeProgress(connection, (message) => takeProgress(message, progressQueue))
        })
      )

    return Bus.of({
      durable: true,
      publish: Effect.fnUntraced(
        function* (prompts, { sameQueue = false } = {}) {
          const now = yield* Clock.currentTimeMillis
          const messages: Array<Outgoing> = []
          for (const prompt of prompts) {
            const left = prompt.deadline && prompt.deadline.epochMillis - now
            if (left === undefined || left > 0) messages.push(encodePrompt(prompt, teamQueue(prompt.team), left))
            else inbox.put({ _tag: "DeadLettered", run_id: prompt.run_id, reason: "expired" })
          }
          if (messages.length === 0) return
          const { team } = prompts[0]!
          if (!cancellable.has(team)) yield* makeCancellable(team)
          const groups = inGroups(messages)
          const isReturned = (group: ReadonlyArray<Outgoing>) =>
            Effect.map(publisher.publish(group), (confirmation) => confirmation === "returned")
          const publish = groups.length === 1 ? isReturned(groups[0]!) : Effect.exists(groups, isReturned)
          if (!(yield* publish)) return
          // There is no queue, or one that was declared since the last prompt.
          const bound = yield* probe.bindQueue(team)
          if (!bound || sameQueue || (yield* publish)) return yield* new QueueGone()
        },
        (publish, prompts) => tracedPublish(prompts)(publish)
      ),
      // Returned: the queue was deleted, which `inspect` finds.
      offer: (prompt) => Effect.asVoid(publisher.publish([encodeOffer(prompt, teamQueue(prompt.team))])),
      // Returned: no leader of the team listens.
      cancel: (team, run_id) =>
        Effect.asVoid(
          Effect.zipRight(probe.declareCancelExchange(team), publisher.publish([encodeCancel(team, run_id)]))
        ),
      queue: probe.queue,
      inspect: probe.inspect,
      removeQueue: probe.removeQueue,
      consume: (handle, checks) =>
        Effect.zipRight(
          Link.make({
            broker,
            name: "consume",
            heartbeat: consumeHeartbeat,
            use: (connection) => consumeOn(connection, handle, checks)
          }),
          checks.progress === undefined ? Effect.void : observe(checks)
        ),
      repliesWaiting: probe.repliesWaiting,
      reachable: Effect.zipRight(publisher.connected, probe.ping),
      ping: Effect.zipRight(publisher.ready, probe.ping)
    })
  })

/** Bytes. RabbitMQ stores messages up to 4,096 bytes, with properties, in the queue's own files, and others elsewhere. */
const shortMessage = 3_000

/**
 * Groups of messages that may be unconfirmed together. If the broker crashes, it keeps the first messages of a group,
 * because it writes them in order to one file. Long messages go to another file, so each is sent alone.
 */
const inGroups = (messages: ReadonlyArray<Outgoing>): ReadonlyArray<ReadonlyArray<Outgoing>> => {
  const groups: Array<Array<Outgoing>> = []
  let isOpen = false
  for (const message of messages) {
    const isShort = message.body.length <= shortMessage
    if (isShort && isOpen) groups.at(-1)!.push(message)
    else groups.push([message])
    isOpen = isShort
  }
  return groups
}

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((a, b) => a + b, 0)

const acknowledgeOn = (channel: Channel, message: Message): void => {
  try {
    channel.ack(message)
  } catch {
    // The channel has closed, and the broker redelivers the message.
  }
}

/** The bus on RabbitMQ. It starts even if the broker is down, and connects in the background. */
export const layer = (options: AmqpOptions): Layer.Layer<Bus> => Layer.scoped(Bus, make(options))
