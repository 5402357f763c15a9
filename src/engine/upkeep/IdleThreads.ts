import { DateTime, type Duration, Effect, Layer, Option, Schedule } from "effect"
import { ThreadStore } from "../../repo/run/ThreadStore.ts"
import { Settings } from "../Settings.ts"

const pause = Schedule.spaced("1 minute")

/** Ends threads that had no runs for `threadIdle`. Every replica may do it. */
export const layer: Layer.Layer<never, never, Settings | ThreadStore> = Layer.scopedDiscard(
  Effect.flatMap(Settings, ({ threadIdle }) =>
    Option.match(threadIdle, {
      onNone: () => Effect.void,
      onSome: (idle) => Effect.asVoid(Effect.forkScoped(Effect.repeat(endIdle(idle), pause)))
    })
  )
)

const endIdle = (idle: Duration.Duration) =>
  Effect.gen(function* () {
    const store = yield* ThreadStore
    const now = yield* DateTime.now
    const before = DateTime.subtractDuration(now, idle)
    while ((yield* store.endIdleThreads(before, now)) > 0) yield* Effect.yieldNow()
  }).pipe(
    // The next round ends what this one could not.
    Effect.ignoreLogged
  )
