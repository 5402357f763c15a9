import { describe, expect, it } from "@effect/vitest"
import fc from "fast-check"
import * as Json from "../../src/domain/Json.ts"
import { jsonNumber } from "../support/JsonNumbers.ts"

const big = Json.numberOf("820982911946154508")

/** As whole numbers of the same unit. */
const exactly = (a: string, b: string): number => {
  const parts = [a, b].map((text) => {
    const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(text)!
    return { digits: BigInt(`${sign}${whole}${fraction}`), scale: Number(exponent) - fraction.length }
  })
  const least = Math.min(...parts.map(({ scale }) => scale))
  const [one, two] = parts.map(({ digits, scale }) => digits * 10n ** BigInt(scale - least))
  return one! < two! ? -1 : one! > two! ? 1 : 0
}

describe("JSON", () => {
  it("has its numbers as they were written, wherever they are", () => {
    fc.assert(
      fc.property(fc.array(jsonNumber), fc.string(), (numbers, text) => {
        const json = `{"a":[${numbers}],"b":${JSON.stringify(`${text} [${numbers}]`)}}`
        expect(Json.stringify(Json.parse(json))).toBe(json)
      })
    )
  })

  it("has plain numbers where JavaScript writes them in the same way, and is JavaScript's otherwise", () => {
    expect(Json.parse('{"a":[1,-2.5,9007199254740991,0]}')).toEqual({ a: [1, -2.5, 9_007_199_254_740_991, 0] })
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = JSON.stringify(value)
        expect(JSON.parse(Json.stringify(Json.parse(json)))).toEqual(JSON.parse(json))
      })
    )
    for (const broken of ["[1.]", "[01]", "[1e]", "[-]", "[+1]", "[1.10", '"1.10', "[.10]", "1.10 1.10"]) {
      expect(() => Json.parse(broken), broken).toThrow(SyntaxError)
    }
  })

  it("compares numbers as they were written", () => {
    fc.assert(
      fc.property(jsonNumber, jsonNumber, (a, b) => {
        expect(Math.sign(Json.compare(Json.numberOf(a), Json.numberOf(b)))).toBe(exactly(a, b))
        expect(Json.canonical(Json.numberOf(a)) === Json.canonical(Json.numberOf(b))).toBe(exactly(a, b) === 0)
      })
    )
    expect(Json.canonical(Json.numberOf("1.10"))).toBe("1.1")
    expect(Json.compare(big, 820_982_911_946_154_500)).toBeGreaterThan(0)
  })

  it("keeps equality and order where only plain numbers are known", () => {
    fc.assert(
      fc.property(fc.array(jsonNumber, { minLength: 2, maxLength: 6 }), (sources) => {
        const numbers = sources.flatMap((source) => [
          Json.numberOf(source),
          Json.numberOf(`${source.split(/[.e]/i)[0]}7`)
        ])
        const plain = Json.withOrderedNumbers(numbers) as ReadonlyArray<number>
        for (const [i, a] of numbers.entries())
          for (const [j, b] of numbers.entries()) {
            if (!Number.isFinite(plain[i]! - plain[j]!)) continue
            expect(Math.sign(plain[i]! - plain[j]!)).toBe(Math.sign(Json.compare(a, b)))
          }
      })
    )
  })

  it("takes no text for a number, not even one with a number's mark", () => {
    const text = JSON.stringify({ a: "\uE000number 1.10", b: "1.10" })
    expect(Json.stringify(Json.parse(text))).toBe(text)
  })
})
