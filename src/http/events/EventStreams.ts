/** The clients that read server-sent events. */
import { Effect, Metric, Queue, type Scope, Stream } from "effect"
import type { Grant } from "../../domain/access/Grant.ts"
import type { TooManyStreams } from "../../domain/Errors.ts"
import { record } from "../../telemetry/Metrics.ts"
import type { StreamOwner } from "../access/ActorStreams.ts"
import * as StreamCount from "./StreamCount.ts"

export interface Limits {
  /** Maximum number of streams in this process. */
  readonly inAll: number
  readonly ofOneSession: number
  readonly ofOneKey: number
  /** Maximum number of events that a client may be behind. */
  readonly buffered: number
}

const openStreams = Metric.gauge("webhook_event_streams", { description: "Open streams of server-sent events." })
const droppedStreams = Metric.counter("webhook_event_streams_dropped_total", {
  description: "Streams of server-sent events that were closed because their client did not read in time.",
  incremental: true
})

type Teams = Grant["teams"]

interface Client {
  readonly teams: Teams
  readonly buffer: Queue.Queue<Uint8Array>
  readonly disconnect: () => void
}

interface EventStreams {
  readonly isEmpty: () => boolean
  /** Whether a client is limited to teams. */
  readonly isAnyLimited: () => boolean
  /**
   * Sends a text to each client; clients that are limited to the same teams share one. A client whose buffer is full is
   * disconnected, and may reconnect.
   */
  readonly publish: (textFor: (teams: Teams) => string | undefined) => void
  /** A stream of published texts until the scope closes. `disconnect` is called at most once, and must not throw. */
  readonly open: (
    owner: StreamOwner,
    teams: Teams,
    disconnect: () => void
  ) => Effect.Effect<Stream.Stream<Uint8Array>, TooManyStreams, Scope.Scope>
}

export const make = (limits: Limits): EventStreams => {
  const encoder = new TextEncoder()
  const clients = new Set<Client>()
  const enter = StreamCount.make(openStreams, limits.inAll, ({ of }) =>
    of === "key" ? limits.ofOneKey : limits.ofOneSession
  )

  return {
    isEmpty: () => clients.size === 0,
    isAnyLimited: () => [...clients].some(({ teams }) => teams !== undefined),
    publish: (textFor) => {
      const encoded = new Map<string | undefined, Uint8Array | undefined>()
      const bytesFor = (teams: Teams) => {
        const key = teams?.join()
        if (!encoded.has(key)) {
          const text = textFor(teams)
          encoded.set(key, text === undefined ? undefined : encoder.encode(text))
        }
        return encoded.get(key)
      }
      for (const client of [...clients]) {
        const bytes = bytesFor(client.teams)
        if (bytes === undefined || Queue.offerUnsafe(client.buffer, bytes)) continue
        record(droppedStreams, 1)
        clients.delete(client)
        client.disconnect()
      }
    },
    open: (owner, teams, disconnect) =>
      Effect.gen(function* () {
        yield* enter(owner)
        const buffer = yield* Effect.acquireRelease(Queue.dropping<Uint8Array>(limits.buffered), Queue.shutdown)
        const client: Client = { teams, buffer, disconnect }
        yield* Effect.acquireRelease(
          Effect.sync(() => clients.add(client)),
          () => Effect.sync(() => clients.delete(client))
        )
        return Stream.fromQueue(buffer)
      })
  }
}
