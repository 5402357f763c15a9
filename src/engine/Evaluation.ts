import { Either } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import { Budget, workLimit } from "../domain/evaluation/Budget.ts"
import { RecentMap } from "../domain/RecentMap.ts"
import { busy, type TooSlow, withinTime } from "./TimeLimit.ts"

/** An evaluation that exceeded its limits rests for that many times as long, so it takes a tenth of the server at most. */
const rest = 9

/** The part of the limits that holds meanwhile. */
const whileResting = 1 / 20

/** How many of them are remembered. */
const capacity = 1_000

/**
 * `TooSlow`: it takes too much time, and would at the next try. `Unavailable`: in a moment it may not. What exceeds its budget
 * says so in its own result.
 */
export type Evaluate<Key> = <A>(key: Key, run: (budget: Budget) => A) => Either.Either<A, TooSlow | Unavailable>

/**
 * Evaluates what a webhook's author and its callers decide together: within a budget of work, and within `milliseconds` of the
 * processor as the last resort.
 *
 * What exceeds a limit rests under its key. Meanwhile small evaluations go on and larger ones have to wait: so nobody can keep
 * the server busy, nor a webhook from taking other requests.
 */
export const make = <Key>(milliseconds: number, now = () => performance.now()): Evaluate<Key> => {
  const restsUntil = new RecentMap<Key, number>(capacity)

  return (key, run) => {
    const begun = now()
    const isResting = begun < (restsUntil.get(key) ?? 0)
    const part = isResting ? whileResting : 1
    const attempt = withinTime(part * milliseconds, () => {
      const budget = new Budget(part * workLimit)
      return { value: run(budget), isOverBudget: budget.isExceeded }
    })
    const isExcessive = Either.match(attempt, {
      onLeft: ({ _tag }) => _tag === "TooSlow",
      onRight: ({ isOverBudget }) => isOverBudget
    })
    if (isExcessive && isResting) return Either.left(busy)
    if (isExcessive) {
      const ended = now()
      restsUntil.set(key, ended + rest * (ended - begun))
    }
    return Either.map(attempt, ({ value }) => value)
  }
}
