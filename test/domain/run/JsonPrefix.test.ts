import { describe, expect, it } from "@effect/vitest"
import fc from "fast-check"
import { parseJsonPrefix } from "../../../src/domain/run/RunSummary.ts"

/** Whether `part` is what is left of `whole` when its JSON ends early. */
const isBeginning = (part: unknown, whole: unknown): boolean => {
  if (typeof part === "string") return typeof whole === "string" && whole.startsWith(part)
  if (typeof part !== "object" || part === null) return Object.is(part, whole)
  if (typeof whole !== "object" || whole === null || Array.isArray(part) !== Array.isArray(whole)) return false
  const [parts, wholes] = [Object.entries(part), Object.entries(whole)]
  return parts.every(([name, value], n) => name === wholes[n]![0] && isBeginning(value, wholes[n]![1]))
}

describe("parseJsonPrefix", () => {
  it("shows what is known of an object whose JSON is cut anywhere", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.boolean(), fc.nat(), (object, spaced, at) => {
        const json = JSON.stringify(object, null, spaced ? 2 : 0)
        const whole = JSON.parse(json)
        expect(parseJsonPrefix(json)).toStrictEqual(whole)
        expect(isBeginning(parseJsonPrefix(json.slice(0, at % (json.length + 1))), whole)).toBe(true)
      }),
      { numRuns: 2_000 }
    )
  })

  it.each([
    ["", {}],
    ["{", {}],
    ['{"a', {}],
    ['{"a"', {}],
    ['{"a":', {}],
    ['{"a":"', { a: "" }],
    ['{"a":"b', { a: "b" }],
    ['{"a":"b\\', { a: "b" }],
    [String.raw`{"a":"b\\`, { a: "b\\" }],
    [String.raw`{"a":"b\"`, { a: 'b"' }],
    [String.raw`{"a":"b\u00e`, { a: "b" }],
    [String.raw`{"a":"b\u00e9`, { a: "bé" }],
    ['{"a":12', {}],
    ['{"a":12,', { a: 12 }],
    ['{"a":tru', {}],
    ['{"a":{"b":[true,{"c":1},', { a: { b: [true, { c: 1 }] } }],
    ['{"a" : 1 , "b" : [ "x', { a: 1, b: ["x"] }],
    ['{"__proto__":{"a":"x', JSON.parse('{"__proto__":{"a":"x"}}')]
  ])("reads %s", (json, object) => {
    expect(parseJsonPrefix(json)).toStrictEqual(object)
  })
})
