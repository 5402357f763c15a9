/** What a schema accepts, and what is wrong with a value, in plain English. */
import { SchemaAST as AST, Option, type ParseResult, Predicate } from "effect"

/** What is wrong at a place in a value. */
interface PlacedFault {
  readonly path: ReadonlyArray<PropertyKey>
  readonly detail: string
}

/** The JSON Schema of a schema's own limits, as far as texts need it. */
interface Limits {
  readonly type?: unknown
  readonly format?: unknown
  readonly enum?: unknown
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

/** `1 to 255`, `at least 1`, `at most 9`; `undefined` without limits. */
const range = (least: unknown, most: unknown): string | undefined => {
  const [min, max] = [least, most].map((limit) => (typeof limit === "number" ? limit : undefined))
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

/** The limits of the refinements of an AST, and what they refine. */
const withLimits = (ast: AST.AST): readonly [AST.AST, Limits] => {
  const own: Limits = Option.getOrElse(AST.getJSONSchemaAnnotation(ast), () => ({}))
  if (!AST.isRefinement(ast)) return [ast, own]
  const [base, inner] = withLimits(ast.from)
  return [base, { ...inner, ...own }]
}

/** The members of a union, without those that stand for an absent value. */
const membersOf = (ast: AST.AST): ReadonlyArray<AST.AST> =>
  AST.isUnion(ast) ? ast.types.flatMap(membersOf) : AST.isUndefinedKeyword(ast) ? [] : [ast]

/** What the schema accepts: `a string of 1 to 255 characters`, `` `true` or `false` ``. */
export const accepted = (ast: AST.AST): string => {
  const [base, limits] = withLimits(ast)
  if (limits.type === "integer") return number("a whole number", limits)
  if (limits.type === "number") return number("a number", limits)
  if (Array.isArray(limits.enum)) return alternatives(limits.enum.map((value) => literal(value)))
  if (limits.type === "string" && !AST.isLiteral(base)) return string(limits)
  switch (base._tag) {
    case "Literal":
      return literal(base.literal)
    case "StringKeyword":
    case "TemplateLiteral":
      return string(limits)
    case "NumberKeyword":
      return number("a number", limits)
    case "BooleanKeyword":
      return "`true` or `false`"
    case "TupleType":
      return array(limits)
    case "TypeLiteral":
      return "an object"
    case "Union":
      return alternatives([...new Set(membersOf(base).map(accepted))])
    case "Transformation":
      return accepted(base.from)
    case "Suspend":
      return accepted(base.f())
    default:
      return "a valid value"
  }
}

/** A schema's own text for an issue. `overrides`: also for issues within the value. */
const ownText = (issue: ParseResult.ParseIssue): { readonly text: string; readonly overrides: boolean } | undefined => {
  if (!("ast" in issue)) return undefined
  const annotation = Option.getOrUndefined(AST.getMessageAnnotation(issue.ast as AST.Annotated))
  const message: unknown = annotation?.(issue)
  if (typeof message === "string") return { text: message, overrides: false }
  return Predicate.hasProperty(message, "message") && typeof message.message === "string"
    ? { text: message.message, overrides: Predicate.hasProperty(message, "override") && message.override === true }
    : undefined
}

/** It is about this value, and not about a part of it. */
const isAboutItself = (issue: ParseResult.ParseIssue): boolean =>
  issue._tag === "Type" ||
  (issue._tag === "Refinement" && issue.kind === "Predicate") ||
  (issue._tag === "Transformation" && issue.kind === "Transformation")

const issuesOf = (
  issues: ParseResult.SingleOrNonEmpty<ParseResult.ParseIssue>
): ReadonlyArray<ParseResult.ParseIssue> => (Array.isArray(issues) ? issues : [issues as ParseResult.ParseIssue])

/**
 * All that is wrong, each with a text like `must be a string of 1 to 255 characters`. `outer`: the schema of the value as
 * it is known to callers, around what has failed in it.
 */
export const faultsOf = (
  issue: ParseResult.ParseIssue,
  path: ReadonlyArray<PropertyKey> = [],
  outer?: AST.AST
): ReadonlyArray<PlacedFault> => {
  const own = ownText(issue)
  if (own !== undefined && (own.overrides || isAboutItself(issue))) return [{ path, detail: own.text }]
  switch (issue._tag) {
    case "Missing":
      return [{ path, detail: "is required" }]
    case "Unexpected":
      return [{ path, detail: "is not a field that can be set" }]
    case "Forbidden":
      return [{ path, detail: "is not allowed" }]
    case "Pointer":
      return faultsOf(issue.issue, [...path, ...issuePath(issue.path)])
    case "Type":
      return [{ path, detail: issue.message ?? `must be ${accepted(outer ?? issue.ast)}` }]
    case "Refinement":
      return issue.kind === "Predicate" && issue.issue._tag === "Type" && issue.issue.message === undefined
        ? [{ path, detail: `must be ${accepted(outer ?? issue.ast)}` }]
        : faultsOf(issue.issue, path, outer ?? issue.ast)
    case "Transformation":
      return faultsOf(issue.issue, path, outer ?? issue.ast)
    case "Composite": {
      const parts = issuesOf(issue.issues)
      if (!AST.isUnion(issue.ast)) return parts.flatMap((part) => faultsOf(part, path))
      const members = membersOf(issue.ast)
      // What is wrong within the only member that has the value's kind helps more than a list of all members.
      const within = parts.flatMap((part) => faultsOf(part, path)).filter((fault) => fault.path.length > path.length)
      if (within.length > 0) return within
      const only = members.filter((member) => !(AST.isLiteral(member) && member.literal === null))
      if (only.length !== 1) return [{ path, detail: `must be ${accepted(outer ?? issue.ast)}` }]
      const [first] = parts
        .flatMap((part) => faultsOf(part, path, only[0]))
        .filter(({ detail }) => detail !== "must be null")
      return [first ?? { path, detail: `must be ${accepted(outer ?? issue.ast)}` }]
    }
  }
}

const issuePath = (path: ParseResult.Path): ReadonlyArray<PropertyKey> =>
  Array.isArray(path) ? path : [path as PropertyKey]
