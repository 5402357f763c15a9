import { isDeepStrictEqual } from "node:util"
import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import fc from "fast-check"
import {
  faultsIn,
  tooComplex,
  faultsOfSchema as triedFaultsOfSchema
} from "../../../src/domain/evaluation/JsonSchema.ts"
import type { JsonObject } from "../../../src/domain/webhook/WebhookSettingKinds.ts"
import { TooSlow, withinTime } from "../../../src/runtime/TimeLimit.ts"
import { inBounds } from "../../support/time/Bounds.ts"

const faults = (schema: object, value: unknown) => faultsIn(schema as JsonObject, value)
/** The CPU time of a check, in milliseconds, as on a thread. */
const checkTime = 1_000
const faultsOfSchema = (schema: object) =>
  Result.getOrElse(
    withinTime(checkTime, () => triedFaultsOfSchema(schema as JsonObject)),
    () => [tooComplex]
  )
const parsed = (json: string): JsonObject => JSON.parse(json)

/** Whether the value has a part at the pointer. */
const isIn = (value: unknown, pointer: string): boolean => {
  const names = pointer.split("/").slice(1)
  const found = names.reduce<any>((part, name) => part?.[name.replaceAll("~1", "/").replaceAll("~0", "~")], value)
  return found !== undefined
}

describe("a JSON Schema", () => {
  it("names each fault by a pointer into the value, and nothing that is only a consequence", () => {
    const schema = {
      type: "object",
      required: ["service", "replicas"],
      properties: {
        service: { enum: ["api", "web"] },
        replicas: { type: "integer", minimum: 1, maximum: 9 },
        tags: { type: "array", items: { $ref: "#/$defs/tag" } },
        owner: { anyOf: [{ type: "string", format: "email" }, { type: "null" }] },
        "a/b~c": { const: 1 }
      },
      additionalProperties: false,
      $defs: { tag: { type: "string", pattern: "^[a-z]+$" } }
    }
    expect(faultsOfSchema(schema)).toEqual([])
    const good = { service: "api", replicas: 2, tags: ["a", "b"], owner: null, "a/b~c": 1 }
    expect(faults(schema, good)).toEqual([])
    const bad = { service: "db", tags: ["a", 1, "C"], owner: "nobody", "a/b~c": 2, extra: true }
    expect(
      faults(schema, bad)
        .map(({ pointer }) => pointer)
        .sort()
    ).toEqual(["", "/a~1b~0c", "/extra", "/owner", "/service", "/tags/1", "/tags/2"].sort())
    expect(faults(schema, bad)).toContainEqual({ pointer: "/extra", detail: "is not allowed here" })
    expect(faults(schema, bad)).toContainEqual({
      pointer: "",
      detail: 'instance does not have required property "replicas"'
    })
  })

  it("lists the first 20 faults, with texts that stay short", () => {
    const list = faults(
      { items: { type: "string" } },
      Array.from({ length: 1_000 }, (_, n) => n)
    )
    expect(list).toHaveLength(20)
    const long = faults({ additionalProperties: false, properties: {} }, { ["x".repeat(100_000)]: 1 })
    expect(JSON.stringify(long).length).toBeLessThan(1_000)
  })

  const words = Array.from({ length: 6_000 }, (_, n) => `word${n}`)

  it.each([
    ["a long list of values", { enum: words }, 0],
    ["a long value", { const: "x".repeat(65_000) }, 0],
    ["many required names", { required: words }, {}],
    ["many alternatives", { anyOf: words.map(() => ({ type: "string" })) }, 0]
  ])("takes bounded memory, however many parts of the value are wrong: %s", (what, items, item) => {
    const schema = { items }
    const list = Array.from({ length: 300_000 }, () => item)
    inBounds(what, () => {
      const limited = withinTime(checkTime, () => faults(schema, list))
      const [first] = Result.getOrThrow(limited)
      expect(first).toMatchObject({ pointer: "/0", detail: expect.stringMatching(/^instance does not/) })
    })
  })

  it("looks at own properties only, also those with names of Object's", () => {
    const schema = parsed('{"required":["__proto__","constructor"],"properties":{"__proto__":{"type":"string"}}}')
    expect(faultsOfSchema(schema)).toEqual([])
    expect(faults(schema, {})).toHaveLength(2)
    expect(faults(schema, parsed('{"__proto__":"p","constructor":1}'))).toEqual([])
    expect(faults(schema, parsed('{"__proto__":1,"constructor":1}'))).toMatchObject([{ pointer: "/__proto__" }])
    expect(({} as any).polluted).toBeUndefined()
  })

  it("accepts the value that it names, and no other", () => {
    // Without -0, which is another value for `isDeepStrictEqual`.
    const values = fc.jsonValue().map((value): unknown => JSON.parse(JSON.stringify(value)))
    fc.assert(
      fc.property(values, values, (value, other) => {
        const isSame = isDeepStrictEqual(value, other)
        expect(faults({ const: value }, value)).toEqual([])
        expect(faults({ enum: [value] }, other)).toHaveLength(isSame ? 0 : 1)
        expect(faults({ not: { const: value } }, other)).toHaveLength(isSame ? 1 : 0)
      }),
      { numRuns: 50 }
    )
  })

  it("names parts of the value, whatever value and schema are", () => {
    const type = fc.constantFrom("object", "array", "string", "number", "boolean", "null")
    const limits = { type, minItems: fc.nat(9), maxLength: fc.nat(9), minimum: fc.integer() }
    const part = fc.record(
      { ...limits, const: fc.oneof(fc.string(), fc.integer(), fc.boolean()) },
      { requiredKeys: [] }
    )
    const parts = {
      required: fc.uniqueArray(fc.string(), { maxLength: 3 }),
      properties: fc.dictionary(fc.string(), part, { maxKeys: 3 }),
      additionalProperties: fc.oneof(fc.boolean(), part),
      items: part,
      anyOf: fc.array(part, { minLength: 1, maxLength: 3 })
    }
    const schemas = fc.record({ ...limits, ...parts }, { requiredKeys: [] })
    fc.assert(
      fc.property(fc.jsonValue(), schemas, (value, schema) => {
        expect(faultsOfSchema(schema)).toEqual([])
        for (const { pointer, detail } of faults(schema, value)) {
          expect(isIn(value, pointer)).toBe(true)
          expect(detail).not.toBe("")
        }
      }),
      { numRuns: 50 }
    )
  })

  it.each([
    ["a keyword with a value of the wrong type", { properties: { a: { required: "b" } } }, "at"],
    ["an unknown type", { type: "text" }, "type"],
    ["a regular expression that is none", { pattern: "(" }, "regex"],
    ["another draft", { $schema: "http://json-schema.org/draft-07/schema#" }, "match"],
    ["a reference to elsewhere", { $ref: "https://example.com/schema.json" }, "pattern"],
    ["a file", { $ref: "file:///etc/passwd" }, "pattern"],
    ["a reference to nothing", { $ref: "#/$defs/none" }, "called #/$defs/none"],
    ["a dynamic reference", { $dynamicRef: "#a" }, "not allowed"],
    ["a reference to itself", { $ref: "#" }, "too long"],
    [
      "references in a circle",
      { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
      "too long"
    ],
    ["text that cannot be stored", { title: "a\u0000" }, "NUL"]
  ])("is refused when it is saved with %s", (_, schema, detail) => {
    const [fault, ...others] = faultsOfSchema(schema as JsonObject)
    expect(`${fault?.pointer} ${fault?.detail}`).toContain(detail === "at" ? "/properties/a/required" : detail)
    expect(others.length).toBeLessThan(3)
  })

  it.each([
    ["a regular expression that takes exponential time", { pattern: "^(a+)+$" }, `${"a".repeat(40)}!`],
    ["distinct items of a long list", { uniqueItems: true }, Array.from({ length: 200_000 }, (_, n) => n)],
    [
      "alternatives of alternatives",
      {
        $ref: "#/$defs/a",
        $defs: { a: { anyOf: [{ items: { $ref: "#/$defs/a" } }, { items: { $ref: "#/$defs/a" } }], type: "array" } }
      },
      parsed(`{"v":${"[".repeat(40)}${"]".repeat(40)}}`).v
    ]
  ])("is checked for a bounded time: %s", (_, schema, value) => {
    // Without the bound it would be hours.
    expect(
      withinTime(
        checkTime,
        () => faults(schema, value),
        () => performance.now()
      )
    ).toEqual(Result.fail(expect.any(TooSlow)))
  })
})
