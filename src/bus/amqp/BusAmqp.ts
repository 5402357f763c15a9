import type { Channel, Message } from "amqplib"
import { Clock, Deferred, Effect, Either, FiberSet, Layer, type Redacted } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import { traced } from "../../engine/Traced.ts"
import { Bus, QueueGone, type Report } from "../Bus.ts"
import { deliver } from "../Deliveries.ts"
import * as ReportQueue from "../ReportQueue.ts"
import { type Connection, call, openChannel } from "./Connection.ts"
import * as Link from "./Link.ts"
import { countReport } from "./Metrics.ts"
import * as Probe from "./Probe.ts"
import * as Publisher from "./Publisher.ts"
import { dead, declareShared, type QueueType, replies, teamQueue } from "./Topology.ts"
import * as Trace from "./Trace.ts"
import { type Decoded, decodeDead, decodeReply, encodePrompt } from "./Wire.ts"

export interface AmqpOptions {
  /** `amqp://` or `amqps://`; it carries a password. */
  readonly url: Redacted.Redacted<string>
  readonly queueType: QueueType
}

type Handle = (report: Report) => Effect.Effect<void, Unavailable>

/** Unacknowledged reports at once; each may be 8 MiB. */
const prefetch = 100

const make = ({ queueType, url }: AmqpOptions) =>
  Effect.gen(function* () {
    const declare = (channel: Channel) => call("declaring queues", () => declareShared(channel, queueType))
    const publisher = yield* Publisher.make({ url, name: "publish", prepare: declare })
    const probe = yield* Probe.make({ url, queueType })
    // What this side finds out by itself; everything else waits in the broker.
    const own = ReportQueue.make()

    const consumeOn = (connection: Connection, handle: Handle) =>
      Effect.gen(function* () {
        const channel = yield* openChannel(connection)
        yield* declare(channel)
        yield* call("setting the prefetch", () => channel.prefetch(prefetch))
        const run = yield* FiberSet.makeRuntime<never>()
        const listen = (queue: string, decode: (message: Message) => Decoded) =>
          call(`consuming ${queue}`, () =>
            channel.consume(queue, (message) => {
              if (message === null) Deferred.unsafeDone(connection.lost, Effect.succeed(`${queue} was deleted`))
              else run(receive(channel, message, decode(message), handle))
            })
          )
        yield* listen(replies, decodeReply)
        yield* listen(dead, decodeDead)
      })

    return Bus.of({
      durable: true,
      publish: Effect.fnUntraced(
        function* (prompt, { sameQueue = false } = {}) {
          const left = prompt.deadline && prompt.deadline.getTime() - (yield* Clock.currentTimeMillis)
          if (left !== undefined && left <= 0)
            return own.put({ _tag: "Dead", run_id: prompt.run_id, reason: "expired" })
          const message = encodePrompt(prompt, teamQueue(prompt.team), left)
          if ((yield* publisher.publish(message)) === "confirmed") return
          // There is no queue, or one that was declared since the last prompt.
          const bound = yield* probe.bindQueue(prompt.team)
          if (!bound || sameQueue || (yield* publisher.publish(message)) === "returned") {
            return yield* Effect.fail(new QueueGone())
          }
        },
        traced("Bus.publish", { kind: "producer" })
      ),
      queue: probe.queue,
      removeQueue: probe.removeQueue,
      consume: (handle) =>
        Effect.zipRight(
          own.consume(handle),
          Link.make({ url, name: "consume", use: (connection) => consumeOn(connection, handle) })
        ),
      ping: Effect.zipRight(publisher.ready, probe.ping)
    })
  })

/** Acknowledges once the report is handled, or at once when there is nothing to handle. */
const receive = (channel: Channel, message: Message, decoded: Decoded, handle: Handle) => {
  // On a channel that has closed meanwhile the broker delivers the message again anyway.
  const settle = (how: "ack" | "nack") =>
    Effect.try(() => (how === "ack" ? channel.ack(message) : channel.nack(message))).pipe(Effect.ignore)
  if (Either.isLeft(decoded)) {
    return Effect.zipRight(
      countReport(decoded.left),
      Effect.zipRight(
        Effect.logWarning(`a ${decoded.left} message on ${message.fields.routingKey || dead} is dropped`),
        settle("ack")
      )
    )
  }
  const { kind, report } = decoded.right
  return countReport(kind).pipe(
    Effect.zipRight(deliver(handle, report)),
    Effect.flatMap((handled) => settle(handled ? "ack" : "nack")),
    traced("Bus.receive", { kind: "consumer", attributes: { kind, run_id: report.run_id } }),
    Trace.within(message),
    Effect.interruptible
  )
}

/** The bus on RabbitMQ. It comes up although the broker is down, and connects when it can. */
export const layer = (options: AmqpOptions): Layer.Layer<Bus> => Layer.scoped(Bus, make(options))
