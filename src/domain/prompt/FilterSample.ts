/** Values that a filter asks for, as far as its comparisons say so: for an example of a request that it accepts. */
import { Predicate } from "effect"
import * as Jmespath from "../evaluation/Jmespath.ts"
import { namesOf } from "./FilterPaths.ts"

interface WantedValue {
  readonly path: ReadonlyArray<string>
  readonly value: unknown
}

type Node = { readonly type?: string; readonly name?: unknown; readonly [member: string]: unknown }

const isNode = (value: unknown): value is Node => Predicate.isReadonlyObject(value)
const literalIn = (node: unknown): { readonly value: unknown } | undefined =>
  isNode(node) && node.type === "Literal" ? { value: node.value } : undefined

const firstLiteral = (node: unknown): { readonly value: unknown } | undefined => {
  const list = literalIn(node)?.value
  if (Array.isArray(list)) return list.length > 0 ? { value: list[0] } : undefined
  return isNode(node) && node.type === "MultiSelectList" && Array.isArray(node.children)
    ? literalIn(node.children[0])
    : undefined
}

const wanted = (path: unknown, literal: { readonly value: unknown } | undefined): ReadonlyArray<WantedValue> => {
  const { isWhole, names } = isNode(path) ? namesOf(path) : { isWhole: false, names: [] }
  return isWhole && names.length > 0 && literal !== undefined ? [{ path: names, value: literal.value }] : []
}

/** The values for all parts of a conjunction; for alternatives, those of the first. */
const wantedBy = (node: unknown): ReadonlyArray<WantedValue> => {
  if (!isNode(node)) return []
  switch (node.type) {
    case "AndExpression":
      return [...wantedBy(node.left), ...wantedBy(node.right)]
    case "OrExpression":
      return wantedBy(node.left)
    case "Comparator":
      return node.name === "EQ"
        ? [...wanted(node.left, literalIn(node.right)), ...wanted(node.right, literalIn(node.left))]
        : []
    case "Function": {
      const [first, second] = Array.isArray(node.children) ? node.children : []
      if (node.name === "contains") return wanted(second, firstLiteral(first))
      return node.name === "starts_with" || node.name === "ends_with" ? wanted(first, literalIn(second)) : []
    }
    default:
      return []
  }
}

export const wantedValues = (expression: string): ReadonlyArray<WantedValue> => {
  try {
    return wantedBy(Jmespath.compile(expression))
  } catch {
    return []
  }
}
