import { describe, expect, it } from "@effect/vitest"
import { isStrict } from "../../../src/leader/agents/AnswerSchema.ts"

const closed = (properties: object, more: object = {}) => ({
  ...{ type: "object", properties, required: Object.keys(properties), additionalProperties: false },
  ...more
})
const text = { type: "string" }
const with_ = (part: object, more: object = {}) => closed({ a: part }, more)
const nested = (levels: number): object => (levels === 0 ? text : closed({ a: nested(levels - 1) }))
const many = (count: number) => Object.fromEntries([...Array(count).keys()].map((index) => [`p${index}`, text]))
const values = (count: number, length: number) =>
  [...Array(count).keys()].map((index) => `${index}`.padStart(length, "x"))

const taken: Readonly<Record<string, object>> = {
  "a closed object": with_(text),
  "an empty closed object": closed({}),
  "an object that may be null": with_({ ...closed({ b: text }), type: ["object", "null"] }),
  "an array": with_({ type: "array", items: closed({ b: text }), minItems: 1 }),
  alternatives: with_({ anyOf: [text, { type: "null" }], description: "either" }),
  "a definition": with_({ $ref: "#/$defs/b" }, { $defs: { b: closed({ c: text }) } }),
  "a recursive schema": with_({ anyOf: [{ $ref: "#" }, { type: "null" }] }),
  "values of the type": with_({ type: ["string", "null"], enum: ["x", null] }),
  "a whole number": with_({ type: "integer", const: 1 }),
  "an ordinary pattern": with_({ type: "string", pattern: "^(?:[a-z]+|\\d{2,3})\\.x$" }),
  "ten levels": nested(10)
}

const refused: Readonly<Record<string, object>> = {
  "a reference with a sibling": with_({ $ref: "#/$defs/b", description: "x" }, { $defs: { b: text } }),
  "a reference to nothing": with_({ $ref: "#/$defs/c" }, { $defs: { b: text } }),
  "a reference elsewhere": with_({ $ref: "https://example.com/x" }),
  "an array without items": with_({ type: "array" }),
  "an array of anything": with_({ type: "array", items: true }),
  "an array that may be null without items": with_({ type: ["array", "null"] }),
  "a closed object without properties": with_({ type: "object", additionalProperties: false }),
  "an open object": with_({ type: "object", properties: {}, required: [] }),
  "an object with other properties": with_({
    type: "object",
    properties: {},
    required: [],
    additionalProperties: text
  }),
  "an optional property": closed({ a: text, b: text }, { required: ["a"] }),
  "a required property without a schema": closed({ a: text }, { required: ["a", "b"] }),
  "no list of required properties": { type: "object", properties: { a: text }, additionalProperties: false },
  "no type": with_({ description: "x" }),
  "values without a type": with_({ enum: ["x"] }),
  "values of another type": with_({ type: "string", enum: ["x", 1] }),
  "no values": with_({ type: "string", enum: [] }),
  "an object as a value": with_({ type: "object", const: {} }),
  "no alternatives": with_({ anyOf: [] }),
  "alternatives beside a type": with_({ type: "string", anyOf: [text] }),
  "an open alternative": with_({ anyOf: [text, { type: "object" }] }),
  "an open object in a definition": with_({ $ref: "#/$defs/b" }, { $defs: { b: { type: "object" } } }),
  "inner definitions": with_(closed({ b: text }, { $defs: { c: text } })),
  "alternatives at the top": { anyOf: [closed({ a: text })] },
  "an unknown keyword": with_({ type: "object", patternProperties: {} }),
  ...Object.fromEntries(
    ["^(?=a)", "(?!a)b", "(?<=a)b", "(?<!a)b", "(?<name>a)", "(a)\\1", "\\p{L}", "\\bword\\b", "a+?", "("].map(
      (pattern) => [`the pattern ${pattern}`, with_({ type: "string", pattern })]
    )
  ),
  "eleven levels": nested(11),
  "too many properties": closed(many(5_001)),
  "too many characters": closed({ ["x".repeat(120_001)]: text }),
  "too many values": with_({ type: "string", enum: values(1_001, 4) }),
  "values that are too long": with_({ type: "string", enum: values(251, 100) })
}

describe("a strict schema", () => {
  it.each(Object.entries(taken))("is one with %s", (_, schema) => {
    expect(isStrict(schema as never)).toBe(true)
  })
  it.each(Object.entries(refused))("is none with %s", (_, schema) => {
    expect(isStrict(schema as never)).toBe(false)
  })
})
