/**
 * A JSON Schema as the APIs of models take it for a tool. OpenAI and Anthropic refuse a request with all its tools if one
 * schema breaks their rules. At the top is an object, without `$ref`, `enum` and alternatives. Each array has `items`, and
 * each object `properties`. Names of members are as in `isListedName`. What cannot be said so is left out: a call is checked
 * by the whole schema.
 */
import { Predicate } from "effect"
import type { JsonObject } from "../../domain/webhook/WebhookSettingKinds.ts"

/** Parts of a listed schema at most: references may repeat others any number of times. */
const mostParts = 500
const mostDepth = 20

/** Keywords that are listed as they are. */
const plain = [
  ...["type", "title", "description", "enum", "const", "default", "examples", "format", "pattern"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"]
]

const alternatives = ["anyOf", "oneOf", "allOf"] as const

/** A member's name in a listed schema. Others are only mentioned. */
const isListedName = (name: string): boolean => /^[a-zA-Z0-9_.-]{1,64}$/.test(name)

/** An empty `enum` or `examples` is refused. */
const isSaid = (value: unknown): boolean => value !== undefined && !(Array.isArray(value) && value.length === 0)

const lists = (schema: JsonObject, type: string): boolean =>
  schema.type === type || (Array.isArray(schema.type) && schema.type.includes(type))

const schemasIn = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const textsIn = (value: unknown): ReadonlyArray<string> => schemasIn(value).filter(Predicate.isString)

const membersOf = (value: unknown): ReadonlyArray<readonly [string, unknown]> =>
  Predicate.isObject(value) ? Object.entries(value) : []

/** The part of a schema that a reference within it names. */
const partAt = (root: JsonObject, reference: string): unknown => {
  if (!/^#(\/|$)/.test(reference)) return undefined
  const steps = reference.slice(1).split("/").slice(1)
  return steps.reduce<unknown>((part, step) => {
    let name = step
    try {
      name = decodeURIComponent(step)
    } catch {}
    name = name.replaceAll("~1", "/").replaceAll("~0", "~")
    return typeof part === "object" && part !== null && Object.hasOwn(part, name)
      ? (part as JsonObject)[name]
      : undefined
  }, root)
}

/** Says which members there are beside the listed ones. */
const mentioning = (description: unknown, hidden: ReadonlyArray<readonly [name: string, required: boolean]>) => {
  if (hidden.length === 0) return typeof description === "string" ? { description } : {}
  const names = hidden.map(([name, required]) => `${JSON.stringify(name)}${required ? " (required)" : ""}`)
  const text = `It also has the members ${names.join(", ")}.`
  return { description: typeof description === "string" ? `${description} ${text}` : text }
}

/** The members of an object, as its schema describes them. */
interface Members {
  readonly properties: ReadonlyMap<string, ReadonlyArray<unknown>>
  readonly required: ReadonlySet<string>
  /** Whether the schema itself is closed, not its alternatives. */
  readonly isClosed: boolean
}

export const listedSchema = (root: JsonObject): JsonObject & { readonly type: "object" } => {
  let left = mostParts

  const resolved = (given: unknown, depth: number): JsonObject | undefined => {
    if (!Predicate.isObject(given) || depth > mostDepth || --left < 0) return undefined
    if (typeof given.$ref !== "string") return given
    const { $ref, ...beside } = given
    const part = resolved(partAt(root, $ref), depth + 1)
    return { ...part, ...beside }
  }

  const objectOf = (schema: JsonObject, { isClosed, properties, required }: Members, depth: number): JsonObject => {
    const all = [...new Set([...properties.keys(), ...required])]
    const hidden = all.filter((name) => !isListedName(name))
    const shown = [...properties].filter(([name]) => isListedName(name))
    const listedRequired = [...required].filter((name) => isListedName(name) && properties.has(name))
    const { additionalProperties: more } = schema
    return {
      properties: Object.fromEntries(
        shown.map(([name, schemas]) => {
          const [first, ...others] = schemas.map((each) => listed(each, depth + 1))
          return [name, others.length === 0 ? first! : { anyOf: [first!, ...others] }]
        })
      ),
      ...(listedRequired.length > 0 && { required: listedRequired }),
      ...(isClosed &&
        hidden.length === 0 &&
        more !== undefined &&
        schema.patternProperties === undefined && {
          additionalProperties: typeof more === "boolean" ? more : listed(more, depth + 1)
        }),
      ...mentioning(
        schema.description,
        hidden.map((name) => [name, required.has(name)])
      )
    }
  }

  const ownMembers = (schema: JsonObject): Members => ({
    properties: new Map(membersOf(schema.properties).map(([name, value]) => [name, [value]])),
    required: new Set(textsIn(schema.required)),
    isClosed: true
  })

  const listed = (given: unknown, depth: number): JsonObject => {
    const schema = resolved(given, depth)
    if (schema === undefined) return {}
    const isObject = lists(schema, "object") || schema.properties !== undefined
    return {
      ...Object.fromEntries(plain.flatMap((name) => (isSaid(schema[name]) ? [[name, schema[name]]] : []))),
      ...((lists(schema, "array") || schema.items !== undefined) && { items: listed(schema.items, depth + 1) }),
      ...(isObject && objectOf(schema, ownMembers(schema), depth)),
      ...Object.fromEntries(
        alternatives.flatMap((name) => {
          const parts = schemasIn(schema[name]).map((part) => listed(part, depth + 1))
          return parts.length === 0 ? [] : [[name, parts]]
        })
      )
    }
  }

  /** The members of an object, those of its alternatives included. */
  const allMembers = (given: unknown, depth: number): Members => {
    const schema = resolved(given, depth)
    if (schema === undefined) return { properties: new Map(), required: new Set(), isClosed: false }
    const own = ownMembers(schema)
    if (depth > 0) left -= own.properties.size
    const of = (value: unknown) => schemasIn(value).map((part) => allMembers(part, depth + 1))
    const all = of(schema.allOf)
    const choices = [of(schema.anyOf), of(schema.oneOf)].filter((parts) => parts.length > 0)
    const conditional = of([schema.then, schema.else, ...membersOf(schema.dependentSchemas).map(([, part]) => part)])
    const properties = new Map<string, ReadonlyArray<unknown>>(own.properties)
    const parts = [...all, ...choices.flat(), ...conditional]
    for (const [name, schemas] of parts.flatMap((part) => [...part.properties])) {
      const known = properties.get(name) ?? []
      const texts = known.map((each) => JSON.stringify(each))
      properties.set(name, [...known, ...schemas.filter((each) => !texts.includes(JSON.stringify(each)))])
    }
    const inEach = choices.flatMap(([first, ...others]) =>
      [...first!.required].filter((name) => others.every(({ required }) => required.has(name)))
    )
    const required = new Set([...own.required, ...all.flatMap((part) => [...part.required]), ...inEach])
    return { properties, required, isClosed: parts.length === 0 }
  }

  const schema = resolved(root, 0)
  if (schema === undefined || (schema.type !== undefined && !lists(schema, "object"))) {
    return { type: "object", properties: {} }
  }
  const members = allMembers(root, 0)
  return {
    ...(typeof schema.title === "string" && { title: schema.title }),
    ...objectOf(schema, members, 0),
    type: "object"
  }
}
