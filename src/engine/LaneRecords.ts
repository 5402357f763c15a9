import { DateTime, Duration, Effect, Queue, type Scope } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import type { RunId } from "../domain/Id.ts"
import { type LaneRun, LaneStore } from "../repo/LaneStore.ts"
import type { LeaseLost, Term } from "../repo/LeaseStore.ts"
import { type RunMark, RunStore } from "../repo/RunStore.ts"
import { untilAvailable } from "./Availability.ts"
import * as GroupCommit from "./GroupCommit.ts"

/** How long a stopping dispatcher takes to record what it has sent. */
const recordGrace = Duration.seconds(5)

/** What the lanes write to the rows, in groups over all of them. */
export interface LaneRecords {
  /** Marks the runs as about to be sent; returns those that may be. */
  readonly admit: (runs: ReadonlyArray<LaneRun>) => Effect.Effect<ReadonlySet<RunId>, LeaseLost | Unavailable>
  /** The broker has confirmed the run; recorded soon, also when the scope closes meanwhile. */
  readonly markSent: (mark: RunMark) => void
}

export const make = Effect.fnUntraced(function* (
  term: Term
): Effect.fn.Return<LaneRecords, never, LaneStore | RunStore | Scope.Scope> {
  const store = yield* LaneStore
  const runs = yield* RunStore

  // What one lane admits together is never split: a part of it would be out of order.
  const commit = yield* GroupCommit.make({
    size: 100,
    commit: (groups: ReadonlyArray<ReadonlyArray<RunId>>) =>
      Effect.flatMap(DateTime.now, (at) =>
        Effect.map(store.admit(groups.flat(), term, at), (admitted) => groups.map(() => admitted))
      )
  })

  const marks = yield* Queue.unbounded<RunMark>()
  const allRecorded = Effect.unsafeMakeLatch(true)
  let unrecorded = 0
  const write = Effect.gen(function* () {
    const some = Array.from(yield* Queue.takeBetween(marks, 1, 500))
    yield* untilAvailable(runs.sent(some))
    unrecorded -= some.length
    if (unrecorded === 0) allRecorded.unsafeOpen()
  })
  yield* Effect.forkScoped(Effect.forever(write))
  yield* Effect.addFinalizer(() => Effect.timeoutOption(Effect.interruptible(allRecorded.await), recordGrace))

  return {
    admit: (runs) => Effect.map(commit([runs.map(({ run_id }) => run_id)]), ([admitted]) => admitted!),
    markSent: (mark) => {
      unrecorded++
      allRecorded.unsafeClose()
      marks.unsafeOffer(mark)
    }
  }
})
