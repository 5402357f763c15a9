/** Begins and ends alerts. Every server tries to; the rows let one of them measure at a time. */
import { DateTime, Duration, Effect, Layer, Schedule } from "effect"
import type { Bus } from "../../bus/Bus.ts"
import { quietTime } from "../../repo/alert/AlertChanges.ts"
import { AlertStore } from "../../repo/alert/AlertStore.ts"
import type { DestinationStore } from "../../repo/delivery/DestinationStore.ts"
import type { HistoryStore } from "../../repo/history/HistoryStore.ts"
import type { TeamStore } from "../../repo/manage/TeamStore.ts"
import type { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import type { Settings } from "../Settings.ts"
import * as Measures from "./Measures.ts"

/** How often rules are measured. */
const interval = Duration.seconds(15)
/** Each server tries more often, so that another one follows soon if one stops. */
const tries = Duration.seconds(5)
/** How long alerts are kept that are over. */
const keptFor = Duration.days(30)

export const layer: Layer.Layer<
  never,
  never,
  AlertStore | Bus | DestinationStore | HistoryStore | Settings | TeamStore | WebhookStore
> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const store = yield* AlertStore
    const measure = yield* Measures.make

    const evaluate = Effect.gen(function* () {
      const rules = (yield* store.rules).filter(({ enabled }) => enabled)
      if (rules.length === 0) return
      const now = yield* DateTime.now
      if (!(yield* store.beginMeasuring(now, interval))) return
      const measured = yield* measure(rules, now)
      yield* store.recordMeasurement({ ...measured, now, quiet: quietTime }, DateTime.subtractDuration(now, keptFor))
    }).pipe(
      // The next round does what this one could not.
      Effect.ignoreLogged,
      Effect.withSpan("AlertEvaluation.evaluate")
    )
    yield* Effect.forkScoped(Effect.repeat(evaluate, Schedule.spaced(tries)))
  })
)
