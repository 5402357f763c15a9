/**
 * JSON Schema, draft 2020-12, for callers' input and agents' answers. Interpreted and never compiled to code; nothing is fetched.
 * Nothing here limits the duration of a check: a regular expression may never finish. What `isQuick` takes a millisecond at most.
 */

import { dereference, type OutputUnit, type Schema, validate } from "@cfworker/json-schema"
import { type Fault, maxFaults } from "../Errors.ts"
import * as Json from "../Json.ts"
import { checkVariables } from "../prompt/Variables.ts"
import type { JsonObject } from "../webhook/WebhookSettingKinds.ts"
import { metaSchema } from "./MetaSchema.ts"

/** Maximum length of a fault's text, which may quote the schema and the input's names, in characters. */
const maxText = 300
const cut = (text: string): string => (text.length > maxText ? `${text.slice(0, maxText)}…` : text)

/**
 * All faults of a value are listed if its items, times the characters of the schema, are no more than this; of a larger
 * one, only the first. Each item can have as many faults as the schema has keywords, and faults quote the schema: 10 KB of
 * items and an `enum` of 65 KB would take gigabytes.
 */
const listingLimit = 4_000_000

/** A schema, its parts by address, and its length in characters. */
interface Prepared {
  readonly schema: Schema
  readonly parts: Record<string, Schema | boolean>
  readonly length: number
}

/** The library writes into its schema. */
const prepare = (given: object): Prepared => {
  const schema = structuredClone(given) as Schema
  return { schema, parts: dereference(schema), length: JSON.stringify(given).length }
}

/** Whether the value has more items, at any depth, than this. */
const hasMoreThan = (limit: number, value: unknown): boolean => {
  let left = limit
  const isOver = (part: unknown): boolean => {
    if (--left < 0) return true
    return typeof part === "object" && part !== null && Object.values(part).some(isOver)
  }
  return isOver(value)
}

const errorsOf = ({ schema, parts, length }: Prepared, value: unknown): ReadonlyArray<OutputUnit> => {
  const stopsAtFirst = hasMoreThan(listingLimit / length, value)
  return validate(value, schema, "2020-12", parts, stopsAtFirst).errors
}

const preparedMetaSchema = prepare(metaSchema)
const prepared = new WeakMap<JsonObject, Prepared>()

const preparedOnce = (schema: JsonObject): Prepared => {
  const known = prepared.get(schema)
  if (known !== undefined) return known
  const fresh = prepare(schema)
  prepared.set(schema, fresh)
  return fresh
}

/** Keywords that only say that a part is wrong. The fault in that part is listed as well. */
const applying = new Set([
  ...["$ref", "allOf", "if", "dependentSchemas", "properties", "patternProperties", "additionalProperties"],
  ...["unevaluatedProperties", "items", "prefixItems", "unevaluatedItems"]
])

/** Keywords that are one fault, whatever is wrong with each alternative. */
const choosing = new Set(["anyOf", "oneOf", "contains", "not"])

const detailOf = ({ error, keyword }: OutputUnit): string =>
  keyword === "false" ? "is not allowed here" : cut(error.charAt(0).toLowerCase() + error.slice(1).replace(/\.$/, ""))

const pointerOf = ({ instanceLocation }: OutputUnit): string => cut(decodeURIComponent(instanceLocation.slice(1)))

const faultsOf = (units: ReadonlyArray<OutputUnit>): ReadonlyArray<Fault> => {
  const choices = units.flatMap(({ keyword, keywordLocation }) => (choosing.has(keyword) ? `${keywordLocation}/` : []))
  const faults = new Map<string, Fault>()
  for (const unit of units) {
    if (faults.size === maxFaults) break
    if (applying.has(unit.keyword) || choices.some((choice) => unit.keywordLocation.startsWith(choice))) continue
    const fault = { pointer: pointerOf(unit), detail: detailOf(unit) }
    faults.set(JSON.stringify(fault), fault)
  }
  return [...faults.values()]
}

/** The faults of a value, with pointers into it; empty if it is valid. */
export const faultsIn = (schema: JsonObject, value: unknown): ReadonlyArray<Fault> => {
  if (!Json.hasExact(value) && !Json.hasExact(schema)) return faultsOf(errorsOf(preparedOnce(schema), value))
  const [ordered, plain] = Json.withOrderedNumbers([schema, value])
  return faultsOf(errorsOf(prepare(ordered), plain))
}

/** A schema's items, at any depth, times those of a value. Each part is checked once with each part of the value at most. */
const quickChecks = 5_000

/** Keywords whose checks may take longer: regular expressions, also of formats, references, and comparisons of all items. */
const slow = ["$ref", "format", "pattern", "patternProperties", "uniqueItems"]

/** The items of a value, at any depth, and of its texts: one for each 64 characters. Counted up to a limit. */
const sizeOf = (value: unknown, limit: number): number => {
  if (typeof value === "string") return 1 + value.length / 64
  if (typeof value !== "object" || value === null) return 1
  let size = 1
  for (const name in value) {
    size += sizeOf((value as Record<string, unknown>)[name], limit - size)
    if (size >= limit) return size
  }
  return size
}

/** Whether it has one of these keywords, or a property of its name. */
const hasSlow = (schema: unknown): boolean =>
  typeof schema === "object" &&
  schema !== null &&
  Object.entries(schema).some(([name, part]) => slow.includes(name) || hasSlow(part))

const quickSize = 500

/** Whether a schema can be checked quickly, whatever it is. */
export const isQuickSchema = (schema: JsonObject): boolean => sizeOf(schema, quickSize) < quickSize && !hasSlow(schema)

/** Whether a value can be checked quickly. */
export const isQuick = (schema: JsonObject, value: unknown): boolean => {
  if (!isQuickSchema(schema)) return false
  const limit = quickChecks / sizeOf(schema, quickSize)
  return sizeOf(value, limit) < limit
}

/** Values of every type: a schema that takes too long or fails for one of these does so for all. */
const samples: ReadonlyArray<unknown> = [{}, [], "", 0, true, null]

/** The faults that make a schema unusable, with pointers into it; empty if there are none. */
export const faultsOfSchema = (schema: JsonObject): ReadonlyArray<Fault> => {
  const unstorable = checkVariables({ schema })
  if (unstorable.length > 0) {
    return unstorable.map(({ pointer, detail }) => ({ pointer: pointer.replace("/variables/schema", ""), detail }))
  }
  const faults = faultsOf(errorsOf(preparedMetaSchema, Json.withPlainNumbers(schema)))
  return faults.length > 0 ? faults : faultsOfUse(schema)
}

/** The faults of a well-formed schema: invalid references, and faults that only values reveal. */
const faultsOfUse = (schema: JsonObject): ReadonlyArray<Fault> => {
  try {
    const { parts } = prepare(Json.withPlainNumbers(schema) as JsonObject)
    const unresolved = Object.values(parts).flatMap((part) =>
      typeof part === "object" && part.$ref !== undefined && parts[part.__absolute_ref__ ?? ""] === undefined
        ? [{ pointer: "", detail: cut(`nothing in the schema is called ${part.$ref}`) }]
        : []
    )
    if (unresolved.length > 0) return unresolved.slice(0, maxFaults)
  } catch (error) {
    return [{ pointer: "", detail: cut(error instanceof Error ? error.message : String(error)) }]
  }
  for (const sample of samples) faultsIn(schema, sample)
  return []
}

export const tooComplex: Fault = { pointer: "", detail: "takes too long to check: a reference to itself, perhaps" }
