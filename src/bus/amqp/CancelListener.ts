import { Effect, Option, Schedule, type Scope } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { type Connection, call } from "./Connection.ts"
import { declareCancelQueue } from "./Topology.ts"
import { decodeCancel } from "./Wire.ts"

/** How long until it is tried again to listen. */
const pause = "10 seconds"

/** Listens until the scope closes; fails when the broker does not allow it, or has no such exchange yet. */
const listenOn = (
  connection: Connection,
  team: TeamName,
  onCancel: (id: RunId) => void
): Effect.Effect<void, Unavailable, Scope.Scope> =>
  Effect.gen(function* () {
    // Of its own: the broker closes a channel on which something is refused.
    const channel = yield* Effect.acquireRelease(
      call("opening a channel for cancellations", () => connection.model.createChannel()),
      (channel) => Effect.ignore(Effect.tryPromise(() => channel.close()))
    )
    channel.on("error", () => {})
    const queue = yield* call("declaring a queue for cancellations", () => declareCancelQueue(channel, team))
    yield* call(`consuming ${queue}`, () =>
      channel.consume(
        queue,
        (message) => {
          const id = message === null ? Option.none() : decodeCancel(message)
          if (Option.isSome(id)) onCancel(id.value)
        },
        { noAck: true }
      )
    )
  })

/**
 * Calls `onCancel` for each run that the team's leaders are asked not to work on, while the scope lives. A leader without
 * the rights for it, or with an older server, leads all the same, and tries again from time to time.
 */
export const listenForCancellations = (
  connection: Connection,
  team: TeamName,
  onCancel: (id: RunId) => void
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    let isLogged = false
    const refused = ({ detail }: Unavailable) => {
      if (isLogged) return Effect.void
      isLogged = true
      return Effect.logInfo(`this leader is not told of cancelled runs, and works on them to the end: ${detail}`)
    }
    const listening = Effect.scoped(Effect.zipRight(listenOn(connection, team, onCancel), Effect.never))
    yield* listening.pipe(Effect.tapError(refused), Effect.retry(Schedule.spaced(pause)), Effect.forkScoped)
  })
