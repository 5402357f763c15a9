/**
 * Evaluations for webhooks and destinations: their filters, schemas and templates, with the input of callers, and the
 * answers of agents.
 */
import { Result } from "effect"
import type { Fault } from "../../domain/Errors.ts"
import type { Budget } from "../../domain/evaluation/Budget.ts"
import * as Jmespath from "../../domain/evaluation/Jmespath.ts"
import * as JsonSchema from "../../domain/evaluation/JsonSchema.ts"
import type { FilledPart } from "../../domain/prompt/FilledPart.ts"
import { filter } from "../../domain/prompt/Filter.ts"
import * as Liquid from "../../domain/prompt/Liquid.ts"
import type { BrokenBraces } from "../../domain/prompt/Template.ts"
import { type Attachments, type Found, findIn } from "../../domain/run/Attachments.ts"
import type { Variables } from "../../domain/run/Run.ts"
import type { JsonObject } from "../../domain/webhook/WebhookSettingKinds.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import { type MarkdownText, type Shown, shown } from "../markdown/Shown.ts"

/** Input and output can be sent to another thread. */
interface Task<Input, Output> {
  /** Whether it can be tried with little work and, if that is exceeded, is known to take a millisecond at most. */
  readonly isQuick: (input: Input) => boolean
  readonly run: (input: Input, budget: Budget) => Output
}

/** In memory, at most. */
const maxFilters = 2_000
const maxTemplates = 400

/** Some texts of this length take three milliseconds, and of four times as many characters, sixteen times as long. */
const quickMarkdown = 500

/** The parser takes about a microsecond for a character. */
const quickTemplate = 2_000

const always = () => true
const isQuickTemplate = ({ template }: { readonly template: string }) => template.length <= quickTemplate

/** `Left`: why the template cannot be saved, or fails for any input. */
type Parsed = Result.Result<Liquid.LiquidTemplate, BrokenBraces>

/** Each thread has its own, with what it has compiled. */
export const make = () => {
  const filters = new RecentMap<string, Jmespath.Expression>(maxFilters)
  const templates = new RecentMap<string, Parsed>(maxTemplates)

  const compile = (expression: string): Jmespath.Expression => {
    const known = filters.get(expression)
    if (known !== undefined) return known
    const fresh = Jmespath.compile(expression)
    filters.set(expression, fresh)
    return fresh
  }

  const parse = (text: string): Parsed => {
    const known = templates.get(text)
    if (known !== undefined) return known
    const fresh = Liquid.parse(text)
    templates.set(text, fresh)
    return fresh
  }

  return {
    filter: task({
      isQuick: always,
      run: ({ accept_if, input }: { readonly accept_if: string; readonly input: unknown }, budget) =>
        filter(accept_if, input, { budget, compile })
    }),

    /** The files that an input names; or that an expression fails, or needs too much work. */
    attachments: task({
      isQuick: always,
      run: (
        { input, setting }: { readonly setting: Attachments; readonly input: unknown },
        budget
      ): { readonly found: ReadonlyArray<Found> } | { readonly failed: true } => {
        try {
          return { found: findIn(setting, input, { budget, compile }) }
        } catch {
          return { failed: true }
        }
      }
    }),

    /** The faults of a value; none: it is valid. */
    value: task({
      isQuick: ({ schema, value }) => JsonSchema.isQuick(schema, value),
      run: ({ schema, value }: { readonly schema: JsonObject; readonly value: unknown }): ReadonlyArray<Fault> =>
        JsonSchema.faultsIn(schema, value)
    }),

    /** The faults of a schema; none: it can be saved. */
    schema: task({
      isQuick: JsonSchema.isQuickSchema,
      run: (schema: JsonObject): ReadonlyArray<Fault> => JsonSchema.faultsOfSchema(schema)
    }),

    /** The names that a template reads; or its fault, such as exceeding a limit for any input. */
    names: task({
      isQuick: isQuickTemplate,
      run: (
        { template }: { readonly template: string },
        budget
      ): { readonly names: ReadonlyArray<string> } | { readonly broken: BrokenBraces } => {
        const parsed = parse(template)
        if (Result.isFailure(parsed)) return { broken: parsed.failure }
        const broken = Liquid.excessOf(parsed.success, budget)
        return broken === undefined ? { names: parsed.success.names } : { broken }
      }
    }),

    /** An agent's answer, as a service shows it. */
    markdown: task({
      isQuick: ({ body }) => body.length <= quickMarkdown,
      run: ({ service, ...text }: MarkdownText & { readonly service: keyof Shown }): Shown[keyof Shown] =>
        shown[service](text)
    }),

    /** A filled template. */
    fill: task({
      isQuick: isQuickTemplate,
      run: (
        {
          limit,
          template,
          variables
        }: { readonly template: string; readonly variables: Variables; readonly limit: number },
        budget
      ): { readonly parts: ReadonlyArray<FilledPart> } | { readonly failure: Liquid.Failure } => {
        const parsed = parse(template)
        if (Result.isFailure(parsed)) return { failure: { _tag: "Failed", isOverBudget: false, ...parsed.failure } }
        return Result.match(Liquid.fill(parsed.success, variables, { limit, budget }), {
          onFailure: (failure) => ({ failure }),
          onSuccess: (parts) => ({ parts })
        })
      }
    })
  }
}

const task = <Input, Output>(task: Task<Input, Output>): Task<Input, Output> => task

type Tasks = ReturnType<typeof make>
export type TaskName = keyof Tasks
export type InputOf<Name extends TaskName> = Parameters<Tasks[Name]["run"]>[0]
export type OutputOf<Name extends TaskName> = ReturnType<Tasks[Name]["run"]>
