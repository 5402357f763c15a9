import type { Channel, Message } from "amqplib"
import { Clock, type Duration, Effect, FiberSet, Layer, type Redacted, Result, Schedule } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { TeamName } from "../../domain/Team.ts"
import { handleReplies, type PendingReply } from "../Acknowledgement.ts"
import { textLength } from "../Bodies.ts"
import { Bus, QueueGone, type ReplyChecks, type ReplyHandler } from "../Bus.ts"
import { defaultAtOnce, makeInbox, tracedPublish } from "../Inbox.ts"
import * as Broker from "./Broker.ts"
import { type Connection, call, openChannel } from "./Connection.ts"
import * as Link from "./Link.ts"
import { countReceived } from "./Metrics.ts"
import * as Probe from "./Probe.ts"
import * as Publisher from "./Publisher.ts"
import * as Reception from "./Reception.ts"
import {
  deadQueue,
  declareShared,
  filesQueue,
  progressQueue,
  type QueueType,
  repliesQueue,
  teamQueue
} from "./Topology.ts"
import * as Trace from "./Trace.ts"
import {
  decodeDeadLetter,
  decodeReply,
  encodeCancel,
  encodeFile,
  encodeOffer,
  encodePrompt,
  isProgress
} from "./Wire.ts"

export interface AmqpOptions {
  /** `amqp://` or `amqps://`, with a password. */
  readonly url: Redacted.Redacted<string>
  readonly queueType: QueueType
}

/** Milliseconds per group. After that the replies return to the broker, which may give them to another server. */
const handleTimeout = 2_000
/** In addition, per UTF-16 code unit of text: 1 s for the longest answer. */
const handleTimeoutOfText = 0.001
/** Files that a server has in memory, each several times. */
const filesAtOnce = 2
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
    const inbox = makeInbox()

    const giveBack = (connection: Connection, why: string) =>
      connection.markLost(`replies go back to the broker: ${why}`)

    /** If the work fails, drops the connection, which returns all replies to the broker. */
    const orGiveBack = (connection: Connection, work: Effect.Effect<void, Unavailable>) =>
      Effect.tapError(work, ({ detail }) => Effect.sync(() => giveBack(connection, detail)))

    /** The same if it takes too long. */
    const inTimeOrGiveBack = (connection: Connection, text: number, work: Effect.Effect<void, Unavailable>) =>
      Effect.suspend(() => {
        const timer = setTimeout(
          () => giveBack(connection, "they were not handled in time"),
          handleTimeout + text * handleTimeoutOfText
        )
        return Effect.onExit(orGiveBack(connection, work), () => Effect.sync(() => clearTimeout(timer)))
      })

    const consumeOn = (connection: Connection, handle: ReplyHandler, checks: ReplyChecks) =>
      Effect.gen(function* () {
        const { atOnce = defaultAtOnce, ready = Effect.void } = checks
        yield* Effect.retry(ready, Schedule.spaced(readyInterval))
        const channel = yield* openChannel(connection)
        yield* call("setting the prefetch", () => channel.prefetch(atOnce))
        yield* declare(channel)
        const reception = yield* Reception.make(checks)
        const { drop, isOver, subjectOf, takeProgress } = reception
        const receive = yield* inbox.consume(
          (replies, later) =>
            inTimeOrGiveBack(
              connection,
              sum(replies.map(textLength)),
              handle(replies, later && ((reply, finish) => later(reply, orGiveBack(connection, finish))))
            ),
          { atOnce }
        )
        const listen = (queue: string, decode: typeof decodeReply | typeof decodeDeadLetter) =>
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
              const decoded = decode(message, subject.run_id)
              if (decoded === undefined) return acknowledge()
              if (Result.isFailure(decoded)) {
                drop(queue, decoded.failure)
                return acknowledge()
              }
              const { kind, reply } = decoded.success
              // Without its routing key, it would delay replies.
              if (reply._tag === "File") {
                drop(queue, "unknown")
                return acknowledge()
              }
              countReceived(kind)
              const { rests } = subject
              receive({
                reply: rests === undefined ? reply : { ...reply, rests },
                acknowledge,
                span: Trace.spanOf(message)
              })
            })
          )
        yield* listen(repliesQueue, decodeReply)
        yield* listen(deadQueue, decodeDeadLetter)
        yield* consumeFiles(connection, handle, reception)
      })

    /** Each alone and until it is stored: neither its size nor a failure delays replies. The run may be over. */
    const consumeFiles = (connection: Connection, handle: ReplyHandler, { drop, subjectOf }: Reception.Reception) =>
      Effect.gen(function* () {
        const channel = yield* openChannel(connection)
        yield* call("setting the prefetch of files", () => channel.prefetch(filesAtOnce))
        const fork = yield* FiberSet.makeRuntime<never>()
        const store = (pending: PendingReply): Effect.Effect<void> =>
          handleReplies(
            handle,
            [pending],
            ([again], pause) => Effect.sync(() => storeAfter(pause, again!)),
            (work) => Effect.sync(() => fork(work))
          )
        // Not in the fiber that postpones, which cannot be interrupted: a lost connection would wait for the database.
        const storeAfter = (pause: Duration.Duration, pending: PendingReply) =>
          void fork(Effect.delay(store(pending), pause))
        yield* call(`consuming ${filesQueue}`, () =>
          channel.consume(filesQueue, (message) => {
            if (message === null) return connection.markLost(`${filesQueue} was deleted`)
            const acknowledge = () => acknowledgeOn(channel, message)
            const subject = subjectOf(message, filesQueue)
            if (subject === undefined) return acknowledge()
            const decoded = decodeReply(message, subject.run_id)
            if (Result.isFailure(decoded) || decoded.success.reply._tag !== "File") {
              drop(filesQueue, Result.isFailure(decoded) ? decoded.failure : "unknown")
              return acknowledge()
            }
            countReceived(decoded.success.kind)
            fork(store({ reply: decoded.success.reply, acknowledge, deaths: 0 }))
          })
        )
      })

    /** Its own connection, so that a flood of progress or a failure does not delay replies. */
    const observe = (checks: ReplyChecks) =>
      Effect.flatMap(Reception.make(checks), ({ takeProgress }) =>
        Link.make({
          broker,
          name: "progress",
          heartbeat: consumeHeartbeat,
          use: (connection) => Reception.consumeProgress(connection, (message) => takeProgress(message, progressQueue))
        })
      )

    return Bus.of({
      durable: true,
      publish: Effect.fnUntraced(
        function* (prompt, { again } = { again: false }) {
          const { deadline, run_id, team } = prompt
          const left = deadline && deadline.epochMilliseconds - (yield* Clock.currentTimeMillis)
          if (left !== undefined && left <= 0) return inbox.put({ _tag: "DeadLettered", run_id, reason: "expired" })
          if (!cancellable.has(team)) yield* makeCancellable(team)
          const message = encodePrompt(prompt, teamQueue(team), left, again)
          if ((yield* publisher.publish(message)) === "confirmed") return
          // There is no queue, or one that was declared since the last prompt.
          const bound = yield* probe.bindQueue(team)
          if (!bound || (yield* publisher.publish(message)) === "returned") return yield* new QueueGone()
        },
        (publish, prompt) => tracedPublish(prompt)(publish)
      ),
      // Returned: the queue was deleted, which `inspect` finds.
      offer: (prompt) => Effect.asVoid(publisher.publish(encodeOffer(prompt, teamQueue(prompt.team)))),
      // Returned: no leader of the team listens.
      cancel: (team, run_id) =>
        Effect.asVoid(Effect.andThen(probe.declareCancelExchange(team), publisher.publish(encodeCancel(team, run_id)))),
      sendFile: (team, run_id, file) =>
        Effect.asVoid(
          Effect.andThen(probe.declareCancelExchange(team), publisher.publish(encodeFile(team, run_id, file)))
        ),
      // Its leaders recognise by the exchange that the team exists.
      queue: (team) =>
        cancellable.has(team)
          ? probe.queue(team)
          : Effect.tap(probe.queue(team), () => Effect.ignore(makeCancellable(team))),
      inspect: probe.inspect,
      withdraw: probe.withdraw,
      removeQueue: (team) => Effect.tap(probe.removeQueue(team), () => Effect.sync(() => cancellable.delete(team))),
      consume: (handle, checks) =>
        Effect.andThen(
          Link.make({
            broker,
            name: "consume",
            heartbeat: consumeHeartbeat,
            use: (connection) => consumeOn(connection, handle, checks)
          }),
          checks.progress === undefined ? Effect.void : observe(checks)
        ),
      repliesWaiting: probe.repliesWaiting,
      reachable: Effect.andThen(publisher.connected, probe.ping),
      ping: Effect.andThen(publisher.ready, probe.ping)
    })
  })

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((a, b) => a + b, 0)

const acknowledgeOn = (channel: Channel, message: Message): void => {
  try {
    channel.ack(message)
  } catch {
    // The channel has closed, and the broker redelivers the message.
  }
}

/** The bus on RabbitMQ. It starts even if the broker is down, and connects in the background. */
export const layer = (options: AmqpOptions): Layer.Layer<Bus> => Layer.effect(Bus, make(options))
