import { Deferred, Effect, Option, Schedule, type Scope } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { type Connection, call, openSideChannel, unavailable } from "./Connection.ts"
import { declareCancelQueue } from "./Topology.ts"
import { decodeCancel } from "./Wire.ts"

/** The pause before it tries to listen again. The first retry comes with the first prompt, if that is sooner. */
const pause = "10 seconds"

/** Listens; fails when the broker does not allow it, has no such exchange yet, or ends it. */
const listen = (
  connection: Connection,
  team: TeamName,
  onCancel: (id: RunId) => void
): Effect.Effect<never, Unavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const channel = yield* openSideChannel(connection)
    const closed = yield* Deferred.make<never, Unavailable>()
    channel.once("close", () => Deferred.unsafeDone(closed, Effect.fail(unavailable("the channel was closed"))))
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
    return yield* Deferred.await(closed)
  })

/**
 * Calls `onCancel` for each run that the team's leaders are asked not to work on, while the scope lives. A leader without
 * the rights for it leads all the same, and tries again from time to time. A server that has had no prompt for the team yet
 * has not declared the team's exchange: it is there when `firstPrompt` succeeds.
 */
export const listenForCancellations = (
  connection: Connection,
  team: TeamName,
  firstPrompt: Effect.Effect<void>,
  onCancel: (id: RunId) => void
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    let isLogged = false
    const refused = ({ detail }: Unavailable) =>
      Effect.flatMap(Deferred.isDone(connection.lost), (isLost) => {
        if (isLost || isLogged) return Effect.void
        isLogged = true
        return Effect.logInfo(`this leader is not told of cancelled runs, and works on them to the end: ${detail}`)
      })
    const attempt = Effect.scoped(listen(connection, team, onCancel))
    yield* attempt.pipe(
      Effect.catchAll(() => Effect.timeoutOption(firstPrompt, pause)),
      Effect.zipRight(Effect.retry(Effect.tapError(attempt, refused), Schedule.spaced(pause))),
      Effect.forkScoped
    )
  })
