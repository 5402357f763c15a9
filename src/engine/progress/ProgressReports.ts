import { Clock, Context, Deferred, Effect, FiberSet, Layer } from "effect"
import type { RunProgress } from "../../bus/Bus.ts"
import type { RunId } from "../../domain/Id.ts"
import { mergeProgress, type Progress } from "../../domain/run/Progress.ts"
import { mergeSteps, sizeOf } from "../../domain/run/Step.ts"
import { type ProgressReport, ProgressStore } from "../../repo/run/ProgressStore.ts"

/** Milliseconds between two writes. Each stores one report of each run. */
const interval = 250
/** The text that waits for a write, in UTF-16 code units, and its runs. What exceeds this is dropped. */
const mostText = 8 * 1024 * 1024
const mostRuns = 10_000

const lengthOf = ({ steps = [], text = "" }: Progress): number =>
  steps.reduce((sum, step) => sum + sizeOf(step), text.length)

/** Stores what leaders report while they work: seldom, in groups, and without delaying anything else. */
export class ProgressReports extends Context.Service<
  ProgressReports,
  {
    /** Takes a report and returns at once. It is stored soon, or lost. */
    readonly add: (progress: RunProgress) => void
    /**
     * Takes a report and waits until it is stored, or lost. For leaders whose next report may reach another server: if they
     * wait for this, their reports stay in order. It never fails.
     */
    readonly record: (progress: RunProgress) => Effect.Effect<void>
  }
>()("webhook-trigger/ProgressReports") {
  static readonly layer: Layer.Layer<ProgressReports, never, ProgressStore> = Layer.effect(
    ProgressReports,
    Effect.gen(function* () {
      const store = yield* ProgressStore
      const fork = yield* FiberSet.makeRuntime<never>()
      const clock = yield* Clock.Clock
      const now = () => new Date(clock.currentTimeMillisUnsafe()).toISOString()
      let waiting = new Map<RunId, ProgressReport>()
      let text = 0
      let written = Deferred.makeUnsafe<void>()
      let isPaced = false

      const write = Effect.suspend(() => {
        const reports = [...waiting.values()]
        const done = written
        waiting = new Map()
        text = 0
        written = Deferred.makeUnsafe()
        return store.addProgress(reports).pipe(
          Effect.catchCause((cause) => Effect.logDebug("Progress was not stored", cause)),
          Effect.andThen(Deferred.succeed(done, undefined))
        )
      })
      const writeAll = Effect.andThen(write, Effect.sleep(interval)).pipe(
        Effect.repeat({
          until: () => {
            isPaced = waiting.size > 0
            return !isPaced
          }
        })
      )

      const add = ({ activity, run_id, seq, ...rest }: RunProgress): void => {
        const progress = {
          ...(rest.text !== undefined && { text: rest.text }),
          ...(activity !== undefined && { activity }),
          ...(rest.steps && { steps: rest.steps.map((step) => ({ at: now(), ...step })) })
        }
        const before = waiting.get(run_id)
        const length = lengthOf(progress)
        if (text + length > mostText || (before === undefined && waiting.size >= mostRuns)) return
        // A smaller number: the work started over, and the text with it.
        const isNext = before !== undefined && seq > before.seq
        const merged = isNext
          ? mergeProgress(before, progress)
          : before?.steps
            ? { ...progress, steps: mergeSteps(before.steps, progress.steps ?? []) }
            : progress
        waiting.set(run_id, { run_id, first_seq: isNext ? before.first_seq : seq, seq, ...merged })
        text += lengthOf(merged) - lengthOf(before ?? {})
        if (isPaced) return
        isPaced = true
        // Reports that arrive together are written together.
        fork(Effect.asVoid(Effect.andThen(Effect.yieldNow, writeAll)))
      }

      return ProgressReports.of({
        add,
        record: (progress) =>
          Effect.suspend(() => {
            add(progress)
            return waiting.has(progress.run_id) ? Deferred.await(written) : Effect.void
          })
      })
    })
  )
}
