/**
 * Checks of what ranges and tags take. The library turns that into numbers, names and lists, which may take any time: a list
 * that contains itself 40 times is a text of 2^40 characters, and a range that begins at 2^53 never ends.
 */

import {
  CaseTag,
  CycleTag,
  Expression,
  Filter,
  type FilterImplOptions,
  ForTag,
  type Hash,
  type Liquid,
  TablerowTag,
  type Template,
  Token,
  TokenKind,
  TypeGuards,
  toValue,
  type Value
} from "liquidjs"
import * as Json from "../Json.ts"
import { spendOnText } from "./Budget.ts"
import { budgetOf, spendOnMembers, spendOnOperand } from "./LiquidContext.ts"

type Handler = Extract<FilterImplOptions, (...args: never) => unknown>

/** Longer texts are no numbers. */
const longestNumber = 30

const numberOf = (value: unknown): number => {
  const given = toValue(value)
  if (typeof given === "object" || (typeof given === "string" && given.length > longestNumber)) return 0
  return Math.min(Math.max(Number(given) || 0, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
}

/** Each check is a filter, under a name that no template can write. */
const checks = {
  " number": numberOf,
  " items"(value) {
    spendOnMembers(budgetOf(this.context), toValue(value))
    return value
  },
  " name"(value) {
    spendOnText(budgetOf(this.context), toValue(value))
    return value
  },
  " operand"(value) {
    spendOnOperand(budgetOf(this.context), toValue(value))
    return value
  }
} satisfies { readonly [name: string]: Handler }

export const checkFilters: { readonly [name: string]: Handler } = checks

type Check = keyof typeof checks

/** A token with a check of its value, in the form of a value with a filter. */
class Checked extends Token {
  readonly initial: Expression
  readonly filters: ReadonlyArray<object>
  constructor(token: Token, name: Check) {
    super(TokenKind.FilteredValue, token.input, token.begin, token.end, token.file)
    this.initial = new Expression([token])
    this.filters = [{ kind: TokenKind.Filter, name, args: [] }]
  }
}

/** The types of the library say that these members cannot be written. */
type Members = Record<string, any>

const check = (parent: Members, name: string, by: Check): void => {
  if (parent[name] !== undefined) parent[name] = new Checked(parent[name], by)
}

/** Members that belong to others, or were checked before. */
const apart = new Set(["token", "tokenizer", "liquid", "templates", "elseTemplates"])

const checkRanges = (parent: Members): void => {
  for (const [name, part] of Object.entries(parent)) {
    if (apart.has(name) || typeof part !== "object" || part === null) continue
    checkRanges(part)
    // As it is written: the library would round it.
    if (TypeGuards.isNumberToken(part)) (part as Members).content = Json.numberOf(part.getText())
    if (TypeGuards.isRangeToken(part)) {
      check(part, "lhs", " number")
      check(part, "rhs", " number")
    }
  }
}

const checkNumbers = ({ hash }: Hash): void => {
  for (const name of Object.keys(hash)) check(hash, name, " number")
}

const checkValue = (value: Value, by: Check, liquid: Liquid): void => {
  value.filters.push(new Filter({ name: by, args: [] } as never, checks[by], liquid))
}

/** Adds the checks to a part of a template; the parts within it have theirs. */
export const checkTokens = (part: Template, liquid: Liquid): void => {
  checkRanges(part)
  if (part instanceof ForTag) {
    check(part, "collection", " items")
    checkNumbers(part.hash)
  } else if (part instanceof TablerowTag) {
    check(part, "collection", " items")
    checkNumbers(part.args)
  } else if (part instanceof CycleTag) check(part, "group", " name")
  else if (part instanceof CaseTag) {
    checkValue(part.value, " operand", liquid)
    for (const { values } of part.branches) {
      for (const at of values.keys()) check(values, `${at}`, " operand")
    }
  }
}
