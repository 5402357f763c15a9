import { Effect, FiberSet, Layer, Option } from "effect"
import { Bus, type ReplyHandler, type WantedFile } from "../../bus/Bus.ts"
import type { NotFound, Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import { sentId } from "../../domain/run/RunFile.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { FileStore } from "../../repo/run/FileStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import { AttachedFiles } from "../files/AttachedFiles.ts"
import { ProgressReports } from "../progress/ProgressReports.ts"
import { Settings } from "../Settings.ts"
import { Correlation } from "./Correlation.ts"
import { ReplyRecorder } from "./ReplyRecorder.ts"

/**
 * The replies of all runs in flight can be recorded together. A frozen server withholds no more than the maximum from the
 * others. The minimum leaves room for replies that are not answers.
 */
const fewestAtOnce = 20
const mostAtOnce = 100

/**
 * The reply path: replies are recorded, then watchers are notified. The bus acknowledges replies only after this, so an
 * answer that was confirmed to the leader is never lost. Every replica runs it; one that cannot record leaves the replies to
 * the others.
 */
export const layer: Layer.Layer<
  never,
  never,
  AttachedFiles | Bus | ChangeFeed | Correlation | FileStore | HistoryStore | ProgressReports | ReplyRecorder | Settings
> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const bus = yield* Bus
    const { handle, isOver } = yield* ReplyRecorder
    const correlation = yield* Correlation
    const database = yield* ChangeFeed
    const reports = yield* ProgressReports
    const { maxConcurrent } = yield* Settings
    const { confirm, send } = yield* makeSender
    const handleWithFiles: ReplyHandler = (replies, later) => {
      for (const reply of replies) if (reply._tag === "FileWanted") send(reply.run_id, reply.id)
      const files = new Set(replies.filter((reply) => reply._tag === "File"))
      const putOff: typeof later = (reply, finish) => {
        if (reply._tag !== "File") return later?.(reply, finish)
        files.delete(reply)
        const subject = `file ${reply.n} of run ${reply.run_id} is not kept yet`
        // A failure would return the other replies to the broker, too.
        const stored = untilAvailable(finish, { subject, longest: "5 seconds" })
        later?.(
          reply,
          Effect.map(stored, () => confirm(reply.run_id, sentId(reply.n)))
        )
      }
      return Effect.map(handle(replies, later && putOff), () => {
        for (const { n, run_id } of files) confirm(run_id, sentId(n))
      })
    }
    yield* bus.consume(handleWithFiles, {
      correlation,
      progress: reports.add,
      isOver,
      atOnce: Math.min(Math.max(maxConcurrent, fewestAtOnce), mostAtOnce),
      ready: database.ping
    })
  })
)

/** Files that leaders have asked for and that are not sent yet; and those that are fetched first. Further requests are dropped:
 * leaders ask again. */
const mostWanted = 100

/** Sends files to their runs' leaders. One at a time: each is in memory. What does not arrive, the leader asks for again. */
const makeSender = Effect.gen(function* () {
  const bus = yield* Bus
  const files = yield* FileStore
  const attached = yield* AttachedFiles
  const history = yield* HistoryStore
  const fork = yield* FiberSet.makeRuntime<never>()
  const wanted = new Set<string>()
  const fetched = new Set<string>()
  const turns = yield* Effect.makeSemaphore(1)
  const sendFile = (run_id: RunId, file: WantedFile) =>
    Effect.gen(function* () {
      const { team } = yield* history.run(run_id)
      if (bus.sendFile !== undefined) yield* bus.sendFile(team, run_id, file)
    })
  const logged = (run_id: RunId, id: string) => (sent: Effect.Effect<void, NotFound | Unavailable>) =>
    Effect.catchAll(sent, (error) => Effect.logDebug(`nothing was sent about the file ${id} of run ${run_id}`, error))
  const read = (run_id: RunId, id: string) =>
    turns.withPermits(1)(Effect.flatMap(files.fileBytes(run_id, id), (bytes) => sendFile(run_id, { id, bytes })))
  const fetch = (run_id: RunId, id: string) =>
    Effect.matchEffect(attached.fetch(run_id, id), {
      onSuccess: () => read(run_id, id),
      onFailure: (error) =>
        error._tag === "FileMissing"
          ? sendFile(run_id, { id, bytes: new Uint8Array(), missing: error.reason })
          : Effect.fail(error)
    })
  /** Does the work for a file, unless it is being done or the set is full. */
  const oneOf = (
    keys: Set<string>,
    [run_id, id]: readonly [RunId, string],
    work: Effect.Effect<void, NotFound | Unavailable>
  ) => {
    const key = `${run_id} ${id}`
    if (keys.has(key) || keys.size === mostWanted) return
    keys.add(key)
    const done = Effect.sync(() => keys.delete(key))
    fork(Effect.ensuring(logged(run_id, id)(work), done))
  }
  return {
    send: (run_id: RunId, id: string): void =>
      oneOf(
        wanted,
        [run_id, id],
        Effect.gen(function* () {
          // Hosts may be slow, and other files do not wait for them.
          if (Option.isNone(yield* turns.withPermits(1)(files.wantedFile(run_id, id)))) yield* read(run_id, id)
          else oneOf(fetched, [run_id, id], fetch(run_id, id))
        })
      ),
    /** One that its agent left is stored. */
    confirm: (run_id: RunId, id: string): void =>
      void fork(sendFile(run_id, { id, bytes: new Uint8Array() }).pipe(logged(run_id, id)))
  }
})
