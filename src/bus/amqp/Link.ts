/** A connection that reconnects, with a setup for each new connection; or channels of one, which they do alone, too. */
import { Cause, Clock, Deferred, Effect, Latch, Random, type Scope } from "effect"
import { Unavailable } from "../../domain/Errors.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import type { Broker } from "./Broker.ts"
import { type Connection, open, partOf, unavailable } from "./Connection.ts"
import { beginReconnects, countReconnect } from "./Metrics.ts"

interface Link<A> {
  /**
   * The current connection and its setup. Waits up to 3 seconds for the first attempt at the start or after a loss. Once
   * that attempt has failed, it fails immediately until there is a connection.
   */
  readonly get: Effect.Effect<{ readonly connection: Connection; readonly value: A }, Unavailable>
  readonly isConnected: () => boolean
}

const connectWait = "3 seconds"

/** In milliseconds: doubles from 100 to 1,000, with a random factor from 0.5 to 1 to spread replicas. */
const pause = (attempt: number): Effect.Effect<number> =>
  Effect.map(Random.next, (random) => Math.round(Math.min(100 * 2 ** attempt, 1_000) * (0.5 + random / 2)))

/** After a connection that lasted this long (in milliseconds), the backoff starts again. */
const lasting = 5000

/**
 * Keeps a connection until the scope closes. `use` sets up every new connection, in a scope that closes when it is lost;
 * `get` returns its result. After a failed attempt, the next one starts as soon as another link connects to the broker.
 * After a lost connection it always waits, so that two unstable links do not skip each other's pauses.
 */
export const make = <A>(options: {
  readonly broker: Broker
  readonly name: string
  /** Seconds; default: as in `open`. */
  readonly heartbeat?: number
  /** Uses channels of this link's connection, instead of a connection of its own. */
  readonly within?: Link<unknown>
  readonly use: (connection: Connection) => Effect.Effect<A, Unavailable, Scope.Scope>
}): Effect.Effect<Link<A>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { broker, heartbeat, name, use, within } = options
    const clock = yield* Clock.Clock
    let current: { readonly connection: Connection; readonly value: A } | undefined
    let failure = "not connected yet"
    let attempt = 0
    // Logs only the loss and the return of the connection, not the attempts between.
    let lossLogged = false
    // Closed until the first attempt at the start or after a loss has ended.
    const decided = Latch.makeUnsafe()

    /** Returns whether there was a connection. */
    const once = Effect.gen(function* () {
      const connection = yield* within === undefined
        ? open(broker.url, name, heartbeat)
        : Effect.flatMap(within.get, ({ connection }) => partOf(connection))
      const value = yield* use(connection)
      current = { connection, value }
      decided.openUnsafe()
      if (within === undefined) {
        yield* broker.connected
        yield* Effect.logInfo(`broker connection ${name}: connected to ${broker.address}`)
      }
      lossLogged = false
      const since = stopwatch(clock)
      failure = yield* Deferred.await(connection.lost)
      current = undefined
      decided.closeUnsafe()
      if (stopwatch(clock) - since > lasting) attempt = 0
      return true
    }).pipe(
      Effect.scoped,
      Effect.catchCause((cause) =>
        Effect.sync(() => {
          const error = Cause.squash(cause)
          failure = error instanceof Unavailable ? error.detail : String(error)
          return false
        })
      ),
      Effect.ensuring(
        Effect.sync(() => {
          current = undefined
        })
      )
    )

    if (within === undefined) beginReconnects(name)
    yield* Effect.gen(function* () {
      const before = broker.connections()
      const wasConnected = yield* once
      // Another link has connected, so this attempt may have started before the broker was back.
      if (!wasConnected && broker.connections() > before) attempt = 0
      const wait = yield* pause(attempt++)
      if (within === undefined) countReconnect(name)
      const loss = `broker connection ${name}: ${failure} (${broker.address}); `
      const isPartOfLoss = within !== undefined && !within.isConnected()
      yield* lossLogged || isPartOfLoss
        ? Effect.logDebug(`${loss}next attempt in ${wait} ms`)
        : Effect.logWarning(`${loss}reconnecting`)
      lossLogged ||= !isPartOfLoss
      // Waiting callers continue at once, and may end this.
      if (!wasConnected) decided.openUnsafe()
      yield* wasConnected ? Effect.sleep(wait) : Effect.timeoutOption(broker.nextConnected, wait)
    }).pipe(Effect.forever, Effect.forkScoped)

    const fail = Effect.suspend(() => Effect.fail(unavailable(failure)))
    const get = Effect.suspend(() => {
      if (current !== undefined) return Effect.succeed(current)
      return Effect.flatMap(Effect.timeoutOption(decided.await, connectWait), () =>
        current === undefined ? fail : Effect.succeed(current)
      )
    })
    return { get, isConnected: () => current !== undefined }
  })
