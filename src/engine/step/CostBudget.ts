import { Effect } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { Outcome } from "../../domain/run/Run.ts"
import { countedCost, describeUse } from "../../domain/webhook/Budget.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { LaneStore } from "../../repo/run/LaneStore.ts"
import type { OutRun } from "../../repo/run/RunStore.ts"
import { Settings } from "../Settings.ts"

/** The end of a run that its webhook's `max_cost_per_day` does not allow any more. */
type OverBudget = (run: OutRun) => Effect.Effect<Outcome | undefined, Unavailable>

/**
 * Checks the budget of cost again when a run is about to be sent: it was accepted while the costs of the runs before were not
 * known yet. They are now, since those have ended.
 */
export const make: Effect.Effect<OverBudget, never, HistoryStore | LaneStore | Settings> = Effect.gen(function* () {
  const history = yield* HistoryStore
  const lanes = yield* LaneStore
  const { unknownCost } = yield* Settings

  const outcomeOf = Effect.fnUntraced(function* ({ accepted_at, webhook }: OutRun) {
    const limit = webhook?.max_cost_per_day
    if (webhook === undefined || limit === undefined) return undefined
    const use = yield* history.dayUse(webhook.id, accepted_at)
    const waiting = unknownCost === 0 ? 0 : ((yield* lanes.queued(0, [webhook.id])).webhooks.get(webhook.id) ?? 0)
    // Neither those that wait nor this one have cost anything.
    const used = countedCost({ ...use, runs: use.runs - waiting - 1 }, unknownCost)
    const message = describeUse({ of: "cost", limit, used })
    const outcome: Outcome = { status: "error", error: { code: "budget_exceeded", message } }
    return used < limit ? undefined : outcome
  })

  return (run) => (run.webhook?.max_cost_per_day === undefined ? Effect.succeed(undefined) : outcomeOf(run))
})
