import { Effect, Layer } from "effect"
import { Bus } from "../../bus/Bus.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { ProgressReports } from "../progress/ProgressReports.ts"
import { Settings } from "../Settings.ts"
import { Correlation } from "./Correlation.ts"
import { ReplyRecorder } from "./ReplyRecorder.ts"

/**
 * The replies of all runs in flight can be recorded together. A frozen server withholds no more than the maximum from the
 * others. The minimum leaves room for replies that are not answers.
 */
const fewestAtOnce = 20
const mostAtOnce = 100

/**
 * The reply path: replies are recorded, then watchers are notified. The bus acknowledges replies only after this, so an
 * answer that was confirmed to the leader is never lost. Every replica runs it; one that cannot record leaves the replies to
 * the others.
 */
export const layer: Layer.Layer<
  never,
  never,
  Bus | ChangeFeed | Correlation | ProgressReports | ReplyRecorder | Settings
> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const bus = yield* Bus
    const { handle, isOver } = yield* ReplyRecorder
    const correlation = yield* Correlation
    const database = yield* ChangeFeed
    const reports = yield* ProgressReports
    const { maxConcurrent } = yield* Settings
    yield* bus.consume(handle, {
      correlation,
      progress: reports.add,
      isOver,
      atOnce: Math.min(Math.max(maxConcurrent, fewestAtOnce), mostAtOnce),
      ready: database.ping
    })
  })
)
