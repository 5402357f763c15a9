/**
 * A field of a request becomes a flag or an argument, by its schema. What is given for it becomes the field's JSON, which the
 * schema decodes. All faults are reported at once.
 */
import { Array as Arr, SchemaAST as AST, Config, Effect, type FileSystem, Option, Record, Result, Schema } from "effect"
import { type Command, Param, Primitive } from "effect/cli"
import type { HttpClient } from "effect/http"
import { faultsOf } from "../domain/SchemaFaults.ts"
import type { Webhook } from "../domain/webhook/Webhook.ts"
import type { Connection } from "./Call.ts"
import {
  type Endpoint,
  type EndpointName,
  endpointOf,
  type Field,
  type Place,
  type Request,
  wordsOf
} from "./Endpoint.ts"
import { type Failure, stopIfOnlyChecks, wrongUsage } from "./Failure.ts"

/** A flag or an argument, as help and completion show it. */
export interface Word {
  readonly about?: string
  /** The name for its value. */
  readonly value?: string
  /** The values that it takes. */
  readonly words?: ReadonlyArray<string>
  readonly kind?: "file" | "switch"
  readonly repeats?: boolean
}

/** The texts that were given for a flag. */
export type Given = (flag: string) => ReadonlyArray<string>

/** How the command line has a field. */
export interface Rule {
  /** By their names. Several of them make one value. */
  readonly flags: Readonly<Record<string, Word>>
  /** The only one of them is an argument. */
  readonly isArgument?: "required" | "optional"
  /** Only one of them may be given. */
  readonly isEither?: boolean
  /** The field's JSON, `undefined` without it, or the fault, with the flag. Other faults are those of the schema. */
  readonly read: (given: Given) => Effect.Effect<unknown, string, FileSystem.FileSystem>
  /** As in `must be a number of seconds`, in place of the schema's own text. It may begin with flags. */
  readonly accepts?: string
  /** The flag for a part of the value. */
  readonly labelOf?: (path: ReadonlyArray<string>) => string | undefined
  /** Finds the object on the server that a text stands for, with the ID that the field takes. */
  readonly find?: (
    connection: Connection,
    text: string,
    params: Readonly<Record<string, unknown>>,
    missing: string
  ) => Effect.Effect<{ readonly id: string }, Failure, HttpClient.HttpClient>
  /** The title of a 404. */
  readonly missing?: (text: string, given: Readonly<Record<string, string>>) => string
}

/** `false`: it is no input. */
export type Rules = Readonly<Record<string, ((field: Field, endpoint: Endpoint) => Rule) | false>>

/** A flag whose value is a text. */
export const one = (name: string, word: Word): Param.Single<"flag", string> =>
  Param.makeSingle({
    kind: "flag",
    name,
    typeName: word.value,
    negation: false,
    description: Option.fromUndefinedOr(word.about),
    primitiveType: lenient(primitiveOf(word))
  })

const primitiveOf = ({ kind, words }: Word): Primitive.Primitive<unknown> => {
  if (words !== undefined) return Primitive.Choice(words.map((word) => [word, word]))
  return kind === "file" ? Primitive.Path("file") : kind === "switch" ? Primitive.Boolean : Primitive.String
}

/** Help and completion know its kind, but its faults are reported here, with all others. */
const lenient = ({
  "~effect/cli/Primitive": _,
  parse: __,
  ...kind
}: Primitive.Primitive<unknown>): Primitive.Primitive<string> => ({
  ...Primitive.String,
  ...kind
})

type Texts = ReadonlyArray<string>

const argument = (name: string, { about = "" }: Word, isRequired: boolean): Param.Param<"argument", Texts> => {
  const single = Param.makeSingle({
    kind: "argument",
    name,
    description: Option.some(about),
    primitiveType: Primitive.String
  })
  return isRequired
    ? Param.withFallbackConfig(
        Param.map(single, (text): Texts => [text]),
        Config.succeed<Texts>([])
      )
    : Param.map(Param.optional(single), Option.toArray)
}

export const paramsOf = ({ flags, isArgument }: Rule): Readonly<Record<string, Param.Param<Param.ParamKind, Texts>>> =>
  Object.fromEntries(
    Object.entries(flags).map(([name, word]) => [
      name,
      isArgument ? argument(name, word, isArgument === "required") : Param.variadic(one(name, word))
    ])
  )

/** A value that the texts of one flag make; without them, there is none. */
export const flag = (
  name: string,
  word: Word,
  parse: (texts: Arr.NonEmptyReadonlyArray<string>) => unknown = ([text]) => text,
  more: Partial<Rule> = {}
): Rule => ({
  flags: { [name]: word },
  read: (given) => Effect.sync(() => Arr.match(given(name), { onEmpty: () => undefined, onNonEmpty: parse })),
  ...more
})

const isOn = (given: Given, name: string): boolean => given(name).some((text) => text !== "false")

/** Each of these switches sets the field to its value. */
export const switches = (
  values: Readonly<Record<string, readonly [value: unknown, about: string]>>,
  rule?: Rule
): Rule => ({
  ...rule,
  flags: { ...rule?.flags, ...Record.map(values, ([, about]): Word => ({ kind: "switch", about })) },
  isEither: true,
  read: (given) => {
    const on = Object.keys(values).find((name) => isOn(given, name))
    return on === undefined ? (rule?.read(given) ?? Effect.undefined) : Effect.succeed(values[on]![0])
  }
})

/** The differences from the field's schema. */
interface Options extends Word {
  readonly name?: string
  readonly isArgument?: boolean
  readonly accepts?: string
}

const isNumber = (text: string): boolean => /^-?\d+(\.\d+)?$/.test(text)

/** The flag or argument for a field, by its schema. */
export const fieldRule = (field: Field, { accepts, isArgument, name, ...word }: Options = {}): Rule => {
  const { ast, isNullable, place } = field
  const called = name ?? field.name.replaceAll("_", "-")
  const about = field.about.replace("`null` removes it.", "An empty text removes it.").replace(/\.$/, "")
  const make = (usual: Word, parse: (texts: Arr.NonEmptyReadonlyArray<string>) => unknown, takes?: string) => {
    const says = accepts ?? takes
    return flag(
      called,
      { about, ...usual, ...word },
      ([text, ...more]) => (isNullable && text === "" ? null : parse([text, ...more])),
      {
        ...(says !== undefined && { accepts: says }),
        ...(isArgument && { isArgument: "required" })
      }
    )
  }
  const words = wordsOf(ast)
  if (AST.isBoolean(ast) || words[0] === "true") {
    const on = place === "payload" ? true : "true"
    return {
      ...make({ kind: "switch" }, () => on),
      read: (given) => Effect.succeed(isOn(given, called) ? on : undefined)
    }
  }
  if (words.length > 0) return make({ words }, ([text]) => text, `must be one of ${words.join(", ")}`)
  if (AST.isDeclaration(ast)) return make({ value: "time" }, ([text]) => timeOf(text), acceptsTime)
  if (AST.isArrays(ast)) {
    const each = ast.rest[0] === undefined ? [] : wordsOf(ast.rest[0])
    const some = each.length === 0 ? undefined : `must be one or more of ${each.join(", ")}, separated by commas`
    const split = (texts: Texts) => texts.flatMap((text) => text.split(","))
    return make(
      { value: "list", repeats: true },
      (texts) => (place === "payload" ? split(texts) : texts.join(",")),
      some
    )
  }
  if (AST.isNumber(ast)) {
    return make({ value: "number" }, ([text]) => (place === "payload" && isNumber(text) ? Number(text) : text))
  }
  return make({ value: "text" }, ([text]) => text)
}

/** A day means its start in UTC. */
const timeOf = (text: string): string => (/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text)
const acceptsTime = "must be a time such as 2026-01-02T03:04:05Z, or a day such as 2026-01-02"

/** The JSON of a request, part by part. */
export type Raw = { readonly [P in Place]: Readonly<Record<string, unknown>> }

export interface InputOptions {
  /** The special rules for fields of this command. */
  readonly rules?: Rules
  /** The values that the command sets itself. It takes no other fields of a `payload`. */
  readonly set?: Partial<Raw>
  /** Flags that exclude each other. */
  readonly apart?: ReadonlyArray<ReadonlyArray<string>>
}

export interface Found<N extends EndpointName> {
  readonly request: Request<N>
  /** The objects that the arguments stand for, by the arguments' names. */
  readonly found: { readonly webhook: Webhook; readonly [argument: string]: { readonly id: string } }
  readonly notFound: string | undefined
}

interface Input<N extends EndpointName> {
  readonly endpoint: Endpoint
  readonly config: Command.Command.Config
  /** The fault that the server finds in a field, by the flag that sets it. */
  readonly labelOf: (pointer: string) => string
  readonly read: (
    words: Readonly<Record<string, Texts>>,
    connection: Connection,
    prepare?: (raw: Raw) => Effect.Effect<Raw, Failure>
  ) => Effect.Effect<Found<N>, Failure, FileSystem.FileSystem | HttpClient.HttpClient>
}

const need = ({ flags }: Rule): string =>
  Object.entries(flags)
    .filter(([, { kind }]) => kind !== "switch")
    .map(([name, { value = "value" }]) => `--${name} ${value}`)
    .join(" or ")

export const inputOf = <N extends EndpointName>(
  name: N,
  usual: Rules,
  { apart = [], rules = {}, set = {} }: InputOptions
): Input<N> => {
  const endpoint = endpointOf(name)
  const inputs = endpoint.fields.flatMap((field) => {
    const { name, place } = field
    const rule = rules[name] ?? usual[place === "params" ? `${segmentOf(endpoint.path, name)}/:${name}` : name]
    const isSet = place === "payload" ? set.payload !== undefined : set[place]?.[name] !== undefined
    return rule === false || isSet
      ? []
      : [{ ...field, rule: rule === undefined ? fieldRule(field) : rule(field, endpoint) }]
  })
  const isArgument = ({ rule }: (typeof inputs)[number]) => rule.isArgument !== undefined
  const ordered = [...inputs.filter(isArgument), ...inputs.filter((input) => !isArgument(input))]
  const find = (field: string) => inputs.find(({ name }) => name === field)?.rule

  const labelOf = (field: string, path: ReadonlyArray<string>): string => {
    const rule = find(field)
    if (rule === undefined) return [field, ...path].join(" ")
    const [flag = field] = Object.keys(rule.flags)
    return rule.labelOf?.(path) ?? (rule.isArgument ? `<${flag}>` : `--${flag}`)
  }
  const faultText = (path: ReadonlyArray<string>, detail: string): string => {
    const [field = "", ...rest] = path
    const rule = find(field)
    if (detail === "is required" && rule && rest.length === 0) return `missing option ${need(rule)}`
    const says = rule?.accepts ?? detail
    return says.startsWith("--") ? says : `${labelOf(field, rest)} ${says}`
  }
  const decode = (raw: Raw) => {
    const parts = endpoint.schemas.map(
      ([place, schema]) => [place, Schema.decodeUnknownResult(schema, all)(raw[place])] as const
    )
    return {
      request: Object.fromEntries(
        parts.map(([place, part]) => [place, Result.getOrUndefined(part)])
      ) as unknown as Request<N>,
      faults: parts.flatMap(([, part]) => (Result.isFailure(part) ? faultsOf(part.failure.issue) : []))
    }
  }

  return {
    endpoint,
    config: Object.assign({}, ...ordered.map(({ rule }) => paramsOf(rule))),
    labelOf: (pointer) => {
      const [, field = "", ...path] = pointer.split("/")
      return find(field) === undefined ? pointer : labelOf(field, path)
    },
    read: Effect.fnUntraced(function* (words, connection, prepare = Effect.succeed) {
      const given: Given = (flag) => words[flag] ?? []
      const faults: Array<string> = []
      const wrong = new Set<string>()
      const raw: Record<Place, Record<string, unknown>> = { params: {}, query: {}, payload: {}, headers: {} }
      const areApart = (names: ReadonlyArray<string>): boolean => {
        const both = names.filter((name) => given(name).length > 0)
        if (both.length > 1) faults.push(`use either ${both.map((name) => `--${name}`).join(" or ")}, not both`)
        return both.length <= 1
      }
      for (const { name, place, rule } of ordered) {
        for (const [flag, { kind, repeats }] of Object.entries(rule.flags)) {
          if (!repeats && kind !== "switch" && given(flag).length > 1) faults.push(`--${flag} may be given only once`)
        }
        if (rule.isEither && !areApart(Object.keys(rule.flags))) {
          wrong.add(name)
          continue
        }
        const value = yield* Effect.result(rule.read(given))
        const isMissing = rule.isArgument === "required" && Result.isSuccess(value) && value.success === undefined
        if (Result.isSuccess(value) && value.success !== undefined) raw[place][name] = value.success
        if (Result.isFailure(value) || isMissing) {
          wrong.add(name)
          faults.push(Result.isFailure(value) ? value.failure : `missing argument ${labelOf(name, [])}`)
        }
      }
      apart.forEach(areApart)
      const prepared = yield* prepare(merged(raw, set))
      const isReference = (field: string) => find(field)?.find !== undefined
      const checked = decode(prepared)
      for (const { detail, path } of checked.faults) {
        const [field = "", ...rest] = path.map(String)
        if (wrong.has(field) || (isReference(field) && detail !== "is required")) continue
        faults.push(faultText([field, ...rest], detail))
      }
      if (faults.length > 0) return yield* wrongUsage(Arr.dedupe(faults))
      yield* stopIfOnlyChecks

      const found: Record<string, { readonly id: string }> = {}
      const texts: Record<string, string> = {}
      let notFound: string | undefined
      const resolved = merged(prepared, {})
      for (const { name, place, rule } of inputs) {
        const value = prepared[place][name]
        const [flag = name] = Object.keys(rule.flags)
        if (typeof value === "string" && rule.isArgument) texts[flag] = value
        if (rule.missing && typeof value === "string") notFound = rule.missing(value, texts)
        if (rule.find === undefined || value === undefined || value === null) continue
        const objects = yield* Effect.forEach(Arr.ensure(value as string), (text) =>
          rule.find!(
            connection,
            text,
            resolved.params,
            rule.missing?.(text, texts) ?? `${labelOf(name, [])}: nothing has the id ${JSON.stringify(text)}`
          )
        )
        found[flag] = objects[0]!
        resolved[place][name] = Array.isArray(value) ? objects.map(({ id }) => id) : objects[0]!.id
      }
      return { request: decode(resolved).request, found: found as Found<N>["found"], notFound }
    })
  }
}

const all = { errors: "all" } as const

const merged = (raw: Raw, more: Partial<Raw>): Record<Place, Record<string, unknown>> => ({
  params: { ...raw.params, ...more.params },
  query: { ...raw.query, ...more.query },
  payload: { ...raw.payload, ...more.payload },
  headers: { ...raw.headers, ...more.headers }
})

/** `webhooks` in `/api/webhooks/:id/resume`. */
const segmentOf = (path: string, parameter: string): string =>
  new RegExp(`([^/]+)/:${parameter}(/|$)`).exec(path)?.[1] ?? ""
