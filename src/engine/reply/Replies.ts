import { Effect, FiberSet, Layer } from "effect"
import { Bus, type ReplyHandler, type WantedFile } from "../../bus/Bus.ts"
import type { NotFound, Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import { sentId } from "../../domain/run/RunFile.ts"
import type { TeamName } from "../../domain/Team.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { FileStore } from "../../repo/run/FileStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import { makeFairTurns } from "../../runtime/FairTurns.ts"
import { AttachedFiles } from "../files/AttachedFiles.ts"
import { Correlation } from "../outcome/Correlation.ts"
import { ProgressReports } from "../progress/ProgressReports.ts"
import { Settings } from "../Settings.ts"
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
> = Layer.effectDiscard(
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

/** Files of a team's runs that leaders have asked for and that are not sent yet. Further requests are dropped: leaders ask again. */
const mostWanted = 50
/** A file that a bucket holds up delays few of its team's, and no other's. */
const readAtOnce = { each: 2, shared: 4 }

/** Sends files to their runs' leaders. What does not arrive, the leader asks for again. */
const makeSender = Effect.gen(function* () {
  const bus = yield* Bus
  const files = yield* FileStore
  const attached = yield* AttachedFiles
  const history = yield* HistoryStore
  const fork = yield* FiberSet.makeRuntime<never>()
  const wanted = new Set<string>()
  const ofTeams = new Map<TeamName, number>()
  const { inTurn } = makeFairTurns(readAtOnce)
  const none = new Uint8Array()
  const sendFile = (team: TeamName, run_id: RunId, file: WantedFile) =>
    bus.sendFile?.(team, run_id, file) ?? Effect.void
  const logged = (run_id: RunId, id: string) => (sent: Effect.Effect<void, NotFound | Unavailable>) =>
    Effect.catch(sent, (error) => Effect.logDebug(`nothing was sent about the file ${id} of run ${run_id}`, error))

  const get = (team: TeamName, run_id: RunId, id: string) =>
    // Files that are not here yet have turns of their own: their hosts may be slow.
    Effect.andThen(
      attached.fetch(run_id, id),
      inTurn(team)(Effect.flatMap(files.fileBytes(run_id, id), (bytes) => sendFile(team, run_id, { id, bytes })))
    ).pipe(
      Effect.catchTag("FileMissing", ({ reason }) => sendFile(team, run_id, { id, bytes: none, missing: reason })),
      Effect.catchTag("NotFound", () =>
        sendFile(team, run_id, { id, bytes: none, missing: "The server does not have it." })
      )
    )

  const send = (run_id: RunId, id: string): Effect.Effect<void, NotFound | Unavailable> =>
    Effect.flatMap(history.run(run_id), ({ team }) => {
      const ofTeam = ofTeams.get(team) ?? 0
      if (ofTeam === mostWanted) return Effect.void
      ofTeams.set(team, ofTeam + 1)
      const done = Effect.sync(() => {
        const left = ofTeams.get(team)! - 1
        if (left === 0) ofTeams.delete(team)
        else ofTeams.set(team, left)
      })
      return Effect.ensuring(get(team, run_id, id), done)
    })

  return {
    send: (run_id: RunId, id: string): void => {
      const key = `${run_id} ${id}`
      if (wanted.has(key)) return
      wanted.add(key)
      const done = Effect.sync(() => wanted.delete(key))
      fork(Effect.ensuring(logged(run_id, id)(send(run_id, id)), done))
    },
    /** Confirms that a file from its agent is stored. */
    confirm: (run_id: RunId, id: string): void =>
      void fork(
        Effect.flatMap(history.run(run_id), ({ team }) => sendFile(team, run_id, { id, bytes: none })).pipe(
          logged(run_id, id)
        )
      )
  }
})
