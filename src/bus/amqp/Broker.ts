/** State shared by all connections of a process to the broker. */
import { Effect, Latch, type Redacted } from "effect"
import { addressOf } from "./Connection.ts"

export interface Broker {
  readonly url: Redacted.Redacted<string>
  /** Host, port and path, for display. */
  readonly address: string
  /** The number of connections made so far. */
  readonly connections: () => number
  /** Reports a new connection. */
  readonly connected: Effect.Effect<void>
  /** Waits for the next connection. */
  readonly nextConnected: Effect.Effect<void>
}

export const make = (url: Redacted.Redacted<string>): Broker => {
  const latch = Latch.makeUnsafe()
  let connections = 0
  return {
    url,
    address: addressOf(url),
    connections: () => connections,
    connected: Effect.suspend(() => {
      connections++
      return latch.release
    }),
    nextConnected: latch.await
  }
}
