/**
 * Templates in Liquid: filters, conditions and loops. A template reads no files,
 * sees own properties only, and is bounded in what it may take; who runs it on a server also bounds its time from outside.
 */
import { Either, Option } from "effect"
import {
  Context,
  type Emitter,
  Liquid,
  LiquidError,
  ParseError,
  Parser,
  type Template,
  Tokenizer,
  type TopLevelToken,
  toValueSync
} from "liquidjs"
import { lookUp, nameOf, pathOf } from "./Path.ts"
import type { Variables } from "./Run.ts"
import type { BrokenBraces } from "./Template.ts"

/** How long rendering may take, in milliseconds. It is looked at between two parts of the template. */
export const renderLimit = 40
/** How many characters, items and the like filters and loops may take up, altogether. */
const memoryLimit = 5_000_000
/** How deep tags may stand in tags. The library has none: it would go on to the end of the stack, where V8 may end the process. */
const nestingLimit = 100

/** What an output has put into the prompt; a capture gets its text. */
class Inserted {
  readonly text: string
  constructor(value: unknown) {
    this.text = typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value)
  }
  toString(): string {
    return this.text
  }
}

/** More text than may be: nothing more is added. */
class TooLong extends Error {}

/** The prompt as pieces: text of the template, a value, text, a value, …, text. */
class Pieces implements Emitter {
  readonly pieces: Array<string> = [""]
  readonly #limit: number
  #length = 0
  constructor(limit: number) {
    this.#limit = limit
  }
  get buffer(): string {
    return this.pieces.join("")
  }
  write(part: unknown): void {
    const text = String(part)
    this.#length += text.length
    if (this.#length > this.#limit) throw new TooLong()
    if (part instanceof Inserted) this.pieces.push(text, "")
    else this.pieces[this.pieces.length - 1] += text
  }
}

const liquid = new Liquid({
  strictFilters: true,
  strictVariables: true,
  // What may be missing is asked for with `if` and `default`.
  lenientIf: true,
  ownPropertyOnly: true,
  renderLimit,
  memoryLimit,
  templates: {},
  // The same on every server.
  timezoneOffset: 0,
  outputEscape: (value) => new Inserted(value) as unknown as string
})

// No other templates, and nothing that passes a value off as text of the template.
for (const tag of ["include", "render", "layout", "block"]) delete liquid.tags[tag]
delete liquid.filters.raw

class BoundedParser extends Parser {
  #depth = 0
  override parseToken(token: TopLevelToken, remaining: Array<TopLevelToken>) {
    if (this.#depth > nestingLimit) throw new ParseError(new Error(nestedTooDeep), token)
    this.#depth++
    try {
      return super.parseToken(token, remaining)
    } finally {
      this.#depth--
    }
  }
}

const nestedTooDeep = "this is nested too deep"
const tooMuchMemory = "memory alloc limit exceeded"
const tooMuchTime = "template render limit exceeded"

/** What is wrong, without the position that the library adds. */
const reasonOf = ({ message }: LiquidError): string =>
  message
    .split("\n", 1)[0]!
    .replace(/, line:\d+, col:\d+$/, "")
    .replace(tooMuchMemory, "this takes more memory than a template may")
    .replace(tooMuchTime, `this takes more than the ${renderLimit} ms that a template may`)
    .replace("Maximum call stack size exceeded", nestedTooDeep)

const limitOf = ({ message }: LiquidError): "memory" | "time" | undefined =>
  message.includes(tooMuchMemory) ? "memory" : message.includes(tooMuchTime) ? "time" : undefined

const brokenBy = (error: LiquidError): BrokenBraces => {
  const [line, column] = error.token.getPosition() as [number, number]
  return { offset: error.token.begin, line, column, reason: reasonOf(error) }
}

/** A template taken apart. */
export interface LiquidTemplate {
  readonly templates: ReadonlyArray<Template>
  /** What it reads, each once: of what is reached by a computed name, the part before that. */
  readonly names: ReadonlyArray<string>
}

/** What Liquid itself knows of lists and texts, which are to be kept for it. */
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

/** Why a template gives no prompt. */
export type Failure =
  | { readonly _tag: "Missing"; readonly names: ReadonlyArray<string> }
  | { readonly _tag: "TooLong" }
  | ({ readonly _tag: "Failed"; readonly limit: "memory" | "time" | undefined } & BrokenBraces)

const missingName = ({ originalError }: LiquidError): string | undefined =>
  (originalError as { readonly variableName?: string } | undefined)?.variableName

/** The library stops where the path does; what the template asks for is the whole of it. */
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
  return { _tag: "Failed", limit: limitOf(failed), ...brokenBy(failed) }
}

const piecesOf = (
  template: LiquidTemplate,
  input: Variables,
  { limit, strictVariables }: { readonly limit: number; readonly strictVariables: boolean }
): Either.Either<ReadonlyArray<string>, Failure> => {
  const emitter = new Pieces(limit)
  const context = new Context(input, liquid.options, { sync: true, strictVariables }, { liquid })
  try {
    toValueSync(liquid.renderer.renderTemplates([...template.templates], context, emitter))
    return Either.right(emitter.pieces)
  } catch (error) {
    return Either.left(failureOf(error, template, input))
  }
}

/**
 * The prompt in pieces, as `Template.fill` gives them; at most `limit` UTF-16 code units. Of values that are missing, the
 * first one is named.
 */
export const fill = (
  template: LiquidTemplate,
  input: Variables,
  limit: number
): Either.Either<ReadonlyArray<string>, Failure> => piecesOf(template, input, { limit, strictVariables: true })

/** Which limit a template exceeds whatever it is filled in with, if any. */
export const exceeds = (template: LiquidTemplate): Extract<Failure, { readonly _tag: "Failed" }> | undefined => {
  const tried = piecesOf(template, {}, { limit: Number.POSITIVE_INFINITY, strictVariables: false })
  return Either.isLeft(tried) && tried.left._tag === "Failed" && tried.left.limit !== undefined ? tried.left : undefined
}

/** Takes a template apart, or says what is wrong with it. */
export const parse = (text: string): Either.Either<LiquidTemplate, BrokenBraces> => {
  try {
    const tokens = new Tokenizer(text, liquid.options.operators).readTopLevelTokens(liquid.options)
    const templates = new BoundedParser(liquid).parseTokens(tokens)
    return Either.right({ templates, names: namesOf(templates) })
  } catch (error) {
    if (!LiquidError.is(error)) throw error
    return Either.left(brokenBy(error as LiquidError))
  }
}
