/** A connection that is opened again whenever it is lost, with something set up on it each time. */
import { Cause, Deferred, Effect, Random, type Scope } from "effect"
import { Unavailable } from "../../domain/Errors.ts"
import { rememberingInterruption } from "../../runtime/Interruption.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import type { Broker } from "./Broker.ts"
import { type Connection, open, unavailable } from "./Connection.ts"
import { countReconnect } from "./Metrics.ts"

export interface Link<A> {
  /**
   * What is set up on the present connection. Waits for 3 seconds while the first attempt to open one is under way, at the
   * start or after a loss; once that has failed, it fails immediately until there is a connection.
   */
  readonly get: Effect.Effect<{ readonly connection: Connection; readonly value: A }, Unavailable>
}

const connectWait = "3 seconds"

/**
 * In milliseconds: doubles from 100 to 1,000. Each pause is a random part between half and all of that, so that replicas
 * spread out.
 */
const pause = (attempt: number): Effect.Effect<number> =>
  Effect.map(Random.next, (random) => Math.round(Math.min(100 * 2 ** attempt, 1_000) * (0.5 + random / 2)))

/** A connection that lasted this long was a good one: the next is tried for immediately. */
const lasting = 5000

/**
 * Keeps a connection until the scope closes. `use` runs on every new one, in a scope that closes when it is lost; what it
 * returns is what `get` gives. After a failed attempt, the next one begins as soon as another link has connected to the
 * broker. After a lost connection it waits: two connections that are lost again and again would otherwise skip each other's
 * pauses.
 */
export const make = <A>(options: {
  readonly broker: Broker
  readonly name: string
  /** Seconds; as `open` has it when absent. */
  readonly heartbeat?: number
  readonly use: (connection: Connection) => Effect.Effect<A, Unavailable, Scope.Scope>
}): Effect.Effect<Link<A>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { broker, heartbeat, name, use } = options
    const clock = yield* Effect.clock
    let current: { readonly connection: Connection; readonly value: A } | undefined
    let failure = "not connected yet"
    let attempt = 0
    // One line says that the connection is lost, and one that it is back; the attempts in between would fill the log.
    let lossLogged = false
    // Closed until the first attempt to open a connection, or to replace a lost one, has ended.
    const decided = Effect.unsafeMakeLatch()

    /** Returns whether there was a connection. */
    const once = Effect.gen(function* () {
      const connection = yield* open(broker.url, name, heartbeat)
      const value = yield* use(connection)
      current = { connection, value }
      decided.unsafeOpen()
      yield* broker.connected
      yield* Effect.logInfo(`broker connection ${name}: connected to ${broker.address}`)
      lossLogged = false
      const since = stopwatch(clock)
      failure = yield* Deferred.await(connection.lost)
      current = undefined
      decided.unsafeClose()
      if (stopwatch(clock) - since > lasting) attempt = 0
      return true
    }).pipe(
      Effect.scoped,
      Effect.catchAllCause((cause) =>
        Effect.sync(() => {
          const error = Cause.squash(cause)
          failure = error instanceof Unavailable ? error.detail : String(error)
          decided.unsafeOpen()
          return false
        })
      ),
      Effect.ensuring(
        Effect.sync(() => {
          current = undefined
        })
      )
    )

    yield* Effect.gen(function* () {
      const before = broker.connections()
      const wasConnected = yield* once
      // Another link connected while this attempt failed: it may have begun before the broker was back.
      if (!wasConnected && broker.connections() > before) attempt = 0
      const wait = yield* pause(attempt++)
      countReconnect(name)
      const loss = `broker connection ${name}: ${failure} (${broker.address}); `
      yield* lossLogged
        ? Effect.logDebug(`${loss}next attempt in ${wait} ms`)
        : Effect.logWarning(`${loss}trying again until it works`)
      lossLogged = true
      yield* wasConnected ? Effect.sleep(wait) : Effect.timeoutOption(broker.nextConnected, wait)
    }).pipe(Effect.forever, Effect.interruptible, rememberingInterruption, Effect.forkScoped)

    const fail = Effect.suspend(() => Effect.fail(unavailable(failure)))
    const get = Effect.suspend(() => {
      if (current !== undefined) return Effect.succeed(current)
      // Also for a caller that must not be interrupted: nothing has been done yet, and a timeout ends only what may be.
      return Effect.interruptible(decided.await).pipe(
        Effect.timeoutOption(connectWait),
        Effect.flatMap(() => (current === undefined ? fail : Effect.succeed(current)))
      )
    })
    return { get }
  })
