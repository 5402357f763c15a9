import type { Message } from "amqplib"
import { Effect, type Scope } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import { type Connection, call, openChannel } from "./Connection.ts"
import { declareProgressQueue, progressQueue } from "./Topology.ts"

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
