import { type DateTime, Duration, Effect, Latch, type Scope } from "effect"
import { Bus } from "../../bus/Bus.ts"
import type { RunId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import { RunStore } from "../../repo/run/RunStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import { pause } from "../../runtime/Pause.ts"

/** The progress of a run that has not ended. */
export interface Progress {
  /** The broker has confirmed the prompt. */
  readonly sent_at?: DateTime.Utc
  /** The leader has reported that it started. */
  readonly started_at?: DateTime.Utc
}

/** Records in groups that runs were sent and started; or not at all, when their end is recorded first. */
interface ProgressRecorder {
  readonly add: (id: RunId, progress: Progress) => void
  /** Removes and returns the progress that is not recorded yet or is being recorded, to be recorded with the run's end. */
  readonly take: (id: RunId) => Progress
}

/** How long progress is collected before it is recorded, in milliseconds. 0 turns the delay off (decision 0004). */
const delay = 50

/** By whichever clock is faster: tests stop Effect's, or let seconds of it pass in less than this. */
const collect = Effect.raceFirst(pause(delay), Effect.sleep(delay))

/** How long a stopping server tries to record the rest. */
const grace = Duration.seconds(5)

export const make: Effect.Effect<ProgressRecorder, never, Bus | RunStore | Scope.Scope> = Effect.gen(function* () {
  const bus = yield* Bus
  const runs = yield* RunStore
  let waiting = new Map<RunId, Progress>()
  let inWrite: ReadonlyMap<RunId, Progress> = new Map()
  const work = Latch.makeUnsafe(false)
  const allRecorded = Latch.makeUnsafe(true)

  /** The prompt of a run that is over reached a leader that came later, or one that does not know of its stop. */
  const stop = Effect.forEach(
    ({ run_id, team }: Pick<Run, "run_id" | "team">) => Effect.ignore(bus.cancel(team, run_id)),
    {
      discard: true
    }
  )

  const write = Effect.suspend(() => {
    const batch = [...waiting]
    inWrite = waiting
    waiting = new Map()
    work.closeUnsafe()
    const sent = batch.flatMap(([run_id, { sent_at }]) => (sent_at ? [{ run_id, at: sent_at }] : []))
    const started = batch.flatMap(([run_id, { started_at }]) => (started_at ? [{ run_id, at: started_at }] : []))
    return Effect.andThen(
      sent.length > 0 ? untilAvailable(runs.sent(sent)) : Effect.void,
      started.length > 0 ? Effect.flatMap(untilAvailable(runs.started(started)), stop) : Effect.void
    )
  }).pipe(
    Effect.andThen(
      Effect.sync(() => {
        inWrite = new Map()
        if (waiting.size === 0) allRecorded.openUnsafe()
      })
    )
  )
  yield* work.await.pipe(Effect.andThen(collect), Effect.andThen(write), Effect.forever, Effect.forkScoped)
  yield* Effect.addFinalizer(() => Effect.timeoutOption(Effect.interruptible(allRecorded.await), grace))

  return {
    add: (id, progress) => {
      waiting.set(id, { ...waiting.get(id), ...progress })
      allRecorded.closeUnsafe()
      work.openUnsafe()
    },
    take: (id) => {
      const progress = { ...inWrite.get(id), ...waiting.get(id) }
      if (waiting.delete(id) && waiting.size === 0 && inWrite.size === 0) allRecorded.openUnsafe()
      return progress
    }
  }
})
