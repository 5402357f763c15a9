import { DateTime, Duration, Effect, Layer, Schedule } from "effect"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"

/** More often than charts need: newer ends are counted by each reader. */
const interval = Duration.seconds(15)

/** Longer than any statement takes. Then an end that is not there will not come. */
const settled = Duration.seconds(10)

/** The pause between two portions, so that triggers are not delayed. */
const rest = Duration.millis(50)

const rollUp = Effect.gen(function* () {
  const history = yield* HistoryStore
  while (yield* history.rollUp(yield* DateTime.now, settled)) yield* Effect.sleep(rest)
}).pipe(
  // The next round does what this one could not.
  Effect.ignoreLogged
)

/** Keeps the statistics fast. Every replica does it, one at a time. */
export const layer: Layer.Layer<never, never, HistoryStore> = Layer.scopedDiscard(
  Effect.forkScoped(Effect.repeat(rollUp, Schedule.spaced(interval)))
)
