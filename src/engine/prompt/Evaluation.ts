import { Either } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import { Budget, workLimit } from "../../domain/evaluation/Budget.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import { busy, type TooSlow, withinTime } from "./TimeLimit.ts"

/**
 * An evaluation that exceeded its limits rests for this many times its duration, so it takes a tenth of the server at most.
 */
const rest = 9

/** The fraction of the limits that applies while it rests. */
const whileResting = 1 / 20

/** How many resting evaluations are remembered. */
const capacity = 1_000

/**
 * `TooSlow`: it takes too much time, and would again at the next try. `Unavailable`: it may succeed in a moment. An
 * evaluation that exceeds its budget says so in its own result.
 */
export type Evaluate<Key> = <A>(key: Key, run: (budget: Budget) => A) => Either.Either<A, TooSlow | Unavailable>

/**
 * Evaluates a webhook author's code on callers' input, within a budget of work and, as a last resort, within
 * `milliseconds` of CPU time.
 *
 * An evaluation that exceeds a limit makes its key rest. During that time, small evaluations under this key continue,
 * and larger ones must wait. So nobody can keep the server busy, or keep a webhook from accepting other requests.
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
