import { Effect } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { Outcome } from "../../domain/run/Run.ts"
import { countedCost, describeUse } from "../../domain/webhook/Budget.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { type LaneRun, LaneStore } from "../../repo/run/LaneStore.ts"
import { Settings } from "../Settings.ts"

/** The ends of those runs that their webhook's `max_cost_per_day` does not allow any more. */
export type Refused = (runs: ReadonlyArray<LaneRun>) => Effect.Effect<ReadonlyMap<LaneRun, Outcome>, Unavailable>

/**
 * Checks budgets of cost again when runs are about to be sent: they were accepted while the costs of the runs before
 * were not known yet.
 */
export const make: Effect.Effect<Refused, never, HistoryStore | LaneStore | Settings> = Effect.gen(function* () {
  const history = yield* HistoryStore
  const lanes = yield* LaneStore
  const { unknownCost } = yield* Settings

  const outcomeOf = Effect.fnUntraced(function* ({ accepted_at, webhook }: LaneRun) {
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

  return (runs) =>
    Effect.map(
      Effect.forEach(runs, (run) => Effect.map(outcomeOf(run), (outcome) => [run, outcome] as const)),
      (all) => new Map(all.flatMap(([run, outcome]) => (outcome === undefined ? [] : [[run, outcome] as const])))
    )
})
