import { DateTime, Duration, Effect } from "effect"
import type { Bus } from "../../bus/Bus.ts"
import type { Unavailable } from "../../domain/Errors.ts"
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
/** How long alerts are kept that are over. */
const keptFor = Duration.days(30)

/** Begins and ends alerts. Servers may try it more often than rules are measured; the rows let one of them measure at a time. */
export const make: Effect.Effect<
  Effect.Effect<void, Unavailable>,
  never,
  AlertStore | Bus | DestinationStore | HistoryStore | Settings | TeamStore | WebhookStore
> = Effect.gen(function* () {
  const store = yield* AlertStore
  const measure = yield* Measures.make

  return Effect.gen(function* () {
    const rules = (yield* store.rules).filter(({ enabled }) => enabled)
    if (rules.length === 0) return
    const now = yield* DateTime.now
    if (!(yield* store.beginMeasuring(now, interval))) return
    const measured = yield* measure(rules, now)
    yield* store.recordMeasurement({ ...measured, now, quiet: quietTime }, DateTime.subtractDuration(now, keptFor))
  })
})
