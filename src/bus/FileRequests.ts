/** What leaders ask for on a bus on which a reply gets no response: the contents of their prompts' files. */
import { Deferred, Duration, Effect, FiberId, Schedule } from "effect"
import { Unavailable } from "../domain/Errors.ts"
import type { RunId } from "../domain/Id.ts"
import type { Delivery, WantedFile } from "./Bus.ts"

/** After these times without the file it is asked for again: the server or the broker may have lost the request. */
const patience = [1, 2, 5, 10, 20, 30].map((seconds) => Duration.seconds(seconds))

const missing = (id: string) => new Unavailable({ what: "server", detail: `The file ${id} did not arrive.` })

export const makeFileRequests = () => {
  const waiting = new Map<string, Deferred.Deferred<Uint8Array>>()
  const keyOf = (run_id: RunId, id: string) => `${run_id} ${id}`
  return {
    /** Takes what the server sends. */
    put: (run_id: RunId, { bytes, id }: WantedFile): void => {
      const deferred = waiting.get(keyOf(run_id, id))
      if (deferred !== undefined) Deferred.unsafeDone(deferred, Effect.succeed(bytes))
    },
    fileOf:
      (run_id: RunId, reply: Delivery["reply"]): Delivery["file"] =>
      (id) =>
        Effect.suspend(() => {
          const key = keyOf(run_id, id)
          const arrived = Deferred.unsafeMake<Uint8Array>(FiberId.none)
          waiting.set(key, arrived)
          const ask = (wait: Duration.Duration) =>
            Effect.zipRight(
              Effect.retry(reply({ _tag: "FileWanted", id }), Schedule.spaced("1 second")),
              Effect.timeoutFail(Deferred.await(arrived), { duration: wait, onTimeout: () => missing(id) })
            )
          return Effect.ensuring(
            Effect.firstSuccessOf(patience.map(ask)),
            Effect.sync(() => waiting.delete(key))
          )
        })
  }
}
