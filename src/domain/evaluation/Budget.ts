/**
 * A limit on the work of one evaluation of a filter or a template. Work is counted, not timed, so the same input gets the
 * same answer on a busy machine. It is counted before it is done: a single native call, such as padding a text to 200
 * million characters, cannot be stopped.
 */

/**
 * The work that an evaluation may do. Reading or creating a character costs one; other work costs in proportion to its
 * time.
 */
const workLimit = 10_000_000

/** The work for one item of a list. */
export const itemWork = 8

/** The work for one member of an object: V8 lists the names of a large one in a quarter of a microsecond each. */
const memberWork = 3 * itemWork

/** The work for listing an object's members. */
export const membersWork = (object: object): number => memberWork * Object.keys(object).length

/** The evaluation needed more than its budget allows. */
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

  /** Fails with `OverBudget` when less than this is left. */
  spend(work: number): void {
    if (work <= this.#left) {
      this.#left -= work
      return
    }
    this.#isExceeded = true
    throw new OverBudget()
  }
}

/** Spends the work for turning a value into text: all its texts and items, at any depth. Returns the work. */
export const spendOnText = (budget: Budget, value: unknown, indent = 0, depth = 0): number => {
  if (typeof value === "string") {
    budget.spend(value.length)
    return value.length
  }
  if (typeof value !== "object" || value === null) return 1
  const isList = Array.isArray(value)
  const items: ReadonlyArray<unknown> = isList ? value : Object.entries(value).flat()
  let work = isList ? itemWork * items.length : membersWork(value)
  work += indent * depth * items.length
  budget.spend(work)
  for (const item of items) work += spendOnText(budget, item, indent, depth + 1)
  return work
}

/**
 * Spends the work for sorting by these keys. Each comparison reads `weight` times their characters. One long key may
 * take part in far more comparisons than the others: some tens in each merge step.
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
