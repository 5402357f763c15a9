/** Messages that the broker has confirmed to have taken for good. */
import type { ConfirmChannel } from "amqplib"
import { Clock, Context, Deferred, Effect, Exit, FiberId, type Redacted, type Scope } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import { type Connection, openChannel, unavailable } from "./Connection.ts"
import * as Link from "./Link.ts"
import { countPublish } from "./Metrics.ts"
import * as Trace from "./Trace.ts"
import type { Outgoing } from "./Wire.ts"

/** `returned`: there is no such queue, or it is not bound to the exchange, and nothing was stored. */
export type Confirmation = "confirmed" | "returned"

export interface Publisher {
  /**
   * Fails within 14 seconds when the broker does not confirm; the message may have reached it nevertheless. While a
   * message is unconfirmed on a living connection, publishing it again waits for that confirmation and sends nothing.
   */
  readonly publish: (message: Outgoing) => Effect.Effect<Confirmation, Unavailable>
  /** Fails while the broker is out of reach, or takes no messages. */
  readonly ready: Effect.Effect<void, Unavailable>
}

/** Milliseconds. */
const confirmTimeout = 10_000

interface Pending {
  readonly settled: Deferred.Deferred<Confirmation, Unavailable>
  readonly sentAt: number
  returned: boolean
}

interface Publishing {
  readonly channel: ConfirmChannel
  readonly pending: Map<string, Pending>
}

/**
 * Ends waits that take too long, by settling them: so they end for a caller, too, that must not be interrupted.
 *
 * A blocked broker confirms later, and until then the message stays pending, so that it is not sent twice. Any other
 * silence is a broken connection: what it may still bring would only confuse, so it is closed.
 */
const watch = (connection: Connection, pending: Map<string, Pending>) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    for (const { sentAt, settled } of pending.values()) {
      // In the order of sending.
      if (now - sentAt < confirmTimeout) return
      if (connection.blocked() === undefined) return connection.kill("a message was not confirmed in time")
      Deferred.unsafeDone(settled, Effect.fail(unavailable("the broker did not confirm in time")))
    }
  }).pipe(Effect.delay("1 second"), Effect.forever, Effect.forkScoped)

const open = (connection: Connection): Effect.Effect<Publishing, Unavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const channel = yield* openChannel(connection, "confirm")
    const pending = new Map<string, Pending>()
    // RabbitMQ sends a message's return before its confirmation: https://www.rabbitmq.com/docs/publishers#unroutable
    channel.on("return", (message) => {
      const sent = pending.get(message.properties.messageId)
      if (sent !== undefined) sent.returned = true
    })
    yield* watch(connection, pending)
    return { channel, pending }
  })

const send = ({ channel, pending }: Publishing, message: Outgoing, headers: object, now: number): Pending => {
  const settled = Deferred.unsafeMake<Confirmation, Unavailable>(FiberId.none)
  const sent: Pending = { settled, sentAt: now, returned: false }
  const settle = (outcome: Effect.Effect<Confirmation, Unavailable>) => {
    pending.delete(message.id)
    Deferred.unsafeDone(settled, outcome)
  }
  const options = { ...message.options, messageId: message.id, persistent: true, mandatory: true, headers }
  try {
    channel.publish(message.exchange ?? "", message.queue, message.body, options, (error: Error | null) =>
      settle(
        error === null
          ? Effect.succeed(sent.returned ? "returned" : "confirmed")
          : Effect.fail(unavailable(`not taken by the broker: ${error.message}`))
      )
    )
    pending.set(message.id, sent)
  } catch (error) {
    settle(Effect.fail(unavailable(`not sent: ${error instanceof Error ? error.message : error}`)))
  }
  return sent
}

/** A connection of its own: one that the broker blocks must not keep consumers from acknowledging. */
export const make = Effect.fnUntraced(function* (options: {
  readonly url: Redacted.Redacted<string>
  readonly name: string
  /** Runs on every new connection before anything is published on it. */
  readonly prepare?: (channel: ConfirmChannel) => Effect.Effect<void, Unavailable>
}): Effect.fn.Return<Publisher, never, Scope.Scope> {
  const link = yield* Link.make({
    ...options,
    use: (connection) => Effect.tap(open(connection), ({ channel }) => options.prepare?.(channel) ?? Effect.void)
  })

  const blockedBy = (connection: Connection): Unavailable | undefined => {
    const reason = connection.blocked()
    return reason === undefined ? undefined : unavailable(`the broker takes no messages: ${reason}`)
  }

  const publish = (message: Outgoing) =>
    Effect.flatMap(link.get, ({ connection, value }) =>
      Effect.withFiberRuntime<Confirmation, Unavailable>((fiber) => {
        const before = value.pending.get(message.id)
        if (before !== undefined) return Deferred.await(before.settled)
        const refusal = blockedBy(connection)
        if (refusal !== undefined) return Effect.fail(refusal)
        const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
        const sent = send(value, message, Trace.headersIn(fiber), clock.unsafeCurrentTimeMillis())
        return Deferred.await(sent.settled)
      })
    ).pipe(
      Effect.onExit((exit) => {
        countPublish(Exit.isSuccess(exit) ? exit.value : "lost")
        return Effect.void
      })
    )

  return { publish, ready: Effect.flatMap(link.get, ({ connection }) => blockedBy(connection) ?? Effect.void) }
})
