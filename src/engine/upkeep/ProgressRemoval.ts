import { DateTime, Duration, Effect, Layer, Schedule } from "effect"
import { ProgressStore } from "../../repo/run/ProgressStore.ts"

/** For watchers that reconnect, and for servers with different clocks. */
const keptAfterEnd = Duration.minutes(1)
const interval = Duration.seconds(30)

const remove = Effect.gen(function* () {
  const store = yield* ProgressStore
  yield* store.removeProgress(DateTime.subtractDuration(yield* DateTime.now, keptAfterEnd))
}).pipe(
  // The next round removes what this one could not.
  Effect.ignoreLogged
)

/** Removes the progress of runs that have ended. Every replica does it. */
export const layer: Layer.Layer<never, never, ProgressStore> = Layer.scopedDiscard(
  Effect.forkScoped(Effect.repeat(remove, Schedule.spaced(interval)))
)
