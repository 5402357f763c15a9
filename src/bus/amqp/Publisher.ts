/** Publishing with confirmations. */
import type { ConfirmChannel } from "amqplib"
import { Clock, Context, Deferred, Effect, type Fiber, type Scope } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import type { Broker } from "./Broker.ts"
import { type Connection, openChannel, unavailable } from "./Connection.ts"
import * as Link from "./Link.ts"
import { countPublish } from "./Metrics.ts"
import * as Trace from "./Trace.ts"
import type { Outgoing } from "./Wire.ts"

/** `returned`: no queue was bound to the exchange, so the message was not stored. */
type Confirmation = "confirmed" | "returned"

interface Publisher {
  /**
   * Sends the message and waits for its confirmation. Fails within 14 seconds without one, or a minute later for a file, although
   * the broker may have the message. Publishing a message again on the same connection does not send it twice; it waits for the first confirmation.
   */
  readonly publish: (message: Outgoing) => Effect.Effect<Confirmation, Unavailable>
  /** Fails while the broker is unreachable. */
  readonly connected: Effect.Effect<void, Unavailable>
  /** Fails while the broker is unreachable or accepts no messages. */
  readonly ready: Effect.Effect<void, Unavailable>
}

type At = { readonly connection: Connection; readonly value: Publishing }

/** Milliseconds. */
const confirmTimeout = 10_000
/** In addition, bytes of the longest message on its way for each millisecond: what follows a file waits for it. */
const slowestUplink = 100
/** How long a late confirmation is kept for the next try, in milliseconds. */
const keptFor = 10_000

interface Pending {
  readonly settled: Deferred.Deferred<Confirmation, Unavailable>
  readonly sentAt: number
  /** In bytes. */
  readonly length: number
  returned: boolean
  /** Its publisher got a timeout. */
  isLate: boolean
}

interface Publishing {
  readonly channel: ConfirmChannel
  /** In the order of sending. */
  readonly pending: Map<string, Pending>
  /** Late confirmations with their times. */
  readonly late: Map<string, { readonly confirmation: Confirmation; readonly at: number }>
}

/**
 * Fails waits that take too long. This works even for uninterruptible callers.
 *
 * A blocked broker confirms later, so its messages stay pending and are not sent twice. Otherwise missing confirmations
 * mean a broken connection, which is closed.
 */
const watch = (connection: Connection, { late, pending }: Publishing) => {
  let blockedAt = Number.NEGATIVE_INFINITY
  return Effect.map(Clock.Clock, (clock) => {
    const now = stopwatch(clock)
    for (const [id, { at }] of late) if (now - at >= keptFor) late.delete(id)
    if (connection.blocked() !== undefined) blockedAt = now
    let longest = 0
    for (const { length } of pending.values()) longest = Math.max(longest, length)
    const limit = confirmTimeout + longest / slowestUplink
    for (const sent of pending.values()) {
      if (now - sent.sentAt < limit) return
      if (now - blockedAt >= confirmTimeout) return connection.kill("a message was not confirmed in time")
      sent.isLate = true
      Deferred.doneUnsafe(sent.settled, Effect.fail(unavailable("the broker did not confirm in time")))
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

const send = (
  { channel, late, pending }: Publishing,
  message: Outgoing,
  headers: object,
  clock: Clock.Clock
): Pending => {
  const now = () => stopwatch(clock)
  const settled = Deferred.makeUnsafe<Confirmation, Unavailable>()
  const sent: Pending = { settled, sentAt: now(), length: message.body.length, returned: false, isLate: false }
  const settle = (outcome: Effect.Effect<Confirmation, Unavailable>) => {
    pending.delete(message.id)
    Deferred.doneUnsafe(settled, outcome)
  }
  const options = {
    ...message.options,
    messageId: message.id,
    persistent: true,
    mandatory: true,
    headers: { ...message.options.headers, ...headers }
  }
  try {
    channel.publish(message.exchange, message.routingKey, message.body, options, (error: Error | null) => {
      if (error !== null) return settle(Effect.fail(unavailable(`rejected by the broker: ${error.message}`)))
      const confirmation = sent.returned ? "returned" : "confirmed"
      if (sent.isLate) late.set(message.id, { confirmation, at: now() })
      settle(Effect.succeed(confirmation))
    })
    pending.set(message.id, sent)
  } catch (error) {
    settle(Effect.fail(unavailable(`not sent: ${error instanceof Error ? error.message : error}`)))
  }
  return sent
}

/** Uses a separate connection: if the broker blocks it, consumers can still acknowledge. */
export const make = Effect.fnUntraced(function* (options: {
  readonly broker: Broker
  readonly name: string
  /** Runs on every new connection before anything is published on it. */
  readonly prepare?: (channel: ConfirmChannel, connection: Connection) => Effect.Effect<void, Unavailable, Scope.Scope>
}): Effect.fn.Return<Publisher, never, Scope.Scope> {
  const link = yield* Link.make({
    ...options,
    use: (connection) =>
      Effect.tap(open(connection), ({ channel }) => options.prepare?.(channel, connection) ?? Effect.void)
  })

  const blockedBy = (connection: Connection): Unavailable | undefined => {
    const reason = connection.blocked()
    return reason === undefined ? undefined : unavailable(`the broker accepts no messages: ${reason}`)
  }

  /** Sends the message unless it was already sent on this connection. */
  const sendOnce = ({ connection, value }: At, message: Outgoing, fiber: Fiber.Fiber<any, any>) => {
    const late = value.late.get(message.id)
    if (late !== undefined) {
      value.late.delete(message.id)
      return Effect.succeed(late.confirmation)
    }
    const before = value.pending.get(message.id)
    if (before !== undefined) return Deferred.await(before.settled)
    const refusal = blockedBy(connection)
    if (refusal !== undefined) return Effect.fail(refusal)
    const clock = Context.get(fiber.context, Clock.Clock)
    return Deferred.await(send(value, message, Trace.headersIn(fiber, message.traceparent), clock).settled)
  }

  const publish = (message: Outgoing) =>
    Effect.flatMap(link.get, (at) =>
      Effect.withFiber<Confirmation, Unavailable>((fiber) => sendOnce(at, message, fiber))
    ).pipe(
      Effect.tapError(() => Effect.sync(() => countPublish("lost"))),
      Effect.tap((confirmation) => Effect.sync(() => countPublish(confirmation)))
    )

  return {
    publish,
    connected: Effect.asVoid(link.get),
    ready: Effect.flatMap(link.get, ({ connection }) => blockedBy(connection) ?? Effect.void)
  }
})
