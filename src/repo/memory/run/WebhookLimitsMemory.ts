import { DateTime } from "effect"
import { type BudgetExceeded, RateLimited } from "../../../domain/Errors.ts"
import type { WebhookId } from "../../../domain/Id.ts"
import { type Budget, budgetDay, budgetExceeded, countedCost, type DayUse } from "../../../domain/webhook/Budget.ts"
import { parseRate, type Rate } from "../../../domain/webhook/Rate.ts"
import type { NewRun } from "../../run/RunStore.ts"
import type { Tables } from "../Tables.ts"

type Limited = NonNullable<NewRun["webhook"]>

/** A webhook's rate and its budget of the day (`RunStore.accept`). */
export const makeWebhookLimits = ({ days, taken, where }: Tables) => {
  /** How many are taken from the rate with one more; above `rate.runs` if that does not fit. */
  const takenWithOneMore = (id: WebhookId, rate: Rate, now: number): number => {
    const { runs, at } = taken.get(id) ?? { runs: 0, at: now }
    const filled = ((now - at) / 1000 / rate.seconds) * rate.runs
    return Math.min(rate.runs, Math.max(0, runs - filled)) + 1
  }

  /** The day that a run of this moment counts for, and how many it has. */
  const dayOf = (id: WebhookId, at: DateTime.Utc) => {
    const begin = budgetDay(at).epochMillis
    const known = days.get(id)
    return known !== undefined && known.begin >= begin ? known : { begin, runs: 0 }
  }

  const dayUse = (id: WebhookId, at: DateTime.Utc): DayUse => {
    const { begin, runs } = dayOf(id, at)
    const costs = where((row) => row.webhook_id === id && budgetDay(row.accepted_at).epochMillis === begin).flatMap(
      ({ row }) => row.report?.usage?.cost_usd ?? []
    )
    return { runs, priced_runs: costs.length, cost_usd: costs.reduce((sum, cost) => sum + cost, 0) }
  }

  const overBudget = (id: WebhookId, budget: Budget, at: DateTime.Utc): BudgetExceeded | undefined => {
    const { cost_usd, runs, unknown_cost_usd } = budget
    const used = dayUse(id, at)
    if (runs !== undefined && used.runs >= runs) return budgetExceeded("runs", { limit: runs, used: used.runs }, at)
    const cost = countedCost(used, unknown_cost_usd)
    return cost_usd !== undefined && cost >= cost_usd
      ? budgetExceeded("cost", { limit: cost_usd, used: cost }, at)
      : undefined
  }

  const overRate = ({ id, rate: text }: Limited, now: number): RateLimited | undefined => {
    if (text === undefined) return undefined
    const rate = parseRate(text)
    const used = takenWithOneMore(id, rate, now)
    if (used <= rate.runs) return undefined
    return new RateLimited({ rate: text, retry_after_ms: ((used - rate.runs) * rate.seconds * 1000) / rate.runs })
  }

  return {
    /** `HistoryStore.dayUse`. */
    dayUse,
    /** Why the webhook does not accept one more run. */
    refusal: (webhook: Limited, at: DateTime.Utc, now: number): BudgetExceeded | RateLimited | undefined =>
      (webhook.budget && overBudget(webhook.id, webhook.budget, at)) ?? overRate(webhook, now),
    /** It has accepted one more. */
    take: ({ budget, id, rate }: Limited, at: DateTime.Utc, now: number): void => {
      if (rate !== undefined) taken.set(id, { runs: takenWithOneMore(id, parseRate(rate), now), at: now })
      if (rate === undefined && budget === undefined) return
      const { begin, runs } = dayOf(id, at)
      days.set(id, { begin, runs: runs + 1 })
    }
  }
}
