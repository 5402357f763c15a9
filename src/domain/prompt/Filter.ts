/** `accept_if`: a JMESPath expression over a trigger's input, that says whether it starts a run. Browser-safe. */
import { Predicate } from "effect"
import { Budget, OverBudget } from "../evaluation/Budget.ts"
import * as Jmespath from "../evaluation/Jmespath.ts"

/** Compiled expressions; those used first are dropped first. */
const capacity = 1_000
const compiled = new Map<string, Jmespath.Expression>()

const compiledOnce = (expression: string): Jmespath.Expression => {
  let node = compiled.get(expression)
  if (node === undefined) {
    node = Jmespath.compile(expression)
    compiled.set(expression, node)
    if (compiled.size > capacity) compiled.delete(compiled.keys().next().value!)
  }
  return node
}

/** Longer messages are cut: they may quote the input. In characters. */
const maxMessage = 300

const messageOf = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error)
  return message.length > maxMessage ? `${message.slice(0, maxMessage)}…` : message
}

/** Why the text is no expression; `undefined`: it is one. */
export const faultOfExpression = (text: string): string | undefined => {
  try {
    Jmespath.compile(text)
  } catch (error) {
    return messageOf(error)
  }
}

/** A copy whose objects have no prototype: the interpreter would find `constructor` in any other. */
const bare = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(bare)
  if (!Predicate.isReadonlyRecord(value)) return value
  const copy = Object.create(null)
  for (const name of Object.keys(value)) copy[name] = bare(value[name])
  return copy
}

/** As JMESPath has it: null, false, and empty texts, arrays and objects are false. */
const isTrue = (value: unknown): boolean =>
  typeof value === "object" && value !== null
    ? Object.keys(value).length > 0
    : value !== false && value !== "" && value != null

export const tooMuchWork = "The filter needs too much work. Process fewer items or shorter texts."

/** Whether the expression holds for the input; or why it cannot be told, such as a function that is given another type. */
export const filter = (
  expression: string,
  input: unknown,
  budget = new Budget()
): { readonly accepted: boolean } | { readonly failed: string } => {
  try {
    return { accepted: isTrue(Jmespath.evaluate(compiledOnce(expression), bare(input), budget)) }
  } catch (error) {
    // V8's own limits: calls nested too deep, or a function with too many arguments.
    if (error instanceof OverBudget || error instanceof RangeError) return { failed: tooMuchWork }
    return { failed: messageOf(error) }
  }
}
