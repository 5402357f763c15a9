/** The context that a template is rendered in, with its budget instead of the library's limits on memory and time. */

import { Predicate } from "effect"
import { Context, defaultOperators, type Liquid, toValue } from "liquidjs"
import { isNumber } from "../Json.ts"
import { type Budget, itemWork, membersWork, spendOnText } from "./Budget.ts"
import * as Text from "./Text.ts"

/** Each part of a template, and each filter, takes about a quarter of a microsecond. */
export const stepWork = 30

/** Comparing texts reads about 16 characters at a time. */
const comparedAtOnce = 16

type Limiter = Context["memoryLimit"]

class Limit {
  readonly budget: Budget
  constructor(budget: Budget) {
    this.budget = budget
  }
  /**
   * The library calls this for the results of its filters, which are already counted, and for ranges and widths, which are
   * not.
   */
  use(count: number): void {
    if (Number(count) > 0) this.budget.spend(Number(count))
  }
  /** The library calls this for the time, before each part of a template. */
  check(): void {
    this.budget.spend(stepWork)
  }
}

type Path = Parameters<Context["_get"]>[0]

class BoundedContext extends Context {
  override _get(path: Path): IterableIterator<unknown> {
    return super._get(this.names(path))
  }

  override _getFromScope(scope: unknown, path: Path | string, strict?: boolean): IterableIterator<unknown> {
    return super._getFromScope(scope, typeof path === "string" ? path : this.names(path), strict)
  }

  /** A list or object names no member: the library would turn it into a text, which may take any time. */
  private names(path: Path): Path {
    return path.map((given) => {
      const name = toValue(given)
      if (typeof name === "string") this.memoryLimit.use(name.length)
      return typeof name === "object" ? "" : given
    })
  }

  override readProperty(object: any, name: any): unknown {
    if (isNumber(object)) return undefined
    if (name === "size" && Predicate.isObject(object)) this.memoryLimit.use(membersWork(object))
    return super.readProperty(object, name)
  }

  override spawn(values: object = {}): Context {
    const { opts, sync, strictVariables } = this
    return new BoundedContext(values, opts, { sync, strictVariables }, this)
  }
}

export const contextOf = (
  values: object,
  liquid: Liquid,
  { budget, strictVariables }: { readonly budget: Budget; readonly strictVariables: boolean }
): Context => {
  const limit = new Limit(budget) as unknown as Limiter
  const limits = { memoryLimit: limit, renderLimit: limit, liquid }
  // A copy, as `increment` and `decrement` write into it.
  return new BoundedContext({ ...values }, liquid.options, { sync: true, strictVariables }, limits)
}

export const budgetOf = ({ memoryLimit }: Context): Budget => (memoryLimit as unknown as Limit).budget

export const spendOnOperand = (budget: Budget, value: unknown): void => {
  if (typeof value === "string") budget.spend(value.length / comparedAtOnce)
  else if (Array.isArray(value)) budget.spend(stepWork * value.length + spendOnText(budget, value))
  else spendOnMembers(budget, value)
}

/** Spends the work for listing a value's items or members. */
export const spendOnMembers = (budget: Budget, value: unknown): void => {
  if (Array.isArray(value)) budget.spend(itemWork * value.length)
  else if (Predicate.isObject(value)) budget.spend(membersWork(value))
}

type Operator = (left: any, right: any, context: Context) => any

const comparing = (own: Operator): Operator =>
  function* (left, right, context): Generator<unknown, unknown, unknown> {
    const budget = budgetOf(context)
    spendOnOperand(budget, left)
    spendOnOperand(budget, right)
    return yield own(left, right, context)
  }

const contains = comparing(defaultOperators.contains as Operator)

/** Operators that compare count what they read. */
export const boundedOperators = {
  ...defaultOperators,
  ...Object.fromEntries(
    ["==", "!=", "<", ">", "<=", ">="].map((name) => [name, comparing(defaultOperators[name] as Operator)])
  ),
  contains: ((left, right, context) =>
    typeof left === "string" && typeof right === "string"
      ? Text.indexOf(budgetOf(context), left, right) >= 0
      : contains(left, right, context)) as Operator
}
