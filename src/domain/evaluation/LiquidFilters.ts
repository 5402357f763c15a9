/** The filters of Liquid within a budget: each counts its work before it begins. */

import { type FilterImplOptions, filters, toValue } from "liquidjs"
import * as Json from "../Json.ts"
import { adf_to_text } from "./AtlassianDocument.ts"
import { type Budget, itemWork, spendOnSort, spendOnText } from "./Budget.ts"
import { budgetOf, spendOnMembers, spendOnOperand, stepWork } from "./LiquidContext.ts"
import * as Dates from "./LiquidDates.ts"
import * as Text from "./Text.ts"

type Arguments = ReadonlyArray<any>

/** Spends the cost of a call before it runs. */
type Cost = (budget: Budget, args: Arguments) => void

const none: Cost = () => {}

const listOf = (value: unknown): ReadonlyArray<any> => {
  const list = toValue(value)
  return Array.isArray(list) ? list : typeof list === "object" && list !== null ? Object.values(list) : [list]
}

/** For filters that turn their arguments into text, and read or make that much a few times. */
const text =
  (times: number): Cost =>
  (budget, args) => {
    for (const arg of args) budget.spend((times - 1) * spendOnText(budget, arg))
  }

/** For filters that copy lists. */
const lists: Cost = (budget, args) => {
  for (const arg of args) spendOnMembers(budget, toValue(arg))
}

/** For filters that read a property of each item. */
const each: Cost = (budget, [list, ...args]) => {
  let work = stepWork
  for (const arg of args) work += stepWork * spendOnText(budget, arg)
  budget.spend((1 + listOf(list).length) * work)
}

/**
 * For filters that parse an argument: a property's path, or an expression, which counts its own work for each item. A range in
 * it would not be checked (`LiquidTokens.ts`).
 */
const parsing =
  (at: number): Cost =>
  (budget, args) => {
    each(budget, args)
    if (textOf(args[at]).includes("..")) throw new Error("a range is not possible here")
  }

const path = parsing(1)
const expression = parsing(2)

const property = (item: unknown, path: unknown): unknown =>
  String(path)
    .split(".")
    .reduce<any>(
      (value, name) => (value !== null && value !== undefined && Object.hasOwn(value, name) ? value[name] : undefined),
      item
    ) ?? item

const keysOf = (list: ReadonlyArray<any>, path: unknown): ReadonlyArray<unknown> =>
  list.map((item) => property(item, path))

/** Equal texts are compared whole. */
const grouped: Cost = (budget, args) => {
  path(budget, args)
  for (const key of keysOf(listOf(args[0]), args[1])) spendOnOperand(budget, key)
}

const uniq: Cost = (budget, args) => {
  lists(budget, args)
  for (const item of listOf(args[0])) if (typeof item === "string") spendOnOperand(budget, item)
}

const sort: Cost = (budget, [value, path]) => {
  const list = listOf(value)
  if (path === undefined) {
    budget.spend(list.length * stepWork)
    spendOnSort(budget, list, 1)
    return
  }
  each(budget, [list, path])
  spendOnSort(budget, keysOf(list, path), 1)
}

/** The library sorts the items or characters by chance, and takes the first. */
const sample: Cost = (budget, [value, count]) => {
  spendOnText(budget, count)
  const given = toValue(value)
  const { length } = Array.isArray(given) ? given : textOf(given)
  budget.spend(itemWork * length * Math.ceil(Math.log2(length + 1)))
}

const json: Cost = (budget, [value, space]) => spendOnText(budget, value, space ? 10 : 0)

/** For texts in which each character may become several. */
const escaped = text(3)

/** The cost of each filter. A filter without a line here is not available. */
const costs: { readonly [name: string]: Cost } = {
  abs: text(1),
  // It counts what it does.
  adf_to_text: none,
  append: text(1),
  array_to_sentence_string: text(2),
  at_least: text(1),
  at_most: text(1),
  base64_decode: text(2),
  base64_encode: text(2),
  capitalize: text(2),
  ceil: text(1),
  cgi_escape: escaped,
  compact: lists,
  concat: lists,
  // These count what they do (`LiquidDates.ts`).
  date: none,
  date_to_long_string: none,
  date_to_rfc822: none,
  date_to_string: none,
  date_to_xmlschema: none,
  default: none,
  divided_by: text(1),
  downcase: text(2),
  escape: escaped,
  escape_once: escaped,
  find: path,
  find_exp: expression,
  find_index: path,
  find_index_exp: expression,
  first: none,
  floor: text(1),
  group_by: grouped,
  group_by_exp: expression,
  has: path,
  has_exp: expression,
  hmac_sha256: text(2),
  inspect: json,
  join: text(2),
  json,
  jsonify: json,
  last: none,
  lstrip: text(2),
  map: each,
  minus: text(1),
  modulo: text(1),
  newline_to_br: escaped,
  normalize_whitespace: text(2),
  number_of_words: text(8),
  plus: text(1),
  pop: lists,
  prepend: text(1),
  push: lists,
  reject: path,
  reject_exp: expression,
  remove: text(1),
  remove_first: text(1),
  remove_last: text(1),
  replace: text(1),
  replace_first: text(1),
  replace_last: text(1),
  reverse: lists,
  round: text(1),
  rstrip: text(2),
  sample,
  sha256: text(2),
  shift: lists,
  size: none,
  slice: text(1),
  slugify: escaped,
  sort,
  sort_natural: sort,
  split: text(1),
  squish: text(2),
  strip: text(2),
  strip_html: text(2),
  strip_newlines: text(2),
  sum: (budget, args) => {
    each(budget, args)
    spendOnText(budget, args[0])
  },
  times: text(1),
  to_integer: text(1),
  truncate: text(2),
  truncatewords: text(8),
  uniq,
  upcase: text(2),
  unshift: lists,
  uri_escape: escaped,
  url_decode: text(2),
  url_encode: escaped,
  where: path,
  where_exp: expression,
  xml_escape: escaped
}

const textOf = (value: unknown): string => {
  const given = toValue(value)
  if (given === undefined || given === null) return ""
  return Array.isArray(given) ? given.map(textOf).join("") : String(given)
}

/** Replacements for library filters whose native search may take time that grows with the product of both lengths. */
const instead: { readonly [name: string]: (budget: Budget, ...texts: ReadonlyArray<string>) => unknown } = {
  remove: (budget, text, part) => Text.join(budget, Text.split(budget, text, part!), ""),
  remove_first: (budget, text, part) => Text.splice(budget, text, Text.indexOf(budget, text, part!), part!.length, ""),
  remove_last: (budget, text, part) =>
    Text.splice(budget, text, Text.lastIndexOf(budget, text, part!), part!.length, ""),
  replace: (budget, text, part, by) => Text.join(budget, Text.split(budget, text, part!), by!),
  replace_first: (budget, text, part, by) =>
    Text.splice(budget, text, Text.indexOf(budget, text, part!), part!.length, by!),
  replace_last: (budget, text, part, by) =>
    Text.splice(budget, text, Text.lastIndexOf(budget, text, part!), part!.length, by!),
  split: (budget, text, part) => {
    const pieces = [...Text.split(budget, text, part!)]
    while (pieces.at(-1) === "") pieces.pop()
    return pieces
  }
}

const bounded = (name: string, own: FilterImplOptions, cost: Cost): FilterImplOptions => {
  const handler = typeof own === "function" ? own : own.handler
  const ours = instead[name]
  return function (this: ThisParameterType<typeof handler>, ...args: Parameters<typeof handler>) {
    const budget = budgetOf(this.context)
    budget.spend(stepWork)
    cost(budget, args)
    return ours === undefined
      ? handler.apply(this, args)
      : ours(budget, textOf(args[0]), textOf(args[1]), textOf(args[2]))
  }
}

const toJson = (value: unknown, space?: number) => Json.stringify(value, space)

const own = { ...filters, ...Dates, adf_to_text, inspect: toJson, json: toJson, jsonify: toJson } as {
  readonly [name: string]: FilterImplOptions
}

/** All filters that a template may use. `raw` is missing, because it passes a value off as template text. */
export const boundedFilters: { readonly [name: string]: FilterImplOptions } = Object.fromEntries(
  Object.entries(costs).map(([name, cost]) => [name, bounded(name, own[name]!, cost)])
)
