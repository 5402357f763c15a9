/** The broker as all connections of one process see it: what one of them finds out helps the others. */
import { Effect, type Redacted } from "effect"
import { addressOf } from "./Connection.ts"

export interface Broker {
  readonly url: Redacted.Redacted<string>
  /** Host, port and path, for display. */
  readonly address: string
  /** Connections that have been made so far. */
  readonly connections: () => number
  /** Reports that a connection was made. */
  readonly connected: Effect.Effect<void>
  /** Waits until the next one is made. */
  readonly nextConnected: Effect.Effect<void>
}

export const make = (url: Redacted.Redacted<string>): Broker => {
  const latch = Effect.unsafeMakeLatch()
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
