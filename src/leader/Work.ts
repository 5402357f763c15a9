import { Duration, Effect, Schedule, type Scope } from "effect"
import type { Delivery } from "../bus/Bus.ts"
import type { FileMissing, Unavailable } from "../domain/Errors.ts"
import type { AgentReport } from "../domain/run/AgentReport.ts"
import { isNothing, mergeProgress, type Progress, readReport } from "../domain/run/Progress.ts"
import { maxFile, mostFiles, type SentFile } from "../domain/run/RunFile.ts"

/** A handler's means while it works on a prompt. */
export interface LeaderWork {
  /**
   * Reports progress, as often as the handler likes: reports within a quarter of a second are sent as one. It never fails
   * and never delays the answer. Text and activity are transient, so the answer must contain all that matters.
   */
  readonly progress: (progress: Progress) => Effect.Effect<void>
  /**
   * Keeps what is known of the work so far, such as its usage. It is sent with the answer or the error, also when the run is
   * cancelled or the handler takes too long. Later reports replace the same parts of earlier ones.
   */
  readonly report: (report: AgentReport) => Effect.Effect<void>
  /** Gets the content of the prompt's file with this ID. */
  readonly file: (id: string) => Effect.Effect<Uint8Array, FileMissing | Unavailable>
  /** Sends a file that is kept with the run, up to 5 MB: the n-th of at most ten, from 1 on. A repeat replaces it. */
  readonly sendFile: (n: number, file: SentFile) => Effect.Effect<void, Unavailable>
}

/** The work is done, so what comes of it is sent until the broker accepts it. */
export const untilSent = Schedule.jittered(
  Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("1 second")])
)

/** The shortest time between two reports that are sent. */
const interval = Duration.millis(250)

/** Unsent progress is sent when the scope closes. */
export const make = (
  { file, progress: send, sendFile }: Delivery,
  keep: (report: AgentReport) => void
): Effect.Effect<LeaderWork, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    let pending: Progress = {}
    let seq = 0
    let isPaced = false
    const flush = Effect.suspend(() => {
      const progress = pending
      pending = {}
      return isNothing(progress) ? Effect.void : send({ seq: seq++, ...progress })
    })
    const paced = Effect.andThen(flush, Effect.sleep(interval)).pipe(
      Effect.repeat({
        until: () => {
          isPaced = !isNothing(pending)
          return !isPaced
        }
      })
    )
    yield* Effect.addFinalizer(() => flush)
    return {
      file,
      // A broker closes the channel on messages that are much too long, however often they are sent.
      sendFile: (n, file) =>
        n > mostFiles || file.bytes.length > maxFile
          ? Effect.die(new Error(`A run keeps up to ${mostFiles} files of ${maxFile / 1e6} MB: not ${file.name}`))
          : Effect.retry(sendFile(n, file), untilSent),
      report: (report) => Effect.sync(() => keep(report)),
      progress: (progress) =>
        Effect.suspend(() => {
          pending = mergeProgress(pending, readReport({ ...progress }))
          if (isPaced || isNothing(pending)) return Effect.void
          isPaced = true
          return Effect.asVoid(Effect.forkIn(paced, scope))
        })
    }
  })
