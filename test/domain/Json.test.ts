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

  it("is parsed as JavaScript does with numbers to keep, whatever else is in it", () => {
    const shapes = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        jsonNumber,
        fc.string({ unit: "binary" }).map((text) => JSON.stringify(text)),
        fc.constantFrom(
          "true",
          "false",
          "null",
          '"\\u0041\\n"',
          '"\\\\"',
          '"\\""',
          `"${"long ".repeat(9)}\\t"`,
          "[]",
          "{}",
          " [ ] "
        ),
        fc.array(tie("value")).map((items) => `[ ${items.join(" ,\n")}]`),
        fc
          .array(fc.tuple(fc.constantFrom("a", "b", "1", "0", "__proto__", "toString", "\\u0061", ""), tie("value")))
          .map((members) => `{${members.map(([name, value]) => `"${name}" :\t${value}`).join()}}`)
      )
    }))
    fc.assert(
      fc.property(shapes.value, (text) => {
        const json = `[1.0,${text}]`
        expect(Json.withPlainNumbers(Json.parse(json))).toEqual(JSON.parse(json))
        const compact = Json.stringify(Json.parse(json))
        expect(Json.stringify(Json.parse(compact))).toBe(compact)
        expect(JSON.parse(compact)).toEqual(JSON.parse(json))
      })
    )
    // Also what is no JSON, or too deep for anybody.
    fc.assert(
      fc.property(
        shapes.value,
        fc.nat(),
        fc.constantFrom("", ",", "]", '"', "\\", "-", "\u0001", "0"),
        (text, at, other) => {
          const json = `[1.0,${text}]`
          const broken = json.slice(0, at % json.length) + other + json.slice((at % json.length) + 1)
          const attempt = (parse: (json: string) => unknown) => {
            try {
              return { value: parse(broken) }
            } catch (error) {
              return { error: String(error) }
            }
          }
          expect(attempt((json) => Json.withPlainNumbers(Json.parse(json)))).toEqual(attempt(JSON.parse))
        }
      )
    )
    const deep = `${"[".repeat(2_000)}1.0${"]".repeat(2_000)}`
    expect(Json.parse(deep)).toEqual(JSON.parse(deep))
  })

  it("asks the platform's parser and writer nothing for each number", () => {
    const asked: Array<string> = []
    const [parse, stringify] = [JSON.parse, JSON.stringify]
    const json = `[${Array.from({ length: 500 }, (_, n) => `${n}.0,1e${n},-0,1${n}${"7".repeat(20)}`)}]`
    try {
      Object.assign(JSON, {
        parse: (text: string) => asked.push(text),
        stringify: (value: unknown) => asked.push(String(value))
      })
      expect(Json.stringify(Json.parse(json)).length).toBe(json.length)
    } finally {
      Object.assign(JSON, { parse, stringify })
    }
    expect(asked).toStrictEqual([])
  })

  it("knows about how long its text is", () => {
    const value = Json.parse('{"a":[1.10,"text",{"b":null}],"c":820982911946154508}')
    expect(Math.abs(Json.lengthOf(value) - Json.stringify(value).length)).toBeLessThan(20)
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
            // 0 is added, since -0 and 0 are the same sign here.
            expect(Math.sign(plain[i]! - plain[j]!) + 0).toBe(Math.sign(Json.compare(a, b)) + 0)
          }
      })
    )
  })

  it("takes no text for a number, not even one with a number's mark", () => {
    const text = JSON.stringify({ a: "\uE000number 1.10", b: "1.10" })
    expect(Json.stringify(Json.parse(text))).toBe(text)
  })
})
