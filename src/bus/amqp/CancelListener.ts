import { Deferred, Effect, Option, type Scope } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { type Connection, call, openSideChannel, unavailable } from "./Connection.ts"
import { declareCancelQueue } from "./Topology.ts"
import { decodeCancel } from "./Wire.ts"

/** The pause before it tries to listen again; the first prompt ends it. */
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
 * the rights for it leads all the same, and tries again from time to time. Before the team's first prompt the server may not
 * have declared the team's exchange: a refusal means nothing then, and `firstPrompt` ends the pause.
 */
export const listenForCancellations = (
  connection: Connection,
  team: TeamName,
  firstPrompt: Deferred.Deferred<void>,
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
    yield* Deferred.isDone(firstPrompt).pipe(
      // Asked before the attempt: the prompt may come while the broker refuses it.
      Effect.flatMap((hadPrompt) =>
        Effect.catchAll(attempt, (refusal) =>
          hadPrompt
            ? Effect.zipRight(refused(refusal), Effect.sleep(pause))
            : Effect.timeoutOption(Deferred.await(firstPrompt), pause)
        )
      ),
      Effect.forever,
      Effect.forkScoped
    )
  })
