import type { Channel } from "amqplib"
import { Effect, type Scope } from "effect"
import { type Connection, openSideChannel } from "./Connection.ts"
import type { Outgoing } from "./Wire.ts"

/** Sends messages that may be lost: without confirmations, and on a channel whose failures do not affect the replies. */
export interface ProgressSender {
  /** Uses the connection until the scope closes. */
  readonly use: (connection: Connection) => Effect.Effect<void, never, Scope.Scope>
  /** It has had a connection. */
  readonly isUsed: () => boolean
  /** Drops the message if the broker cannot take it at once. */
  readonly send: (message: Outgoing) => void
}

interface Open {
  readonly connection: Connection
  readonly channel: Channel
  /** What was sent before is still in this process. */
  isFull: boolean
}

export const make = (): ProgressSender => {
  let open: Open | undefined
  let isUsed = false
  const close = (channel: Channel) => {
    if (open?.channel === channel) open = undefined
  }
  return {
    use: (connection) =>
      openSideChannel(connection).pipe(
        Effect.tap((channel) => Effect.addFinalizer(() => Effect.sync(() => close(channel)))),
        Effect.map((channel) => {
          const opened = { connection, channel, isFull: false }
          channel.once("close", () => close(channel))
          channel.on("drain", () => {
            opened.isFull = false
          })
          open = opened
          isUsed = true
        }),
        Effect.catchAll(({ detail }) => Effect.logInfo(`this leader reports no progress: ${detail}`))
      ),
    isUsed: () => isUsed,
    send: ({ body, exchange, options, routingKey }) => {
      if (open === undefined || open.isFull || open.connection.blocked() !== undefined) return
      try {
        open.isFull = !open.channel.publish(exchange, routingKey, body, options)
      } catch {
        // The channel is closing.
      }
    }
  }
}
