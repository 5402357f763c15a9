/** Which schemas of answers can be handed to a program or an endpoint: each knows a part of JSON Schema, and fails on the rest. */
import { Predicate } from "effect"
import type { JsonObject } from "../../domain/webhook/WebhookSettingKinds.ts"

/** What all of them know. */
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
  Predicate.isReadonlyRecord(schema) && test(schema) && partsOf(schema).every((part) => every(part, test))

/** An object, without alternatives at the top, that uses nothing unusual. */
export const isPlain = (schema: JsonObject): boolean =>
  schema.type === "object" &&
  schema.anyOf === undefined &&
  schema.$ref === undefined &&
  every(withoutDraft(schema), (part) => Object.keys(part).every((keyword) => known.includes(keyword)))

const isClosed = ({ additionalProperties, properties, required = [] }: JsonObject): boolean =>
  additionalProperties === false &&
  Object.keys((properties ?? {}) as object).every((name) => (required as Array<unknown>).includes(name))

/** What OpenAI takes as `strict`: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas */
export const isStrict = (schema: JsonObject): boolean =>
  isPlain(schema) &&
  every(withoutDraft(schema), (part) => {
    const { $ref, anyOf, type } = part
    const isObject = [type].flat().includes("object") || part.properties !== undefined
    return (type ?? $ref ?? anyOf) !== undefined && (!isObject || isClosed(part))
  })

/** The end of a prompt whose agent does not get the schema in another way. */
export const inWords = (schema: JsonObject): string =>
  `\n\nAnswer with JSON that matches this schema and nothing else:\n${JSON.stringify(schema)}`
