/** The values of its input that a filter reads. Browser-safe. */
import { Predicate } from "effect"

type Node = { readonly type?: string; readonly [member: string]: unknown }

const projections = ["Projection", "FilterProjection", "ValueProjection", "IndexExpression"]

/** The names in front of a path, and whether they are all of it. */
export const namesOf = (node: Node): { readonly names: ReadonlyArray<string>; readonly isWhole: boolean } => {
  if (node.type === "Field") return { names: [String(node.name)], isWhole: true }
  if (node.type === "Root" || node.type === "Current") return { names: [], isWhole: true }
  if (node.type === "Flatten") return { ...namesOf(node.child as Node), isWhole: false }
  if (node.type !== "Subexpression") {
    return projections.includes(node.type ?? "")
      ? { ...namesOf(node.left as Node), isWhole: false }
      : { names: [], isWhole: false }
  }
  const left = namesOf(node.left as Node)
  if (!left.isWhole) return left
  const right = namesOf(node.right as Node)
  return { names: [...left.names, ...right.names], isWhole: right.isWhole }
}

/** The paths that an expression reads from the input itself; of a list and what is behind it, the path to the list. */
export const pathsIn = (value: unknown): ReadonlyArray<ReadonlyArray<string>> => {
  if (Array.isArray(value)) return value.flatMap(pathsIn)
  if (!Predicate.isReadonlyObject(value)) return []
  const node = value as Node
  if (node.type === "Literal" || node.type === "ExpressionReference") return []
  const { names } = namesOf(node)
  if (names.length > 0) return [names]
  return node.type === "Pipe" ? pathsIn(node.left) : Object.values(node).flatMap(pathsIn)
}
