/** The functions of JMESPath within a budget: each counts its work before it begins. */

import type { BuiltInFunctionNames } from "@jmespath-community/jmespath"
import { Predicate } from "effect"
import * as Json from "../Json.ts"
import { type Budget, itemWork, membersWork, spendOnSort, spendOnText } from "./Budget.ts"
import * as Text from "./Text.ts"

type Arguments = ReadonlyArray<any>
type Evaluate = (expression: any, value: unknown) => unknown

/** An expression as an argument, as the library expects it: with the members of the expression's node. */
export class Reference {
  readonly expref = true
  constructor(node: object) {
    Object.assign(this, node)
  }
}

/** Spends the cost of a call before it runs. Argument types are not checked yet. */
type Cost = (budget: Budget, args: Arguments, evaluate: Evaluate) => void

type Names = BuiltInFunctionNames | "trim" | "trim_left" | "trim_right"

const isText = Predicate.isString

/** For a list, this includes its texts, but nothing deeper. */
const sizeOf = (value: unknown): number => {
  if (isText(value)) return value.length
  if (Array.isArray(value)) {
    return value.reduce<number>((sum, item) => sum + itemWork + (isText(item) ? item.length : 0), itemWork)
  }
  return Predicate.isObject(value) ? membersWork(value) : 1
}

/**
 * For functions that take no longer than a step, and those that evaluate an expression for each item, which counts its own
 * work.
 */
const none: Cost = () => {}

/** For functions that read their arguments a few times. */
const linear =
  (times: number): Cost =>
  (budget, args) => {
    for (const arg of args) budget.spend(times * sizeOf(arg))
  }

/** The library turns texts into lists of numbers before it compares or reverses them. */
const numbersOfText = 2

const pad: Cost = (budget, [text, width]) => budget.spend(Math.max(sizeOf(text), Number(width) || 0))

const asText: Cost = (budget, args) => {
  for (const arg of args) spendOnText(budget, arg)
}

/** The same text may be in a list many times. */
const join: Cost = (budget, [by, list]) =>
  budget.spend(sizeOf(list) + (Array.isArray(list) ? sizeOf(by) * list.length : 0))

const keysOf = ([list, expression]: Arguments, evaluate: Evaluate): ReadonlyArray<unknown> =>
  Array.isArray(list) && expression instanceof Reference ? list.map((item) => evaluate(expression, item)) : []

const compared: Cost = (budget, args, evaluate) => linear(1)(budget, [keysOf(args, evaluate)], evaluate)

export const costs: { readonly [name in Names]: Cost } = {
  abs: none,
  avg: linear(1),
  ceil: none,
  contains: linear(1),
  ends_with: linear(1),
  find_first: none,
  find_last: none,
  floor: none,
  from_items: linear(2),
  group_by: none,
  items: linear(2),
  join,
  keys: linear(1),
  length: linear(1),
  lower: linear(2),
  map: none,
  max: linear(numbersOfText),
  max_by: compared,
  merge: linear(2),
  min: linear(numbersOfText),
  min_by: compared,
  not_null: none,
  pad_left: pad,
  pad_right: pad,
  replace: none,
  reverse: linear(numbersOfText),
  sort: (budget, [list]) => spendOnSort(budget, Array.isArray(list) ? list : [], numbersOfText),
  sort_by: (budget, args, evaluate) => spendOnSort(budget, keysOf(args, evaluate), numbersOfText),
  split: none,
  starts_with: linear(1),
  sum: linear(1),
  to_array: none,
  to_number: linear(1),
  to_string: asText,
  trim: none,
  trim_left: none,
  trim_right: none,
  type: none,
  upper: linear(2),
  values: linear(1),
  zip: linear(2)
}

const whole = (value: unknown, least = Number.NEGATIVE_INFINITY): number => {
  if (Number.isInteger(value) && (value as number) >= least) return value as number
  throw new Error(`invalid-value: expecting ${least === 0 ? "a non-negative" : "an"} integer.`)
}

const find =
  (search: typeof Text.indexOf | typeof Text.lastIndexOf): Instead =>
  (budget, [text, part, start, end]) => {
    if (text === "" || part === "") return null
    const from = Math.max(whole(start || 0), 0)
    const at = search(budget, text.slice(from, Math.min(whole(end || text.length), text.length)), part)
    return at < 0 ? null : at + from
  }

const blank = /[\s\u0085]/

const trim =
  (atStart: boolean, atEnd: boolean): Instead =>
  (budget, [text, given]) => {
    budget.spend(text.length + (given?.length ?? 0))
    const characters = given ? new Set<string>(given) : undefined
    const isTrimmed = (at: number) => (characters === undefined ? blank.test(text[at]) : characters.has(text[at]))
    let from = 0
    let to = text.length
    while (atStart && from < to && isTrimmed(from)) from++
    while (atEnd && to > from && isTrimmed(to - 1)) to--
    return text.slice(from, to)
  }

/** A function that counts while it works; its arguments have the right types. */
type Instead = (budget: Budget, args: Arguments, evaluate: Evaluate) => unknown

/**
 * Replacements for library functions whose result may be far longer than their input, or whose time grows with its square.
 * A replacement that returns `undefined` leaves the call to the library's own function.
 */
export const instead: { readonly [name in Names]?: Instead } = {
  contains: (budget, [text, part]) => {
    if (isText(text) && isText(part)) return Text.indexOf(budget, text, part) >= 0
    if (!Array.isArray(text) || !Json.isNumber(part)) return undefined
    return text.some((item) => Json.isNumber(item) && Json.compare(item, part) === 0)
  },
  to_string: (_, [value]) => (isText(value) ? undefined : Json.stringify(value)),
  find_first: find(Text.indexOf),
  find_last: find(Text.lastIndexOf),
  // The library's own finds `constructor` and `__proto__` among the groups.
  group_by: (_, [list, expression], evaluate) => {
    const groups: Record<string, Array<unknown>> = Object.create(null)
    for (const item of list) {
      const key = evaluate(expression, item)
      if (!isText(key)) throw new Error("Invalid type: group_by() expected a string for each item")
      groups[key] ??= []
      groups[key].push(item)
    }
    return groups
  },
  length: (_, [text]) => {
    if (!isText(text)) return undefined
    let length = 0
    for (const _ of text) length++
    return length
  },
  replace: (budget, [text, part, by, count]) => {
    if (count === 0) return text
    const pieces = Text.split(budget, text, part)
    const places = count ? whole(count, 0) : pieces.length
    if (places >= pieces.length - 1) return Text.join(budget, pieces, by)
    const done = Text.join(budget, pieces.slice(0, places + 1), by)
    return done + part + Text.join(budget, pieces.slice(places + 1), part)
  },
  split: (budget, [text, part, count]) => {
    if (text === "" && part === "") return []
    if (count !== null && count !== undefined && whole(count, 0) === 0) return [text]
    const pieces = Text.split(budget, text, part)
    if (!count || count >= pieces.length) return pieces
    return [...pieces.slice(0, count), Text.join(budget, pieces.slice(count), part)]
  },
  trim: trim(true, true),
  trim_left: trim(true, false),
  trim_right: trim(false, true)
}
