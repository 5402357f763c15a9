/**
 * Templates in Liquid: filters, conditions and loops. A template reads no files, sees only own properties, and has a
 * work budget.
 */
import { Option, Result } from "effect"
import {
  type Context,
  Liquid,
  LiquidError,
  ParseError,
  Parser,
  type Template,
  Tokenizer,
  type TopLevelToken,
  toValueSync
} from "liquidjs"
import { Budget, OverBudget, spendOnText } from "../evaluation/Budget.ts"
import { boundedOperators, budgetOf, contextOf } from "../evaluation/LiquidContext.ts"
import { boundedFilters } from "../evaluation/LiquidFilters.ts"
import { checkFilters, checkTokens } from "../evaluation/LiquidTokens.ts"
import type { Variables } from "../run/Run.ts"
import type { FilledPart } from "./FilledPart.ts"
import { DataTag, FilledParts, Inserted, TooLong } from "./LiquidParts.ts"
import { lookUp, nameOf, pathOf } from "./Path.ts"
import type { BrokenBraces } from "./Template.ts"

/**
 * Maximum nesting of tags. Without this limit, the library would continue to the end of the stack, where V8 may end the
 * process.
 */
const nestingLimit = 100

/** The library calls this as the last filter of each output. */
function inserted(this: { readonly context: Context }, value: unknown): Inserted {
  spendOnText(budgetOf(this.context), value)
  return new Inserted(value)
}

const liquid = new Liquid({
  strictFilters: true,
  strictVariables: true,
  // Templates ask for optional values with `if` and `default`.
  lenientIf: true,
  ownPropertyOnly: true,
  operators: boundedOperators,
  templates: {},
  // The same time zone on every server.
  timezoneOffset: 0,
  locale: "en-US",
  outputEscape: inserted as (value: unknown) => never
})

liquid.registerTag("data", DataTag)

// No access to other templates.
for (const tag of ["include", "render", "layout", "block"]) delete liquid.tags[tag]
for (const name of Object.keys(liquid.filters)) delete liquid.filters[name]
Object.assign(liquid.filters, boundedFilters, checkFilters)

/** A part of a template. Rendering counts its source, which may contain thousands of conditions. */
const counted = <Part extends Template>(part: Part, work: number): Part => {
  const render = part.render
  part.render = function (context, emitter) {
    budgetOf(context).spend(work)
    return render.call(this, context, emitter)
  }
  return part
}

class BoundedParser extends Parser {
  #depth = 0
  override parseToken(token: TopLevelToken, remaining: Array<TopLevelToken>) {
    if (this.#depth > nestingLimit) throw new ParseError(new Error(nestedTooDeep), token)
    this.#depth++
    const last = remaining.at(-1) ?? token
    try {
      const part = super.parseToken(token, remaining)
      checkTokens(part, liquid)
      return counted(part, 2 * ((remaining[0]?.begin ?? last.end) - token.begin))
    } finally {
      this.#depth--
    }
  }
}

const nestedTooDeep = "this is nested too deep"
export const tooMuchWork = "this needs too much work: limit the template's loops, and the texts passed to its filters"

const isOverBudget = ({ originalError }: LiquidError): boolean =>
  (originalError as Error | undefined) instanceof OverBudget

/** The fault, without the position that the library adds. */
const reasonOf = (error: LiquidError): string =>
  isOverBudget(error)
    ? tooMuchWork
    : error.message
        .split("\n", 1)[0]!
        .replace(/, line:\d+, col:\d+$/, "")
        .replace("Maximum call stack size exceeded", nestedTooDeep)

const brokenBy = (error: LiquidError): BrokenBraces => {
  const [line, column] = error.token.getPosition() as [number, number]
  return { offset: error.token.begin, line, column, reason: reasonOf(error) }
}

/** A parsed template. */
export interface LiquidTemplate {
  readonly templates: ReadonlyArray<Template>
  /** The names it reads, each once. For a computed name, the path before it. */
  readonly names: ReadonlyArray<string>
}

/** Properties that Liquid itself gives lists and texts: the values they belong to must be stored. */
const derived = new Set<unknown>(["first", "last", "size"])

const isStep = (segment: unknown): segment is string | number =>
  (typeof segment === "string" && !derived.has(segment)) || (typeof segment === "number" && segment >= 0)

const namesOf = (templates: Array<Template>): ReadonlyArray<string> => {
  const names = liquid.globalVariableSegmentsSync(templates, { partials: false }).map((segments) => {
    const end = segments.findIndex((segment, at) => at > 0 && !isStep(segment))
    return nameOf((end < 0 ? segments : segments.slice(0, end)).map(String))
  })
  return [...new Set(names)]
}

/** Why a template has no prompt. */
export type Failure =
  | { readonly _tag: "Missing"; readonly names: ReadonlyArray<string> }
  | { readonly _tag: "TooLong" }
  | ({ readonly _tag: "Failed"; readonly isOverBudget: boolean } & BrokenBraces)

const missingName = ({ originalError }: LiquidError): string | undefined =>
  (originalError as { readonly variableName?: string } | undefined)?.variableName

/** The library stops where the path ends; the template asks for the whole value there. */
const wholeName = (missing: string, { names }: LiquidTemplate, input: Variables): string => {
  const from = nameOf(missing.split("."))
  const isAskedFor = (name: string) => name === from || name.startsWith(`${from}.`)
  return names.find((name) => isAskedFor(name) && Option.isNone(lookUp(pathOf(name), input))) ?? from
}

const failureOf = (error: unknown, template: LiquidTemplate, input: Variables): Failure => {
  if (!LiquidError.is(error)) throw error
  const failed = error as LiquidError
  const missing = missingName(failed)
  if (missing !== undefined) return { _tag: "Missing", names: [wholeName(missing, template, input)] }
  if (failed.originalError instanceof TooLong) return { _tag: "TooLong" }
  return { _tag: "Failed", isOverBudget: isOverBudget(failed), ...brokenBy(failed) }
}

interface Bounds {
  /** The prompt's length in UTF-16 code units. */
  readonly limit: number
  readonly budget?: Budget
}

const partsOf = (
  template: LiquidTemplate,
  input: Variables,
  { limit, budget = new Budget(), strictVariables }: Bounds & { readonly strictVariables: boolean }
): Result.Result<ReadonlyArray<FilledPart>, Failure> => {
  const emitter = new FilledParts(limit)
  const context = contextOf(input, liquid, { budget, strictVariables })
  try {
    toValueSync(liquid.renderer.renderTemplates([...template.templates], context, emitter))
    return Result.succeed(emitter.parts)
  } catch (error) {
    return Result.fail(failureOf(error, template, input))
  }
}

/** The prompt in parts, like `Template.fill`; its values are named by numbers. If values are missing, names the first one. */
export const fill = (
  template: LiquidTemplate,
  input: Variables,
  bounds: Bounds
): Result.Result<ReadonlyArray<FilledPart>, Failure> => partsOf(template, input, { ...bounds, strictVariables: true })

/** Why the template exceeds its budget for any input; otherwise `undefined`. */
export const excessOf = (template: LiquidTemplate, budget?: Budget): BrokenBraces | undefined => {
  const bounds = { limit: Number.POSITIVE_INFINITY, ...(budget && { budget }) }
  const tried = partsOf(template, {}, { ...bounds, strictVariables: false })
  return Result.isFailure(tried) && tried.failure._tag === "Failed" && tried.failure.isOverBudget
    ? tried.failure
    : undefined
}

/** Parses a template, or returns its fault. */
export const parse = (text: string): Result.Result<LiquidTemplate, BrokenBraces> => {
  try {
    const tokens = new Tokenizer(text, liquid.options.operators).readTopLevelTokens(liquid.options)
    const templates = new BoundedParser(liquid).parseTokens(tokens)
    return Result.succeed({ templates, names: namesOf(templates) })
  } catch (error) {
    if (!LiquidError.is(error)) throw error
    return Result.fail(brokenBy(error as LiquidError))
  }
}
