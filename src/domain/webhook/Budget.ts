import { DateTime, Duration } from "effect"
import { BudgetExceeded } from "../Errors.ts"

/** A webhook's budget per day, in UTC. Absent: no limit of this kind. */
export interface Budget {
  /** How many runs its requests may start. */
  readonly runs?: number
  /** Maximum cost of its runs, in US dollars. */
  readonly cost_usd?: number
  /** The assumed cost of a run whose cost is unknown, or not known yet, in US dollars. */
  readonly unknown_cost_usd: number
}

/** A webhook's use on a day: the runs that count, and the cost that `priced_runs` runs have reported. */
export interface DayUse {
  readonly runs: number
  readonly priced_runs: number
  readonly cost_usd: number
}

/** The cost that counts, as in `repo/migrations/0001_step_accepts.ts`. */
export const countedCost = ({ cost_usd, priced_runs, runs }: DayUse, unknown_cost_usd: number): number =>
  cost_usd + Math.max(0, runs - priced_runs) * unknown_cost_usd

/** The day of a budget: it begins at midnight, in UTC. */
const budgetDay = (at: DateTime.Utc): DateTime.Utc => DateTime.startOf(at, "day")

/** When a budget that is used up is whole again. */
export const budgetResetsAt = (at: DateTime.Utc): DateTime.Utc => DateTime.add(budgetDay(at), { days: 1 })

/** A run of this moment does not fit in its day's budget. `used`: at least the limit. */
export const budgetExceeded = (
  of: BudgetExceeded["of"],
  { limit, used }: Pick<BudgetExceeded, "limit" | "used">,
  at: DateTime.Utc
): BudgetExceeded => {
  const resets_at = budgetResetsAt(at)
  return new BudgetExceeded({
    ...{ of, limit, used: Math.max(limit, used), resets_at },
    retry_after_ms: Duration.toMillis(DateTime.distance(at, resets_at))
  })
}

/** Why no run fits any more. */
export const describeUse = ({ limit, of, used }: Pick<BudgetExceeded, "of" | "limit" | "used">): string =>
  of === "runs"
    ? `This webhook has started ${used} runs today, and its \`max_runs_per_day\` is ${limit}.`
    : `This webhook has used $${Number(used.toFixed(6))} today, and its \`max_cost_per_day\` is $${limit}.`
