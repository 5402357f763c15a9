/** Leaders' requests on a bus whose replies get no response: for the files of prompts, and for what is kept. */
import { Deferred, Duration, Effect, Schedule } from "effect"
import { FileMissing, Unavailable } from "../domain/Errors.ts"
import type { RunId } from "../domain/Id.ts"
import { sentId } from "../domain/run/RunFile.ts"
import type { Delivery, WantedFile } from "./Bus.ts"

/** After these times without the file it is asked for again: the server may have stopped before it sent it. */
const patience = [10, 20, 30].map((seconds) => Duration.seconds(seconds))
/** So long an answer waits until the files before it are stored. The broker has them, so nothing is lost. */
const patienceForStored = Duration.seconds(10)

const missing = (id: string) => new Unavailable({ what: "server", detail: `The file ${id} did not arrive.` })

export const makeFileRequests = () => {
  const waiting = new Map<string, Deferred.Deferred<Uint8Array, FileMissing>>()
  const keyOf = (run_id: RunId, id: string) => `${run_id} ${id}`
  const expect = (key: string) => {
    const arrived = Deferred.makeUnsafe<Uint8Array, FileMissing>()
    waiting.set(key, arrived)
    return Deferred.await(arrived)
  }
  const forget = (keys: Iterable<string>) =>
    Effect.sync(() => {
      for (const key of keys) waiting.delete(key)
    })
  return {
    /** Takes what the server sends. */
    put: (run_id: RunId, { bytes, id, missing }: WantedFile): void => {
      const deferred = waiting.get(keyOf(run_id, id))
      if (deferred === undefined) return
      const content = missing === undefined ? Effect.succeed(bytes) : new FileMissing({ reason: missing })
      Deferred.doneUnsafe(deferred, content)
    },
    /** For a delivery whose replies `send` sends. An answer follows the files that were sent before it. */
    of: (run_id: RunId, send: Delivery["reply"]): Pick<Delivery, "reply" | "file" | "sendFile"> => {
      const unstored = new Map<string, Effect.Effect<unknown>>()
      const untilStored = Effect.suspend(() => {
        const stored = [...unstored.values()]
        const keys = [...unstored.keys()]
        unstored.clear()
        return Effect.all(stored, { concurrency: "unbounded", discard: true }).pipe(
          Effect.timeoutOption(patienceForStored),
          Effect.ensuring(forget(keys))
        )
      })
      return {
        reply: (reply) =>
          Effect.suspend(() =>
            unstored.size > 0 && (reply._tag === "Answered" || reply._tag === "Failed")
              ? Effect.andThen(untilStored, send(reply))
              : send(reply)
          ),
        file: (id) =>
          Effect.suspend(() => {
            const key = keyOf(run_id, id)
            // A file that the server cannot get is not asked for again.
            const arrived = Effect.exit(expect(key))
            const ask = (wait: Duration.Duration) =>
              Effect.andThen(
                Effect.retry(send({ _tag: "FileWanted", id }), Schedule.spaced("1 second")),
                Effect.timeoutOrElse(arrived, { duration: wait, orElse: () => Effect.fail(missing(id)) })
              )
            return Effect.ensuring(Effect.flatten(Effect.firstSuccessOf(patience.map(ask))), forget([key]))
          }),
        sendFile: (n, file) =>
          Effect.suspend(() => {
            const key = keyOf(run_id, sentId(n))
            unstored.set(key, Effect.exit(expect(key)))
            return send({ _tag: "File", n, file })
          })
      }
    }
  }
}
