/**
 * Mistakes in `accept_if` that leave it a valid expression, which then ignores or accepts every request. They are refused
 * when it is saved. Browser-safe.
 */
import * as Jmespath from "../evaluation/Jmespath.ts"
import { isSecretHeader } from "../request/SecretHeaders.ts"
import { messageOf } from "./Filter.ts"

/** The input of the filter's webhook. */
export interface FilterInput {
  /** Whole requests, or variables. These names are known; without names, any may exist. */
  readonly takes: "requests" | { readonly variables?: ReadonlyArray<string> | undefined }
  /** Headers that hold secrets, besides those known by their names; in lower case. */
  readonly secretHeaders?: ReadonlyArray<string>
}

type Node = { readonly type: string; readonly [member: string]: unknown }
/** The value that a node's names belong to: the filter's input, its headers, or something inside. */
type Current = "input" | "headers" | "other"

const parts: ReadonlyArray<string> = ["payload", "headers", "query"]
const words: ReadonlyArray<string> = ["true", "false", "null"]

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value
const nameOf = (node: unknown): string | undefined =>
  isNode(node) && node.type === "Field" ? String(node.name) : undefined

const nameForWord = (word: string): string =>
  `\`${word}\` is the name of a field here: for the value, write it in backticks`

/** The value that the names to the right of this node belong to. */
const currentAfter = (node: unknown, current: Current): Current => {
  if (!isNode(node)) return "other"
  switch (node.type) {
    case "Current":
    case "Identity":
      return current
    case "Root":
      return "input"
    case "Subexpression":
      return currentAfter(node.right, currentAfter(node.left, current))
    default:
      return current === "input" && nameOf(node) === "headers" ? "headers" : "other"
  }
}

const faultsOfTree = (tree: unknown, { takes, secretHeaders = [] }: FilterInput): ReadonlyArray<string> => {
  const faults = new Set<string>()

  const checkName = (name: string, current: Current): void => {
    if (current === "headers" && takes === "requests") {
      if (name !== name.toLowerCase()) {
        faults.add(`\`headers.${Jmespath.written(name)}\`: the names of headers are in lower case`)
      } else if (isSecretHeader(name, secretHeaders)) {
        faults.add(`\`headers.${Jmespath.written(name)}\` may hold a secret, which no filter gets`)
      }
    }
    if (current === "input" && takes === "requests" && !parts.includes(name)) {
      faults.add(
        words.includes(name)
          ? nameForWord(name)
          : `\`${name}\` is not part of a request: begin with \`payload\`, \`headers\` or \`query\`, and write a text as '${name}'`
      )
    }
  }

  /** A name alone on one side of a comparison, where a value is meant. */
  const checkOperand = (node: unknown, current: Current, isRight: boolean): void => {
    const name = nameOf(node)
    if (name === undefined) return
    if (words.includes(name)) faults.add(nameForWord(name))
    else if (isRight && current === "input" && takes !== "requests" && takes.variables?.includes(name) === false) {
      faults.add(`\`${name}\` is no variable of the template: write a text as '${name}'`)
    }
  }

  const visit = (node: unknown, current: Current): void => {
    if (Array.isArray(node)) for (const child of node) visit(child, current)
    if (!isNode(node)) return
    switch (node.type) {
      case "Literal":
        return
      case "Field":
        checkName(String(node.name), current)
        return
      case "Subexpression":
        if (isNode(node.left) && node.left.type === "NotExpression") {
          faults.add("`!` binds closer than a dot: put the path in parentheses, such as `!(payload.draft)`")
        }
        visit(node.left, current)
        visit(node.right, currentAfter(node.left, current))
        return
      case "Pipe":
        visit(node.left, current)
        visit(node.right, currentAfter(node.left, current))
        return
      case "Projection":
      case "ValueProjection":
      case "FilterProjection":
        visit(node.left, current)
        visit([node.condition, node.right], "other")
        return
      case "ExpressionReference":
        visit(node.child, "other")
        return
      case "Binding":
        faults.add("a single `=` does not compare: write `==`")
        return
      case "LetExpression":
        for (const { reference } of node.bindings as ReadonlyArray<Node>) visit(reference, current)
        visit(node.expression, current)
        return
      case "Comparator":
        checkOperand(node.left, current, false)
        checkOperand(node.right, current, true)
    }
    visit(Object.values(node), current)
  }

  visit(tree, "input")
  return [...faults]
}

/** Texts in single quotes or backticks, and names in double quotes. */
const quotes = /'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|"(?:[^"\\]|\\.)*"/gs
const hyphenated = /[A-Za-z_]\w*(?:-[A-Za-z_]\w*)+/g
/** A name in double quotes where a value is meant: after a comparison or a comma. */
const nameForText = /(?:[=!]=|[<>]=?|,)\s*"([^"\\]*)"(?!\s*[.:[])/g

/** Faults that only the text shows, because the parser takes it for something else. */
const faultsOfText = (text: string, { takes }: FilterInput): ReadonlyArray<string> => {
  const known = takes === "requests" ? [] : (takes.variables ?? [])
  const withNames = text.replaceAll(quotes, (part) => (part.startsWith('"') ? part : " ''"))
  return [
    ...Array.from(
      text.replaceAll(quotes, " ''").matchAll(hyphenated),
      ([name]) => `\`${name}\` is a subtraction: put a name with hyphens in double quotes, \`"${name}"\``
    ),
    ...Array.from(withNames.matchAll(nameForText), ([, name = ""]) =>
      known.includes(name)
        ? []
        : `\`"${name}"\` is the name of a field: write a text in single quotes, '${name}' (or the field as \`@."${name}"\`)`
    ).flat()
  ]
}

/** Why an expression cannot be a filter, or cannot mean what was intended. None: it can be saved. */
export const faultsOfFilter = (text: string, input: FilterInput): ReadonlyArray<string> => {
  let tree: unknown
  try {
    tree = Jmespath.compile(text)
  } catch (error) {
    return [messageOf(error)]
  }
  const inText = faultsOfText(text, input)
  return inText.length > 0 ? [...new Set(inText)] : faultsOfTree(tree, input)
}
