import { describe, expect, it } from "@effect/vitest"
import fc from "fast-check"
import { checkVariables } from "../../../src/domain/prompt/Variables.ts"

const names = fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/)
const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
const pointers = (json: string) => checkVariables(JSON.parse(json)).map(({ pointer }) => pointer)

describe("checkVariables", () => {
  it("accepts all that JSON carries unchanged", () => {
    const number = fc.oneof(fc.maxSafeInteger(), fc.double({ min: -1e15, max: 1e15, noNaN: true }))
    const text = fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\0", ""))
    const wellFormed = fc.anything({ key: text, values: [text, number, fc.boolean(), fc.constant(null)], maxDepth: 5 })
    fc.assert(
      fc.property(fc.dictionary(names, wellFormed, { maxKeys: 100 }), (variables) => {
        expect(checkVariables(variables)).toEqual([])
      })
    )
    expect(checkVariables({ a: Number.MAX_SAFE_INTEGER, b: -Number.MAX_SAFE_INTEGER, c: 1e-300, d: "😀" })).toEqual([])
    expect(checkVariables(JSON.parse('{"__proto__":1}'))).toEqual([])
  })

  it("lists every fault with its pointer", () => {
    expect(
      pointers(
        String.raw`{"nul":"a\u0000b","sur":"\ud800","ok":"😀","inf":1e400,"deep":{"x~/y":[0,"\udc00"]},"k\u0000":1}`
      )
    ).toEqual(["/variables/nul", "/variables/sur", "/variables/inf", "/variables/deep/x~0~1y/1", "/variables/k\\0"])
  })

  it("finds what cannot be stored in the names inside a value too", () => {
    expect(pointers(String.raw`{"a":{"b\u0000":1}}`)).toEqual(["/variables/a/b\\0"])
  })

  it("allows 32 levels and not 33", () => {
    expect(checkVariables({ a: nested(32) })).toEqual([])
    expect(checkVariables({ a: nested(33) }).map(({ pointer }) => pointer)).toEqual([`/variables/a${"/0".repeat(32)}`])
  })

  it("allows 100 variables and not 101", () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`v${i}`, i]))
    expect(checkVariables(many(100))).toEqual([])
    expect(checkVariables(many(101)).map(({ pointer }) => pointer)).toEqual(["/variables"])
  })

  it("allows a name of 256 bytes and not of 257", () => {
    expect(checkVariables({ ["é".repeat(128)]: 1 })).toEqual([])
    expect(checkVariables({ [`${"é".repeat(128)}a`]: 1 })).toHaveLength(1)
  })

  it("handles JSON of any depth and returns a list of bounded size", () => {
    const deep = `{"a":${"[".repeat(500_000)}${"]".repeat(500_000)}}`
    expect(pointers(deep)).toHaveLength(1)
    const wide = `{"${"n".repeat(100_000)}":[${'"\\u0000",'.repeat(50_000)}0]}`
    const faults = checkVariables(JSON.parse(wide))
    expect(JSON.stringify(faults).length).toBeLessThan(10_000)
    expect(faults).toHaveLength(20)
  })

  it("refuses what is not JSON at all", () => {
    for (const value of [undefined, () => 1, Symbol.iterator, 1n, new Date(0), new Map()]) {
      expect(checkVariables({ value })).toHaveLength(1)
    }
    const cyclic: Record<string, unknown> = {}
    cyclic.self = cyclic
    expect(checkVariables(cyclic)).toHaveLength(1)
  })
})
