/** Messages that the broker has confirmed to have taken for good. */
import type { ConfirmChannel } from "amqplib"
import { Clock, Deferred, Effect, type Redacted, type Scope } from "effect"
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
   * Fails within 14 seconds when the broker does not confirm; the message may have reached it nevertheless. Publishing it
   * again sends nothing as long as the connection lives and the first confirmation may still come; when it has come in
   * the meantime, it is the answer.
   */
  readonly publish: (message: Outgoing) => Effect.Effect<Confirmation, Unavailable>
  /** Fails while the broker is out of reach, or takes no messages. */
  readonly ready: Effect.Effect<void, Unavailable>
}

/** Milliseconds. */
const confirmTimeout = 10_000
/** How long a late confirmation is kept for the next try, in milliseconds. */
const keptFor = 10_000

interface Pending {
  readonly settled: Deferred.Deferred<Confirmation, Unavailable>
  readonly sentAt: number
  returned: boolean
  /** Its publisher has been told that it is not confirmed. */
  isLate: boolean
}

interface Publishing {
  readonly channel: ConfirmChannel
  /** In the order of sending. */
  readonly pending: Map<string, Pending>
  /** Confirmations that came late, and when. */
  readonly late: Map<string, { readonly confirmation: Confirmation; readonly at: number }>
}

/**
 * Ends waits that take too long, by settling them: so they end for a caller, too, that must not be interrupted.
 *
 * A blocked broker confirms later, and until then the message stays pending, so that it is not sent twice. Any other
 * silence is a broken connection: what it may still bring would only confuse, so it is closed.
 */
const watch = (connection: Connection, { late, pending }: Publishing) => {
  let blockedAt = Number.NEGATIVE_INFINITY
  return Effect.map(Clock.currentTimeMillis, (now) => {
    for (const [id, { at }] of late) if (now - at >= keptFor) late.delete(id)
    if (connection.blocked() !== undefined) blockedAt = now
    for (const sent of pending.values()) {
      if (now - sent.sentAt < confirmTimeout) return
      if (now - blockedAt >= confirmTimeout) return connection.kill("a message was not confirmed in time")
      sent.isLate = true
      Deferred.unsafeDone(sent.settled, Effect.fail(unavailable("the broker did not confirm in time")))
    }
  }).pipe(Effect.delay("1 second"), Effect.forever, Effect.forkScoped)
}

const open = (connection: Connection): Effect.Effect<Publishing, Unavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const channel = yield* openChannel(connection, "confirm")
    const publishing: Publishing = { channel, pending: new Map(), late: new Map() }
    // RabbitMQ sends a message's return before its confirmation: https://www.rabbitmq.com/docs/publishers#unroutable
    channel.on("return", (message) => {
      const sent = publishing.pending.get(message.properties.messageId)
      if (sent !== undefined) sent.returned = true
    })
    yield* watch(connection, publishing)
    return publishing
  })

const send = ({ channel, late, pending }: Publishing, message: Outgoing, headers: object) =>
  Effect.flatMap(Effect.all([Effect.clock, Deferred.make<Confirmation, Unavailable>()]), ([clock, settled]) =>
    Effect.try({
      try: () => {
        const now = () => clock.unsafeCurrentTimeMillis()
        const sent: Pending = { settled, sentAt: now(), returned: false, isLate: false }
        const options = { ...message.options, messageId: message.id, persistent: true, mandatory: true, headers }
        channel.publish(message.exchange ?? "", message.queue, message.body, options, (error: Error | null) => {
          pending.delete(message.id)
          const confirmation = sent.returned ? "returned" : "confirmed"
          if (error === null && sent.isLate) late.set(message.id, { confirmation, at: now() })
          Deferred.unsafeDone(
            settled,
            error === null
              ? Effect.succeed(confirmation)
              : Effect.fail(unavailable(`not taken by the broker: ${error.message}`))
          )
        })
        pending.set(message.id, sent)
        return sent
      },
      catch: (error) => unavailable(`not sent: ${error instanceof Error ? error.message : error}`)
    })
  )

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

  const takesMessages = ({ connection }: { readonly connection: Connection }) => {
    const reason = connection.blocked()
    return reason === undefined ? Effect.void : Effect.fail(unavailable(`the broker takes no messages: ${reason}`))
  }

  const publish = (message: Outgoing) =>
    Effect.gen(function* () {
      const at = yield* link.get
      const late = at.value.late.get(message.id)
      if (late !== undefined) {
        at.value.late.delete(message.id)
        return late.confirmation
      }
      const before = at.value.pending.get(message.id)
      if (before !== undefined) return yield* Deferred.await(before.settled)
      yield* takesMessages(at)
      const sent = yield* send(at.value, message, yield* Trace.headers)
      return yield* Deferred.await(sent.settled)
    }).pipe(
      Effect.tap((confirmation) => Effect.sync(() => countPublish(confirmation))),
      Effect.tapError(() => Effect.sync(() => countPublish("lost")))
    )

  return { publish, ready: Effect.flatMap(link.get, takesMessages) }
})
