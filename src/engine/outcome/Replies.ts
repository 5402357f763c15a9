import { DateTime, Effect, Layer } from "effect"
import { Bus, type Reply } from "../../bus/Bus.ts"
import type { RunId } from "../../domain/Id.ts"
import type { AgentReport } from "../../domain/run/AgentReport.ts"
import type { Outcome } from "../../domain/run/Run.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { RunStore } from "../../repo/run/RunStore.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import { Checkpoints } from "../Checkpoints.ts"
import { ProgressReports } from "../progress/ProgressReports.ts"
import { Settings } from "../Settings.ts"
import { Correlation } from "./Correlation.ts"
import { Outcomes } from "./Outcomes.ts"

/** How many answered runs are remembered. Leaders repeat answers soon, and each unknown repeat costs a statement. */
const maxAnswered = 10_000

/**
 * The replies of all runs in flight can be recorded together. A frozen server withholds no more than the maximum from the
 * others. The minimum leaves room for replies that are not answers.
 */
const fewestAtOnce = 20
const mostAtOnce = 100

/**
 * The reply path: replies are recorded, then watchers are notified. The bus acknowledges replies only after this, so an
 * answer that was confirmed to the leader is never lost. Repeats are harmless, since the first end wins. Every replica runs
 * it; one that cannot record leaves the replies to the others.
 */
export const layer: Layer.Layer<
  never,
  never,
  Bus | ChangeFeed | Correlation | Outcomes | ProgressReports | RunStore | Settings
> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const bus = yield* Bus
    const correlation = yield* Correlation
    const outcomes = yield* Outcomes
    const database = yield* ChangeFeed
    const runs = yield* RunStore
    const reports = yield* ProgressReports
    const { maxConcurrent } = yield* Settings
    const reach = yield* Checkpoints
    const clock = yield* Effect.clock

    /** The last runs that were answered, in time or late. No other reply changes them. */
    const answered = new RecentMap<RunId, true>(maxAnswered)

    const handle = (replies: ReadonlyArray<Reply>) => {
      const ends = replies.flatMap((reply) => {
        const outcome = outcomeOf(reply)
        return outcome === undefined ? [] : [{ run_id: reply.run_id, outcome }]
      })
      const started_at = DateTime.unsafeMake(clock.unsafeCurrentTimeMillis())
      for (const { _tag, run_id } of replies) if (_tag === "Started") outcomes.progress(run_id, { started_at })
      if (ends.length === 0) return Effect.void
      return Effect.flatMap(outcomes.endAll(ends), () => {
        for (const { _tag, run_id } of replies) if (_tag === "Answered") answered.set(run_id, true)
        return reach("ended")
      })
    }
    const isOver = (run_id: RunId) => answered.get(run_id) === true
    yield* bus.consume(handle, {
      correlation,
      progress: reports.add,
      answerable: runs.answerable,
      isOver,
      atOnce: Math.min(Math.max(maxConcurrent, fewestAtOnce), mostAtOnce),
      ready: database.ping
    })
  })
)

/** The end that the reply reports, if any. */
const outcomeOf = (reply: Reply): Outcome | undefined => {
  switch (reply._tag) {
    case "Started":
      return undefined
    case "Answered":
      return { status: "success", response: reply.response, ...reportOf(reply) }
    case "Failed":
      return { status: "error", error: { code: "agent_error", message: reply.message }, ...reportOf(reply) }
    case "DeadLettered":
      return deadLettered[reply.reason]
  }
}

const reportOf = ({ report }: { readonly report?: AgentReport }) => (report === undefined ? {} : { report })

const undeliverable = (message: string): Outcome => ({ status: "error", error: { code: "undeliverable", message } })

const deadLettered: { readonly [R in Extract<Reply, { _tag: "DeadLettered" }>["reason"]]: Outcome } = {
  expired: { status: "timeout" },
  rejected: undeliverable("The leader rejected the prompt."),
  delivery_limit: undeliverable(
    "The prompt was delivered too often without being acknowledged; the leader may crash on it."
  )
}
