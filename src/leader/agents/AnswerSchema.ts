/** The answer schemas that a program or an endpoint takes: each knows a part of JSON Schema, and fails on the rest. */
import { Predicate } from "effect"
import type { JsonObject } from "../../domain/webhook/WebhookSettingKinds.ts"

/** The keywords that all of them know. */
const known = [
  ...["$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "items", "maxItems", "maximum"],
  ...["minItems", "minimum", "pattern", "properties", "required", "title", "type"]
]

/** The part of the schema that is handed over: Claude Code refuses `$schema`. */
export const withoutDraft = ({ $schema: _, ...schema }: JsonObject): JsonObject => schema

const partsOf = ({ $defs = {}, additionalProperties, anyOf = [], items, properties = {} }: JsonObject) => [
  ...[$defs, properties, anyOf].flatMap((parts) => Object.values(parts as object)),
  ...(typeof additionalProperties === "object" ? [additionalProperties] : []),
  ...(items === undefined ? [] : [items])
]

const every = (schema: unknown, test: (schema: JsonObject) => boolean): boolean =>
  Predicate.isReadonlyObject(schema) && test(schema) && partsOf(schema).every((part) => every(part, test))

/** An object, without alternatives at the top, that uses nothing unusual. */
export const isPlain = (schema: JsonObject): boolean =>
  schema.type === "object" &&
  schema.anyOf === undefined &&
  schema.$ref === undefined &&
  every(withoutDraft(schema), (part) => Object.keys(part).every((keyword) => known.includes(keyword)))

/** The object names all its properties, requires each of them and no others. */
const isClosed = ({ additionalProperties, properties, required }: JsonObject): boolean => {
  if (additionalProperties !== false || !Predicate.isReadonlyObject(properties)) return false
  const [names, needed] = [Object.keys(properties), new Set(Array.isArray(required) ? required : [])]
  return needed.size === names.length && names.every((name) => needed.has(name))
}

const typeOf = (value: unknown): string => (value === null ? "null" : typeof value)

/** Whether all of the values are plain, and of one of the types. */
const areOf = (types: ReadonlyArray<unknown>, values: unknown): boolean =>
  Array.isArray(values) &&
  values.length > 0 &&
  values.every((value) => {
    const type = typeOf(value)
    return type !== "object" && (types.includes(type) || (types.includes("integer") && Number.isInteger(value)))
  })

/** Syntax that only some engines know: lookaround, named groups, references, properties, and lazy repetition. */
const unusualPattern = /\(\?(?!:)|\\[1-9bBckpPuxX]|[*+?}][?+]/

const isCommonPattern = (pattern: unknown): boolean => {
  try {
    return typeof pattern === "string" && !unusualPattern.test(pattern) && new RegExp(pattern, "u") !== undefined
  } catch {
    return false
  }
}

/** A long list of texts may have 15,000 characters. */
const isShortEnum = (values: unknown): boolean =>
  !Array.isArray(values) || values.length <= 250 || values.map(String).join("").length <= 15_000

const besidesAnyOf = ["anyOf", "description", "title", "$defs"]

const isStrictPart = (part: JsonObject, definitions: ReadonlyArray<string>): boolean => {
  const { $ref, anyOf, const: value, enum: values, items, pattern, type } = part
  const keywords = Object.keys(part)
  if ($ref !== undefined)
    return keywords.length === 1 && ($ref === "#" || definitions.some((name) => $ref === `#/$defs/${name}`))
  if (anyOf !== undefined)
    return Array.isArray(anyOf) && anyOf.length > 0 && keywords.every((keyword) => besidesAnyOf.includes(keyword))
  const types = [type].flat()
  return (
    types[0] !== undefined &&
    (!types.includes("object") ? part.properties === undefined : isClosed(part)) &&
    (!types.includes("array") ? items === undefined : Predicate.isReadonlyObject(items)) &&
    (values === undefined || (areOf(types, values) && isShortEnum(values))) &&
    (value === undefined || areOf(types, [value])) &&
    (pattern === undefined || isCommonPattern(pattern))
  )
}

/** The amounts that OpenAI limits. */
const strictLimits = { depth: 10, properties: 5_000, characters: 120_000, enumValues: 1_000 }

const isWithinLimits = (schema: JsonObject): boolean => {
  const total = { properties: 0, characters: 0, enumValues: 0 }
  const count = (part: unknown, depth: number): boolean => {
    if (!Predicate.isReadonlyObject(part)) return false
    const { $defs = {}, const: value, enum: values = [], properties = {} } = part
    const names = Object.keys(properties as object)
    const texts = [...names, ...Object.keys($defs as object), ...(values as ReadonlyArray<unknown>), value ?? ""]
    total.properties += names.length
    total.characters += texts.reduce<number>((sum, text) => sum + String(text).length, 0)
    total.enumValues += (values as ReadonlyArray<unknown>).length
    return depth <= strictLimits.depth && partsOf(part).every((inner) => count(inner, depth + 1))
  }
  return (
    count(schema, 0) &&
    total.properties <= strictLimits.properties &&
    total.characters <= strictLimits.characters &&
    total.enumValues <= strictLimits.enumValues
  )
}

/** OpenAI's `strict` schemas: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas */
export const isStrict = (schema: JsonObject): boolean => {
  const plain = withoutDraft(schema)
  const definitions = Object.keys((plain.$defs ?? {}) as object)
  const isInner = (part: JsonObject) => part === plain || part.$defs === undefined
  return (
    isPlain(schema) && every(plain, (part) => isInner(part) && isStrictPart(part, definitions)) && isWithinLimits(plain)
  )
}

/** How endpoints say that they do not take the schema. */
export const refusedSchema = /invalid.{0,20}schema|json_schema|response_format|text\.format|output.?schema/i

/** The end of a prompt whose agent does not get the schema in another way. */
export const inWords = (schema: JsonObject): string =>
  `\n\nAnswer with JSON that matches this schema and nothing else:\n${JSON.stringify(schema)}`
