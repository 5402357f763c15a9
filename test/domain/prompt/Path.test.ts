import { describe, expect, it } from "@effect/vitest"
import { Option } from "effect"
import fc from "fast-check"
import { lookUp, nameOf, type Path, pathOf, pick } from "../../../src/domain/prompt/Path.ts"
import type { Variables } from "../../../src/domain/run/Run.ts"

const name = fc.oneof(
  fc.constantFrom("a", "b", "0", "1", "__proto__", "constructor", "length", "a.b", 'q"uo\\te', "é 名", ""),
  fc.string({ unit: "binary" })
)
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names as unknown as Path)
const few = fc.constantFrom("a", "b", "a.b", "__proto__")
const json = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: "small" }, fc.constantFrom(null, 1, "x"), tie("list"), tie("object")),
  list: fc.array(tie("value"), { maxLength: 3 }),
  object: fc
    .array(fc.tuple(few, tie("value")), { maxLength: 4 })
    .map((entries): unknown => JSON.parse(`{${entries.map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`)}}`))
}))
const fewPaths = fc.array(
  fc
    .array(fc.constantFrom("a", "b", "0", "1", "a.b", "__proto__"), { minLength: 1, maxLength: 4 })
    .map((names) => names as unknown as Path),
  { maxLength: 5 }
)

describe("a path", () => {
  it("is read as it was written, whatever its names are", () => {
    fc.assert(
      fc.property(path, (path) => {
        expect(pathOf(nameOf(path))).toEqual(path)
      })
    )
    expect(nameOf(["payload", "labels", "app/name", 'a"b\\'])).toBe('payload.labels."app/name"."a\\"b\\\\"')
  })

  it("finds own properties and items only", () => {
    const input = { list: [{ a: 1 }], text: "x" }
    expect(lookUp(["list", "0", "a"], input)).toEqual(Option.some(1))
    for (const missing of [
      ["list", "1"],
      ["list", "-1"],
      ["list", "00"],
      ["list", "length"],
      ["list", "map"],
      ["text", "length"],
      ["text", "0"],
      ["constructor"],
      ["list", "constructor"]
    ] as ReadonlyArray<Path>) {
      expect(lookUp(missing, input), missing.join(".")).toEqual(Option.none())
    }
  })

  it("finds in what was picked what it finds in the whole, and nothing of what no path names is picked", () => {
    fc.assert(
      fc.property(fewPaths, json.object, (paths, input) => {
        const picked = pick(paths, input as Variables)
        for (const path of paths) expect(lookUp(path, picked)).toEqual(lookUp(path, input as Variables))
        const again = pick(paths, picked)
        expect(JSON.stringify(again)).toBe(JSON.stringify(picked))
      }),
      { numRuns: 1000 }
    )
    const input = JSON.parse('{"a":{"b":1,"secret":2,"list":[1,{"c":3,"d":4}]},"e":5,"__proto__":{"x":6,"y":7}}')
    const paths: ReadonlyArray<Path> = [
      ["a", "b"],
      ["a", "list", "1", "c"],
      ["__proto__", "x"],
      ["e", "f"]
    ]
    expect(JSON.stringify(pick(paths, input))).toBe('{"a":{"b":1,"list":{"1":{"c":3}}},"__proto__":{"x":6}}')
    expect(pick([["a", "list", "0"], ["a"]], input)).toEqual({ a: input.a })
  })
})
