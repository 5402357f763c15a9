/** `accept_if`: a JMESPath expression over a trigger's input that decides whether it starts a run. Browser-safe. */
import { Budget, OverBudget } from "../evaluation/Budget.ts"
import * as Jmespath from "../evaluation/Jmespath.ts"

/** Longer messages are cut, since they may quote the input. In characters. */
const maxMessage = 300

/** The message of an error of an evaluation or of the parser. */
export const messageOf = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error)
  return message.length > maxMessage ? `${message.slice(0, maxMessage)}…` : message
}

/** JMESPath's rule: null, false, and empty texts, arrays and objects are false. */
const isTrue = (value: unknown): boolean =>
  typeof value === "object" && value !== null
    ? Object.keys(value).length > 0
    : value !== false && value !== "" && value != null

export const tooMuchWork = "The filter needs too much work. Process fewer items or shorter texts."

export interface FilterOptions {
  readonly budget?: Budget
  /** May return an expression that was compiled earlier. */
  readonly compile?: (expression: string) => Jmespath.Expression
}

/** Whether the expression holds for the input, or why it failed, for instance on a value of the wrong type. */
export const filter = (
  expression: string,
  input: unknown,
  { budget = new Budget(), compile = Jmespath.compile }: FilterOptions = {}
): { readonly accepted: boolean } | { readonly failed: string } => {
  try {
    return { accepted: isTrue(Jmespath.evaluate(compile(expression), input, budget)) }
  } catch (error) {
    // V8's own limits: calls nested too deep, or a function with too many arguments.
    if (error instanceof OverBudget || error instanceof RangeError) return { failed: tooMuchWork }
    return { failed: messageOf(error) }
  }
}
