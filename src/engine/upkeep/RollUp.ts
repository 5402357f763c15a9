import { DateTime, Duration, Effect, Layer, Schedule } from "effect"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"

const interval = Duration.seconds(5)

/** The pause between two portions, so that triggers are not delayed. */
const rest = Duration.millis(50)

const rollUp = Effect.gen(function* () {
  const history = yield* HistoryStore
  while (yield* history.rollUp(yield* DateTime.now)) yield* Effect.sleep(rest)
}).pipe(
  // The next round does what this one could not.
  Effect.ignoreLogged
)

/** Keeps the statistics fast. Every replica does it, one at a time. */
export const layer: Layer.Layer<never, never, HistoryStore> = Layer.scopedDiscard(
  Effect.forkScoped(Effect.repeat(rollUp, Schedule.spaced(interval)))
)
