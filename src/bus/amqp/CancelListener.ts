import { Deferred, Effect, Option, type Scope } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { WantedFile } from "../Bus.ts"
import { type Connection, call, openSideChannel, unavailable } from "./Connection.ts"
import { declareCancelQueue } from "./Topology.ts"
import { decodeCancel, decodeFile, isFile } from "./Wire.ts"

/** The pause before the next attempt to listen. */
const pause = "10 seconds"

/** The messages that the server sends to a team's leaders beside prompts. */
interface Listener {
  readonly onCancel: (id: RunId) => void
  readonly onFile: (id: RunId, file: WantedFile) => void
}

/** Fails if the broker denies access, if the exchange does not exist yet, or if the channel closes. */
const listen = (
  connection: Connection,
  team: TeamName,
  { onCancel, onFile }: Listener
): Effect.Effect<never, Unavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const channel = yield* openSideChannel(connection)
    const closed = yield* Deferred.make<never, Unavailable>()
    channel.once("close", () => Deferred.doneUnsafe(closed, Effect.fail(unavailable("the channel was closed"))))
    const queue = yield* call("declaring a queue for cancellations", () => declareCancelQueue(channel, team))
    yield* call(`consuming ${queue}`, () =>
      channel.consume(
        queue,
        (message) => {
          if (message === null) return
          if (isFile(message)) {
            const file = decodeFile(message)
            if (Option.isSome(file)) onFile(file.value.run_id, file.value)
            return
          }
          const id = decodeCancel(message)
          if (Option.isSome(id)) onCancel(id.value)
        },
        { noAck: true }
      )
    )
    return yield* Deferred.await(closed)
  })

/**
 * Calls `onCancel` for each cancelled run of the team, and `onFile` for the files that its leader has asked for. It listens from
 * the first prompt here until the scope closes: standbys do not, and before a team's first prompt there may be no exchange.
 * Cancellations are repeated, so none is missed. A leader without the necessary rights works without cancellations and retries.
 */
export const listenForCancellations = (
  connection: Connection,
  team: TeamName,
  firstPrompt: Deferred.Deferred<void>,
  listener: Listener
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    let isLogged = false
    const refused = ({ detail }: Unavailable) =>
      Effect.flatMap(Deferred.isDone(connection.lost), (isLost) => {
        if (isLost || isLogged) return Effect.void
        isLogged = true
        return Effect.logInfo(
          `this leader cannot receive cancellations and files, and will finish cancelled runs: ${detail}`
        )
      })
    const attempt = Effect.scoped(listen(connection, team, listener))
    yield* Deferred.await(firstPrompt).pipe(
      Effect.andThen(
        Effect.forever(Effect.catch(attempt, (refusal) => Effect.andThen(refused(refusal), Effect.sleep(pause))))
      ),
      Effect.forkScoped
    )
  })
