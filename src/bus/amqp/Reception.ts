/** A server's checks of leaders' messages before it reads them. */
import type { Message } from "amqplib"
import { Effect, FiberSet, type Scope } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { ReplyChecks, Subject } from "../Bus.ts"
import { type Connection, call, openChannel } from "./Connection.ts"
import { countReceived } from "./Metrics.ts"
import { declareProgressQueue, progressQueue } from "./Topology.ts"
import { decodeProgress } from "./Wire.ts"

/** Messages that are delivered and not acknowledged. */
const prefetch = 100
/** Milliseconds from the first message of a group to its acknowledgement. */
const pace = 20
/** A group with more bytes is acknowledged later. */
const bytesPerMillisecond = 16 * 1024

/**
 * Passes progress to `take`, no faster than 5,000 messages or 16 MB a second: messages are acknowledged only at this pace,
 * and the broker discards the oldest ones that wait.
 */
export const consumeProgress = (
  connection: Connection,
  take: (message: Message) => void
): Effect.Effect<void, Unavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const channel = yield* openChannel(connection)
    yield* call(`declaring ${progressQueue}`, () => declareProgressQueue(channel))
    yield* call("setting the prefetch", () => channel.prefetch(prefetch))
    let last: Message | undefined
    let bytes = 0
    let timer: NodeJS.Timeout | undefined
    const acknowledge = () => {
      timer = undefined
      const wait = bytes / bytesPerMillisecond - pace
      bytes = 0
      if (wait > 0) {
        timer = setTimeout(acknowledge, wait)
        return
      }
      try {
        if (last !== undefined) channel.ack(last, true)
      } catch {
        // The channel has closed, and the broker delivers them again.
      }
      last = undefined
    }
    yield* Effect.addFinalizer(() => Effect.sync(() => clearTimeout(timer)))
    yield* call(`consuming ${progressQueue}`, () =>
      channel.consume(progressQueue, (message) => {
        if (message === null) return connection.markLost(`${progressQueue} was deleted`)
        last = message
        bytes += message.content.length
        timer ??= setTimeout(acknowledge, pace)
        // It may have been taken before.
        if (!message.fields.redelivered) take(message)
      })
    )
  })

/** Milliseconds between two log lines about dropped messages. */
const dropLogInterval = 1_000

export interface Reception {
  /** The run that the message is about; `undefined` if the message is from nobody who got a prompt. */
  readonly subjectOf: (message: Message, queue: string) => Subject | undefined
  /** Whether it comes too late, since no reply can change its run any longer. */
  readonly isOver: (subject: Subject) => boolean
  readonly drop: (queue: string, kind: "refused" | "malformed" | "unknown") => undefined
  /** Passes on what it says, if anything. */
  readonly takeProgress: (message: Message, queue: string) => void
}

export const make = ({
  correlation,
  isOver: isRunOver = () => false,
  progress = () => {}
}: ReplyChecks): Effect.Effect<Reception, never, Scope.Scope> =>
  Effect.map(FiberSet.makeRuntime<never>(), (log) => {
    let loggedAt = Number.NEGATIVE_INFINITY
    const drop: Reception["drop"] = (queue, kind) => {
      countReceived(kind)
      // Any leader could otherwise flood the log.
      if (performance.now() - loggedAt < dropLogInterval) return
      loggedAt = performance.now()
      log(Effect.logWarning(`a ${kind} message on ${queue} is dropped; others like it may not be logged`))
    }
    const subjectOf: Reception["subjectOf"] = ({ properties: { correlationId } }, queue) => {
      const subject = typeof correlationId === "string" ? correlation.subjectOf(correlationId) : undefined
      return subject ?? drop(queue, "refused")
    }
    const isOver: Reception["isOver"] = ({ run_id }) => {
      if (!isRunOver(run_id)) return false
      countReceived("ended")
      return true
    }
    return {
      subjectOf,
      isOver,
      drop,
      takeProgress: (message, queue) => {
        const subject = subjectOf(message, queue)
        if (subject === undefined || isOver(subject)) return
        const read = decodeProgress(message)
        if (read === undefined) return drop(queue, "malformed")
        countReceived("progress")
        progress({ ...read, run_id: subject.run_id })
      }
    }
  })
