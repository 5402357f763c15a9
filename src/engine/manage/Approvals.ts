import { Context, DateTime, Effect, Layer } from "effect"
import { ApprovalOver, Forbidden, InvalidParameter, type NotFound, type Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import { type Actor, type Decision, refusalOf } from "../../domain/webhook/Approvers.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import { RunStore } from "../../repo/run/RunStore.ts"
import { Outcomes } from "../outcome/Outcomes.ts"
import { Steps } from "../step/Steps.ts"

/** A person may take longer than any caller waits. */
export const waitRefused = new InvalidParameter({
  name: "wait",
  detail: "is refused: a person must approve each run of the webhook (`approval`), so callers cannot wait for an answer"
})

/**
 * Lets go of held runs: approves and denies those of webhooks with `approval: required`, and starts others early. The row is the
 * decision: it survives any crash.
 */
export class Approvals extends Context.Service<
  Approvals,
  {
    /**
     * An approved run takes its place in its team's lane now, and replaces others (`singleton`); a denied one is cancelled.
     * `Forbidden`: by the webhook's `approvers`. `ApprovalOver`: the run does not wait for approval, or no longer, or somebody was first.
     */
    readonly decide: (
      id: RunId,
      decision: Decision,
      by: Actor
    ) => Effect.Effect<Run, ApprovalOver | Forbidden | NotFound | Unavailable>
    /** A run that waits for its time or its window starts within a second. Changes nothing for another run. */
    readonly startEarly: (id: RunId) => Effect.Effect<Run, NotFound | Unavailable>
    /** Why `decide` would be `Forbidden`; `undefined`: it would not. */
    readonly refusal: (run: Run, by: Actor) => Effect.Effect<string | undefined, NotFound | Unavailable>
  }
>()("webhook-trigger/Approvals") {
  static readonly layer: Layer.Layer<Approvals, never, HistoryStore | Outcomes | RunStore | Steps | WebhookStore> =
    Layer.effect(
      Approvals,
      Effect.gen(function* () {
        const history = yield* HistoryStore
        const outcomes = yield* Outcomes
        const runs = yield* RunStore
        const steps = yield* Steps
        const { webhookRow } = yield* WebhookStore
        const refusal = Effect.fn("Approvals.refusal")(function* (run: Run, by: Actor) {
          return refusalOf(run.webhook_id === undefined ? {} : yield* webhookRow(run.webhook_id), by, run)
        })
        return Approvals.of({
          refusal,
          startEarly: Effect.fn("Approvals.startEarly")(function* (run_id) {
            yield* runs.endHold(run_id, yield* DateTime.now)
            return yield* history.run(run_id)
          }),
          decide: Effect.fn("Approvals.decide")(function* (run_id, decision, by) {
            const detail = yield* refusal(yield* history.run(run_id), by)
            if (detail !== undefined) return yield* new Forbidden({ detail })
            const at = yield* DateTime.now
            const isDecided = yield* steps.decide(run_id, { approves: decision === "approve", at, by: by.name })
            // The tick has not come to it yet.
            if (!isDecided) for (const run of yield* runs.expireApprovals(at)) outcomes.recorded(run)
            const run = yield* history.run(run_id)
            if (isDecided) {
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
