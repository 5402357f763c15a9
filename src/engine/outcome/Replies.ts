import { Effect, FiberMap, Layer } from "effect"
import { Bus, type ReplyHandler, type WantedFile } from "../../bus/Bus.ts"
import type { FileMissing, NotFound, Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import { sentId } from "../../domain/run/RunFile.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { FileStore } from "../../repo/run/FileStore.ts"
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
      return Effect.map(handle(replies, later), () => {
        for (const reply of replies) if (reply._tag === "File") confirm(reply.run_id, sentId(reply.n))
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

/** Sends files to their runs' leaders. One at a time: each is in memory. What does not arrive, the leader asks for again. */
const makeSender = Effect.gen(function* () {
  const bus = yield* Bus
  const files = yield* FileStore
  const attached = yield* AttachedFiles
  const history = yield* HistoryStore
  const sending = yield* FiberMap.makeRuntime<never, string>()
  const turns = yield* Effect.makeSemaphore(1)
  const sendFile = (
    run_id: RunId,
    id: string,
    content: Effect.Effect<Uint8Array, NotFound | Unavailable>,
    before: Effect.Effect<void, FileMissing | Unavailable> = Effect.void
  ) => {
    const send = (file: Effect.Effect<WantedFile, NotFound | Unavailable>) =>
      turns.withPermits(1)(
        Effect.gen(function* () {
          const { team } = yield* history.run(run_id)
          yield* bus.sendFile(team, run_id, yield* file)
        })
      )
    // Hosts may be slow, and other files need not wait for them.
    const work = Effect.matchEffect(before, {
      onSuccess: () => send(Effect.map(content, (bytes) => ({ id, bytes }))),
      onFailure: (error) =>
        error._tag === "FileMissing"
          ? send(Effect.succeed({ id, bytes: new Uint8Array(), missing: error.reason }))
          : Effect.fail(error)
    })
    const logged = Effect.catchAll(work, (error) =>
      Effect.logDebug(`nothing was sent about the file ${id} of run ${run_id}`, error)
    )
    sending(`${run_id} ${id}`, logged, { onlyIfMissing: true })
  }
  return {
    send: (run_id: RunId, id: string) => sendFile(run_id, id, files.fileBytes(run_id, id), attached.fetch(run_id, id)),
    /** One that its agent left is stored. */
    confirm: (run_id: RunId, id: string) => sendFile(run_id, id, Effect.succeed(new Uint8Array()))
  }
})
