import { Context, DateTime, Effect, Layer } from "effect"
import { ApprovalOver, InvalidParameter, type NotFound, type Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { RunStore } from "../../repo/run/RunStore.ts"
import { Outcomes } from "../outcome/Outcomes.ts"
import { Steps } from "../step/Steps.ts"

export type Decision = "approve" | "deny"

/** A person may take longer than any caller waits. */
export const waitRefused = new InvalidParameter({
  name: "wait",
  detail: "is refused: a person must approve each run of the webhook (`approval`), so callers cannot wait for an answer"
})

/** Until when a run waits for its approval that takes its place in the lane at this time, or would. */
export const approvalUntil = (placed_at: DateTime.Utc): DateTime.Utc => DateTime.add(placed_at, { days: 7 })

/** Approves and denies runs of webhooks with `approval: required`. The row is the decision: it survives any crash. */
export class Approvals extends Context.Tag("webhook-trigger/Approvals")<
  Approvals,
  {
    /**
     * An approved run takes its place in its team's lane now; a denied one is cancelled. `by`: for people. `ApprovalOver`: it does
     * not wait for approval, or somebody was first.
     */
    readonly decide: (
      id: RunId,
      decision: Decision,
      by: string
    ) => Effect.Effect<Run, ApprovalOver | NotFound | Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<Approvals, never, HistoryStore | Outcomes | RunStore | Steps> = Layer.effect(
    Approvals,
    Effect.gen(function* () {
      const history = yield* HistoryStore
      const outcomes = yield* Outcomes
      const runs = yield* RunStore
      const steps = yield* Steps
      return Approvals.of({
        decide: Effect.fn("Approvals.decide")(function* (run_id, decision, by) {
          const team = yield* runs.decide(run_id, { approves: decision === "approve", at: yield* DateTime.now, by })
          // If this fails, the next tick admits it.
          if (team !== undefined && decision === "approve") yield* Effect.ignore(steps.admit([team]))
          const run = yield* history.run(run_id)
          if (team !== undefined) {
            if (decision === "deny") outcomes.recorded(run)
            return run
          }
          const { cancelled_by, decided_by, status } = run
          return yield* new ApprovalOver({ run_id, status, isDenied: cancelled_by === "denied", decided_by })
        })
      })
    })
  )
}
