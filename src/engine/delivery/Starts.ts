import { DateTime, Duration, Effect, Layer, Schedule } from "effect"
import { DeliveryStore } from "../../repo/delivery/DeliveryStore.ts"
import { CurrentLanes } from "../dispatch/CurrentLanes.ts"

const pollInterval = Duration.seconds(1)
/** How long not to look for destinations that want starts, after none was found. */
const skipFor = Duration.seconds(5)

/**
 * Writes the deliveries of runs that were sent to their leader, for destinations with `run.started`. It reads the rows, so
 * sending does no work for it. The server that sends the prompts does it. Two at once do no harm.
 */
export const layer: Layer.Layer<never, never, CurrentLanes | DeliveryStore> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const lanes = yield* CurrentLanes
    const store = yield* DeliveryStore
    let skipUntil = Number.NEGATIVE_INFINITY

    const deliver = Effect.gen(function* () {
      const now = yield* DateTime.now
      const at = DateTime.toEpochMillis(now)
      if (lanes.get() === undefined || at < skipUntil) return
      if (yield* store.anyWantsStarts) yield* store.deliverStarts(now)
      else skipUntil = at + Duration.toMillis(skipFor)
    }).pipe(Effect.ignoreLogged, Effect.withSpan("Starts"))
    yield* Effect.forkScoped(Effect.repeat(deliver, Schedule.spaced(pollInterval)))
  })
)
