/** What leaders ask for on a bus on which a reply gets no response: the contents of their prompts' files, and what is kept. */
import { Deferred, Duration, Effect, FiberId, Schedule } from "effect"
import { FileMissing, Unavailable } from "../domain/Errors.ts"
import type { RunId } from "../domain/Id.ts"
import { sentId } from "../domain/run/RunFile.ts"
import type { Delivery, WantedFile } from "./Bus.ts"

/** After these times without the file it is asked for again: the server or the broker may have lost the request. */
const patience = [1, 2, 5, 10, 20, 30].map((seconds) => Duration.seconds(seconds))
/** So long an answer waits for a file before it. The broker has it, so nothing is lost without a server. */
const patienceForStored = Duration.seconds(10)

const missing = (id: string) => new Unavailable({ what: "server", detail: `The file ${id} did not arrive.` })

export const makeFileRequests = () => {
  const waiting = new Map<string, Deferred.Deferred<Uint8Array, FileMissing>>()
  const keyOf = (run_id: RunId, id: string) => `${run_id} ${id}`
  /** With what the server sends about the file while the effect runs. */
  const expecting = <A, E>(
    run_id: RunId,
    id: string,
    use: (arrived: Effect.Effect<Uint8Array, FileMissing>) => Effect.Effect<A, E>
  ): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      const key = keyOf(run_id, id)
      const arrived = Deferred.unsafeMake<Uint8Array, FileMissing>(FiberId.none)
      waiting.set(key, arrived)
      return Effect.ensuring(
        use(Deferred.await(arrived)),
        Effect.sync(() => waiting.delete(key))
      )
    })
  return {
    /** Takes what the server sends. */
    put: (run_id: RunId, { bytes, id, missing }: WantedFile): void => {
      const deferred = waiting.get(keyOf(run_id, id))
      if (deferred === undefined) return
      const content = missing === undefined ? Effect.succeed(bytes) : new FileMissing({ reason: missing })
      Deferred.unsafeDone(deferred, content)
    },
    of: (run_id: RunId, reply: Delivery["reply"]): Pick<Delivery, "file" | "sendFile"> => ({
      file: (id) =>
        expecting(run_id, id, (arrived) => {
          const ask = (wait: Duration.Duration) =>
            Effect.zipRight(
              Effect.retry(reply({ _tag: "FileWanted", id }), Schedule.spaced("1 second")),
              // One that the server cannot get is not asked for again.
              Effect.timeoutFail(Effect.exit(arrived), { duration: wait, onTimeout: () => missing(id) })
            )
          return Effect.flatten(Effect.firstSuccessOf(patience.map(ask)))
        }),
      sendFile: (n, file) =>
        expecting(run_id, sentId(n), (stored) =>
          Effect.zipRight(
            reply({ _tag: "File", n, file }),
            Effect.asVoid(Effect.timeoutOption(Effect.exit(stored), patienceForStored))
          )
        )
    })
  }
}
