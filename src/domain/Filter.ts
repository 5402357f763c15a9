/** `accept_if`: a JMESPath expression over a trigger's input, that says whether it starts a run. Browser-safe. */
import { compile, isRegistered, type JSONValue, TreeInterpreter } from "@jmespath-community/jmespath"
import { Predicate } from "effect"

type ExpressionNode = ReturnType<typeof compile>

/** Compiled expressions; those used first are dropped first. */
const capacity = 1_000
const compiled = new Map<string, ExpressionNode>()

const compiledOnce = (expression: string): ExpressionNode => {
  let node = compiled.get(expression)
  if (node === undefined) {
    node = compile(expression)
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

const functionsIn = (node: unknown): ReadonlyArray<string> => {
  if (Array.isArray(node)) return node.flatMap(functionsIn)
  if (!Predicate.isReadonlyRecord(node) || node.type === "Literal") return []
  const own = node.type === "Function" ? [String(node.name)] : []
  return [...own, ...Object.values(node).flatMap(functionsIn)]
}

/** Why the text is no expression; `undefined`: it is one. */
export const faultOfExpression = (text: string): string | undefined => {
  try {
    const unknown = functionsIn(compile(text)).find((name) => !isRegistered(name))
    return unknown === undefined ? undefined : `there is no function ${unknown}`
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

/** Whether the expression holds for the input; or why it cannot be told, such as a function that is given another type. */
export const filter = (
  expression: string,
  input: unknown
): { readonly accepted: boolean } | { readonly failed: string } => {
  try {
    return { accepted: isTrue(TreeInterpreter.search(compiledOnce(expression), bare(input) as JSONValue)) }
  } catch (error) {
    // What takes too much is left to the caller's bounds.
    if (error instanceof RangeError) throw error
    return { failed: messageOf(error) }
  }
}
