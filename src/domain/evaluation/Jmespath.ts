/** JMESPath within a budget: the library's interpreter, with each step and the work within it counted. */

import {
  type JSONValue,
  compile as parse,
  TreeInterpreter,
  TYPE_NUMBER,
  TYPE_OBJECT
} from "@jmespath-community/jmespath"
import { Predicate } from "effect"
import * as Json from "../Json.ts"
import { Budget, itemWork, membersWork } from "./Budget.ts"
import { costs, instead, Reference } from "./JmespathFunctions.ts"

/** How the parent node uses a node's value, in one step. */
type Use = "counted" | "flattened" | "calculated"

type Node = ReturnType<typeof parse> & { use?: Use }
type Value = JSONValue

/** A step of an expression takes about 30 ns. */
const stepWork = 4

/** Comparing texts reads about 16 characters at a time. */
const comparedAtOnce = 16

/** The state of the library's interpreter; its types show only a part. */
interface Interpreter {
  readonly runtime: {
    _functionTable: { readonly [name: string]: { _func: (args: Array<any>) => unknown } }
    callFunction: (name: string, args: Array<any>) => unknown
    getTypeName: (value: unknown) => number | undefined
  }
  _scope: { withScope: (scope: object) => Interpreter["_scope"] }
  search(node: Node, value: unknown): unknown
  visit(node: Node, value: unknown): unknown
  withScope(scope: object): Interpreter
}

const Library = TreeInterpreter.constructor as unknown as new () => Interpreter

class BoundedInterpreter extends Library {
  budget = new Budget()
  /** The nesting depth of `let` expressions. */
  lets = 0

  constructor() {
    super()
    const { runtime } = this
    const evaluate = (node: Node, value: unknown) => this.visit(node, value)
    for (const [name, bounded] of Object.entries(instead)) {
      const entry = runtime._functionTable[name]!
      const own = entry._func
      entry._func = (args) => {
        const result = bounded(this.budget, args, evaluate)
        return result === undefined ? own(args) : result
      }
    }
    const call = runtime.callFunction.bind(runtime)
    runtime.callFunction = (name, args) => {
      if (isKnown(name)) costs[name](this.budget, args, evaluate)
      return call(name, exact.has(name) ? args : args.map((arg) => plain(arg)))
    }
    // The library takes any object with a member `expref` for an expression, also one of the input, which is not marked.
    const typeOf = runtime.getTypeName.bind(runtime)
    runtime.getTypeName = (value) =>
      Json.isNumber(value)
        ? TYPE_NUMBER
        : Predicate.isObject(value) && !(value instanceof Reference)
          ? TYPE_OBJECT
          : typeOf(value)
  }

  override visit(node: Node, value: unknown): unknown {
    this.budget.spend(stepWork)
    const result = this.step(node, value)
    if (node.use === "calculated") return plain(result)
    if (node.use !== undefined && typeof result === "object" && result !== null) this.spendOn(node.use, result)
    return result
  }

  private step(node: Node, value: unknown): unknown {
    switch (node.type) {
      case "Comparator":
        if (node.name === "EQ" || node.name === "NE") {
          return this.areEqual(this.visit(node.left, value), this.visit(node.right, value)) === (node.name === "EQ")
        }
        return this.isOrdered(node.name, this.visit(node.left, value), this.visit(node.right, value))
      case "ExpressionReference":
        return new Reference(node.child)
      // Own members only: the library's own finds `constructor` in any object.
      case "Field":
        return Predicate.isObject(value) && !Json.isNumber(value) && Object.hasOwn(value, node.name)
          ? (value[node.name] ?? null)
          : null
      case "LetExpression":
        this.budget.spend(node.bindings.length ** 2)
        break
      case "Slice":
        if (typeof value === "string" || Array.isArray(value)) this.budget.spend(value.length * itemWork)
        break
      case "Variable":
        this.budget.spend(this.lets)
        break
    }
    return super.visit(node, value)
  }

  /** The library's own function creates a new interpreter with all functions. */
  override withScope(scope: object): Interpreter {
    const inner: BoundedInterpreter = Object.create(this)
    inner._scope = this._scope.withScope(scope)
    inner.lets = this.lets + 1
    return inner
  }

  private spendOn(use: Use, value: object): void {
    if (!Array.isArray(value)) this.budget.spend(membersWork(value))
    else if (use === "flattened") {
      for (const item of value) this.budget.spend(Array.isArray(item) ? item.length * itemWork : itemWork)
    }
  }

  /** `null`, unless both are numbers. */
  private isOrdered(name: string, a: unknown, b: unknown): boolean | null {
    if (!Json.isNumber(a) || !Json.isNumber(b)) return null
    const order = Json.compare(a, b)
    return name === "GT" ? order > 0 : name === "GTE" ? order >= 0 : name === "LT" ? order < 0 : order <= 0
  }

  private areEqual(a: unknown, b: unknown): boolean {
    this.budget.spend(1)
    if (typeof a === "string" && typeof b === "string") {
      if (a.length === b.length) this.budget.spend(a.length / comparedAtOnce)
      return a === b
    }
    if (a === b) return true
    if (Json.isNumber(a) || Json.isNumber(b)) return Json.isNumber(a) && Json.isNumber(b) && Json.compare(a, b) === 0
    if (Array.isArray(a)) {
      return Array.isArray(b) && a.length === b.length && a.every((item, at) => this.areEqual(item, b[at]))
    }
    if (!Predicate.isObject(a) || !Predicate.isObject(b)) return false
    this.budget.spend(membersWork(a))
    const names = Object.keys(a)
    if (names.length !== Object.keys(b).length) return false
    return names.every((name) => Object.hasOwn(b, name) && this.areEqual(a[name], b[name]))
  }
}

/** Functions that take any value. All others calculate. */
const exact: ReadonlySet<string> = new Set(["contains", "not_null", "to_array", "to_string", "type"])

/** Also the numbers of a list. */
const plain = (value: unknown): unknown => {
  if (value instanceof Json.JsonNumber) return Number(value)
  return Array.isArray(value) && value.some((item) => item instanceof Json.JsonNumber) ? value.map(plain) : value
}

const isKnown = (name: string): name is keyof typeof costs => Object.hasOwn(costs, name)

/** An expression's tree, with each node's `use` marked. */
export type Expression = Node

const mark = (node: unknown): void => {
  if (Array.isArray(node)) for (const part of node) mark(part)
  if (!Predicate.isReadonlyObject(node) || node.type === "Literal") return
  const { type, left, right, operand, child, condition } = node as Record<string, { use?: Use } | undefined> & {
    type?: string
  }
  if (type === "Flatten") child!.use = "flattened"
  if (type === "Arithmetic") left!.use = right!.use = "calculated"
  if (type === "Unary") operand!.use = "calculated"
  // To decide whether an object is true, the library lists its names.
  if (type === "NotExpression") child!.use = "counted"
  if (type === "OrExpression" || type === "AndExpression" || type === "ValueProjection") left!.use = "counted"
  if (type === "Ternary" || type === "FilterProjection") condition!.use = "counted"
  for (const part of Object.values(node)) mark(part)
}

const quoted = /'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|"(?:[^"\\]|\\.)*"/gs

/** Stands for a literal with numbers that the library would round. */
const literalKey = "\uE000literal "

const exactLiteral = (part: string): unknown => {
  try {
    const value = Json.parse(part.slice(1, -1).replaceAll("\\`", "`"))
    return Json.hasExact(value) ? value : undefined
  } catch {
    return undefined
  }
}

const restore = (node: unknown, literals: ReadonlyArray<unknown>): void => {
  if (Array.isArray(node)) for (const part of node) restore(part, literals)
  if (!Predicate.isObject(node)) return
  const { type, value } = node
  if (type !== "Literal") for (const part of Object.values(node)) restore(part, literals)
  else if (typeof value === "string" && value.startsWith(literalKey)) {
    node.value = literals[Number(value.slice(literalKey.length))]
  }
}

const functionsIn = (node: unknown): ReadonlyArray<string> => {
  if (Array.isArray(node)) return node.flatMap(functionsIn)
  if (!Predicate.isReadonlyObject(node) || node.type === "Literal") return []
  const own = node.type === "Function" ? [String(node.name)] : []
  return [...own, ...Object.values(node).flatMap(functionsIn)]
}

/** Fails with an error that says what is wrong with it. */
export const compile = (text: string): Expression => {
  const literals: Array<unknown> = []
  const expression = parse(
    text.replaceAll(quoted, (part) => {
      if (!part.startsWith("`")) return part
      const value = exactLiteral(part)
      return value === undefined ? part : `\`"${literalKey}${literals.push(value) - 1}"\``
    })
  )
  if (literals.length > 0) restore(expression, literals)
  const unknown = functionsIn(expression).find((name) => !isKnown(name))
  if (unknown !== undefined) throw new Error(`there is no function ${unknown}`)
  mark(expression)
  return expression
}

/** A field's name as an expression has it: with quotes only where they are needed. */
export const written = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name))

const interpreter = new BoundedInterpreter()

/**
 * Returns the expression's value. Fails with `OverBudget`, or with an error that says what is wrong, such as an argument of
 * the wrong type.
 */
export const evaluate = (expression: Expression, value: unknown, budget: Budget): Value => {
  interpreter.budget = budget
  return interpreter.search(expression, value) as Value
}
