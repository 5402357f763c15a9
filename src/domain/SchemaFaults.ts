/** The values that a schema accepts, and the faults of a value, in plain English. */
import { SchemaAST as AST, type JsonSchema, type SchemaIssue } from "effect"

/** A fault at a place in a value. */
interface PlacedFault {
  readonly path: ReadonlyArray<PropertyKey>
  readonly detail: string
}

/** The JSON Schema of a schema's own limits, as far as texts need it. */
interface Limits {
  readonly type?: unknown
  readonly format?: unknown
  readonly minimum?: unknown
  readonly exclusiveMinimum?: unknown
  readonly maximum?: unknown
  readonly minLength?: unknown
  readonly maxLength?: unknown
  readonly minItems?: unknown
  readonly maxItems?: unknown
}

/** Texts for a list of alternatives: `a`, `b` or `c`. */
const alternatives = (values: ReadonlyArray<string>): string =>
  values.length < 2 ? values.join("") : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`

const literal = (value: AST.LiteralValue): string => (value === null ? "null" : `\`${value}\``)

/** `1 to 255`, `at least 1`, `at most 9`; `undefined` without limits. Those of `Schema.Int` itself do not count. */
const range = (least: unknown, most: unknown): string | undefined => {
  const [min, max] = [least, most].map((limit) =>
    typeof limit === "number" && Math.abs(limit) < Number.MAX_SAFE_INTEGER ? limit : undefined
  )
  if (min !== undefined && max !== undefined) return min === max ? `${min}` : `${min} to ${max}`
  return min !== undefined ? `at least ${min}` : max !== undefined ? `at most ${max}` : undefined
}

const number = (noun: string, { exclusiveMinimum, maximum, minimum }: Limits): string => {
  const limits = range(minimum, maximum)
  const positive = typeof exclusiveMinimum === "number" ? ` above ${exclusiveMinimum}` : ""
  if (limits === undefined) return `${noun}${positive}`
  return /^at/.test(limits) ? `${noun} of ${limits}${positive}` : `${noun} from ${limits}`
}

const string = ({ format, maxLength, minLength }: Limits): string => {
  if (format === "uuid") return "a UUID"
  if (format === "date-time") return "a time like 2026-01-02T03:04:05.678Z"
  if (minLength === 1 && maxLength === undefined) return "a string that is not empty"
  const limits = range(minLength, maxLength)
  return limits === undefined ? "a string" : `a string of ${limits} characters`
}

const array = ({ maxItems, minItems }: Limits): string => {
  const limits = range(minItems, maxItems)
  return limits === undefined ? "an array" : `an array of ${limits} ${/(^| )1$/.test(limits) ? "entry" : "entries"}`
}

/** The JSON Schema of the checks of an AST. */
const limitsOf = (ast: AST.AST, type: JsonSchema.Type): Limits => {
  const limits: Limits = { ...(typeof ast.annotations?.format === "string" && { format: ast.annotations.format }) }
  const add = (check: AST.Check<any>): void => {
    if (check._tag === "FilterGroup") check.checks.forEach(add)
    const own = check.annotations?.toJsonSchema?.({ type, schemas: [] })
    Object.assign(limits, Array.isArray(own) ? own[0] : own)
  }
  ast.checks?.forEach(add)
  return limits
}

/** The members of a union, without those that stand for an absent value. */
const membersOf = (ast: AST.AST): ReadonlyArray<AST.AST> =>
  AST.isUnion(ast) ? ast.types.flatMap(membersOf) : AST.isUndefined(ast) ? [] : [ast]

/** The values that the schema accepts: `a string of 1 to 255 characters`, `` `true` or `false` ``. */
const accepted = (ast: AST.AST): string => {
  switch (ast._tag) {
    case "Literal":
      return literal(ast.literal)
    case "Null":
      return "null"
    case "String":
    case "TemplateLiteral":
      return string(limitsOf(ast, "string"))
    case "Number": {
      const limits = limitsOf(ast, "number")
      return number(limits.type === "integer" ? "a whole number" : "a number", limits)
    }
    case "Boolean":
      return "`true` or `false`"
    case "Arrays":
      return array(limitsOf(ast, "array"))
    case "Objects":
      return "an object"
    case "Union":
      return alternatives([...new Set(membersOf(ast).map(accepted))])
    case "Suspend":
      return accepted(ast.thunk())
    default: {
      const encoded = AST.toEncoded(ast)
      return encoded === ast ? "a valid value" : accepted(encoded)
    }
  }
}

/** A schema's own text for all that is wrong with a value. */
const ownText = (ast: AST.AST): string | undefined => {
  const message = AST.resolve(ast)?.message
  return typeof message === "string" ? message : undefined
}

/**
 * All that is wrong, each with a text like `must be a string of 1 to 255 characters`. `outer`: the schema of the value as
 * it is known to callers, around what has failed in it.
 */
export const faultsOf = (
  issue: SchemaIssue.Issue,
  path: ReadonlyArray<PropertyKey> = [],
  outer?: AST.AST
): ReadonlyArray<PlacedFault> => {
  const ast = "ast" in issue ? (outer ?? issue.ast) : outer
  const own = "ast" in issue && issue._tag !== "UnexpectedKey" ? ownText(issue.ast) : undefined
  if (own !== undefined) return [{ path, detail: own }]
  const notAccepted = { path, detail: ast === undefined ? "is not valid" : `must be ${accepted(ast)}` }
  switch (issue._tag) {
    case "MissingKey":
      return [{ path, detail: "is required" }]
    case "UnexpectedKey":
      return [{ path, detail: "is not a field that can be set" }]
    case "Forbidden":
      return [{ path, detail: "is not allowed" }]
    case "Pointer":
      return faultsOf(issue.issue, [...path, ...issue.path])
    case "InvalidType":
    case "OneOf":
      return [notAccepted]
    case "InvalidValue":
      return [issue.annotations?.message === undefined ? notAccepted : { path, detail: issue.annotations.message }]
    case "Filter": {
      const message = issue.filter.annotations?.message
      return message === undefined ? faultsOf(issue.issue, path, ast) : [{ path, detail: message }]
    }
    case "Encoding":
      // A number in a text, or another value that the text stands for.
      return faultsOf(issue.issue, path, membersOf(issue.ast).find(AST.isNumber))
    case "Composite": {
      // One rule after another: what breaks the first may break them all.
      const [rule] = issue.issues.filter(({ _tag }) => _tag === "Filter")
      return rule === undefined ? issue.issues.flatMap((part) => faultsOf(part, path, ast)) : faultsOf(rule, path, ast)
    }
    case "AnyOf": {
      // Faults within the only member that has the value's kind help more than a list of all members.
      const within = issue.issues
        .flatMap((part) => faultsOf(part, path))
        .filter((fault) => fault.path.length > path.length)
      if (within.length > 0) return within
      const [only, ...others] = membersOf(issue.ast).filter((member) => !AST.isNull(member))
      if (only === undefined || others.length > 0) return [notAccepted]
      const [first] = issue.issues
        .flatMap((part) => faultsOf(part, path, only))
        .filter(({ detail }) => detail !== "must be null")
      return [first ?? { path, detail: ownText(only) ?? `must be ${accepted(only)}` }]
    }
  }
}
