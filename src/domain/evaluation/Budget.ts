/**
 * A bound for the work of one evaluation of a filter or a template. Work is counted and not timed, so the same input gets the
 * same answer on a busy machine. It is counted before it is done: a single call of the language's own, such as padding
 * a text to 200 million characters, cannot be stopped.
 */

/** The work that an evaluation may do: one for each character that is read or made, and as much as takes as long for others. */
export const workLimit = 10_000_000

/** The work of an item of a list or object. */
export const itemWork = 8

/** The evaluation was to do more than its budget allows. */
export class OverBudget extends Error {}

export class Budget {
  #left: number
  #isExceeded = false

  constructor(work = workLimit) {
    this.#left = work
  }

  get isExceeded(): boolean {
    return this.#isExceeded
  }

  /** Fails with `OverBudget` when that is more than what is left. */
  spend(work: number): void {
    if (work <= this.#left) {
      this.#left -= work
      return
    }
    this.#isExceeded = true
    throw new OverBudget()
  }
}

/** Spends on all texts and items in a value, at any depth, as if it were made into text; returns the work. */
export const spendOnText = (budget: Budget, value: unknown, indent = 0, depth = 0): number => {
  if (typeof value === "string") {
    budget.spend(value.length)
    return value.length
  }
  if (typeof value !== "object" || value === null) return 1
  const isList = Array.isArray(value)
  const items: ReadonlyArray<unknown> = isList ? value : Object.entries(value).flat()
  let work = items.length * (itemWork + indent * depth)
  budget.spend(work)
  for (const item of items) work += spendOnText(budget, item, indent, depth + 1)
  return work
}

/**
 * Spends on sorting by these keys, each comparison of which reads `weight` times their characters. One long key may take part
 * in far more comparisons than the others: with each step of a merge in some tens.
 */
export const spendOnSort = (budget: Budget, keys: ReadonlyArray<unknown>, weight: number): void => {
  let all = 0
  let longest = 0
  for (const key of keys) {
    const work = spendOnText(budget, key)
    all += work
    if (work > longest) longest = work
  }
  budget.spend(Math.ceil(Math.log2(keys.length + 1)) * (keys.length * itemWork + weight * (all + 32 * longest)))
}
