import { Clock, Effect, Layer } from "effect"
import { Bus, type Report } from "../bus/Bus.ts"
import type { RunId } from "../domain/Id.ts"
import type { Outcome } from "../domain/Run.ts"
import { Repo } from "../repo/Repo.ts"
import { Outcomes } from "./Outcomes.ts"
import { reach } from "./RacePoint.ts"

/**
 * The reply path: what leaders and the broker report about runs is recorded, then whoever waits is woken. The bus takes
 * a report for done only after this, so an answer that was confirmed to the leader is never lost; repeats are harmless,
 * since the first end wins. Every replica runs it.
 */
export const layer: Layer.Layer<never, never, Bus | Outcomes | Repo> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const bus = yield* Bus
    const outcomes = yield* Outcomes
    const repo = yield* Repo

    const end = (id: RunId, outcome: Outcome) => Effect.zipRight(outcomes.end(id, outcome), reach("ended"))

    yield* bus.consume((report) => {
      switch (report._tag) {
        case "Started":
          return Effect.flatMap(Clock.currentTimeMillis, (now) => repo.started(report.run_id, new Date(now)))
        default:
          return end(report.run_id, outcomeOf(report))
      }
    })
  })
)

const outcomeOf = (report: Exclude<Report, { readonly _tag: "Started" }>): Outcome => {
  switch (report._tag) {
    case "Answered":
      return { status: "success", response: report.response }
    case "Failed":
      return { status: "error", error: { code: "agent_error", message: report.message } }
    case "Dead":
      return report.reason === "expired"
        ? { status: "timeout" }
        : { status: "error", error: { code: "undeliverable", message: undeliverable[report.reason] } }
  }
}

const undeliverable = {
  rejected: "The leader rejected the prompt.",
  delivery_limit: "The prompt was delivered too often without being acknowledged; the leader may crash on it."
}
