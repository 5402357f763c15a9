import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, Layer } from "effect"
import fc from "fast-check"
import type { Variables } from "../src/domain/Run.ts"
import * as Template from "../src/domain/Template.ts"
import { checkVariables } from "../src/domain/Variables.ts"
import { Renderer } from "../src/engine/Renderer.ts"
import { Settings } from "../src/engine/Settings.ts"

const parsed = (text: string) => Either.getOrThrow(Template.parse(text))
const render = (text: string, variables: Variables) => Either.getOrThrow(Template.render(parsed(text), variables))
const missing = (text: string, variables: Variables) =>
  Either.getOrThrow(Either.flip(Template.render(parsed(text), variables)))
const broken = (text: string) => Either.getOrThrow(Either.flip(Template.parse(text)))

const names = fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/)
const plain = fc.string({ unit: "binary" }).map((text) => text.replaceAll(/[{}]/g, ""))
/** Text with many braces, so that chance finds the odd pairings. */
const bracey = fc.string({ unit: fc.constantFrom("{", "}", "{{", "}}", " ", "a", ".", "\n", "é") })

describe("a template", () => {
  it("without placeholders is its own prompt", () => {
    fc.assert(fc.property(plain, (text) => assert.strictEqual(render(text, {}), text)))
  })

  it("takes a string in verbatim, whatever it looks like", () => {
    fc.assert(
      fc.property(plain, names, fc.string({ unit: "binary" }), plain, (before, name, value, after) => {
        assert.strictEqual(render(`${before}{{${name}}}${after}`, { [name]: value }), before + value + after)
      })
    )
    assert.strictEqual(render("{{a}}{{b}}", { a: "{{b}}", b: "$& $1 $$" }), "{{b}}$& $1 $$")
  })

  it("takes any other value in as compact JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        assert.strictEqual(render("{{v}}", { v: value }), typeof value === "string" ? value : JSON.stringify(value))
      })
    )
    assert.strictEqual(
      render("{{a}} {{b}} {{c}} {{d}}", { a: 1.5, b: true, c: null, d: { x: [1, "y"] } }),
      '1.5 true null {"x":[1,"y"]}'
    )
  })

  it("names all its missing values at once, each once, in order", () => {
    assert.deepStrictEqual(missing("{{b}} {{a}} {{b}} {{c}}", { c: 1 }), ["b", "a"])
  })

  it("knows own properties only", () => {
    assert.deepStrictEqual(
      missing("{{constructor}} {{__proto__}} {{toString.name}} {{s.length}} {{l.length}}", { s: "x", l: [] }),
      ["constructor", "__proto__", "toString.name", "s.length", "l.length"]
    )
    const own = JSON.parse('{"constructor":"c","__proto__":"p","o":{"__proto__":{"x":1}}}')
    assert.strictEqual(render("{{constructor}} {{__proto__}} {{o.__proto__.x}}", own), "c p 1")
  })

  it("reaches into objects by dots, and an exact key wins", () => {
    const variables = {
      alert: { labels: { severity: "page", "app.kubernetes.io": "api" } },
      "alert.name": "disk",
      "alert.labels.exact": "yes"
    }
    assert.strictEqual(
      render(
        "{{alert.labels.severity}} {{alert.name}} {{alert.labels.exact}} {{alert.labels.app.kubernetes.io}}",
        variables
      ),
      "page disk yes api"
    )
    assert.deepStrictEqual(missing("{{alert.labels.none}} {{alert.none.none}}", variables), [
      "alert.labels.none",
      "alert.none.none"
    ])
  })

  it("allows blanks inside the braces and letters of any language", () => {
    assert.strictEqual(render("{{ a }}|{{\tgröße }}|{{名前}}", { a: 1, größe: 2, 名前: 3 }), "1|2|3")
  })

  it("may hold JSON and code: single braces are text", () => {
    for (const text of [
      '{"a":{"b":1}}',
      "if (x) { y(); }",
      "a } b { c",
      "{ {{ x }} }",
      '{"v":{{x}}}',
      "{{{x}}}",
      "$" + "{{ x }}"
    ]) {
      assert.strictEqual(render(text, { x: "X" }), text.replace(/\{\{ ?x ?\}\}/, "X"))
    }
  })

  it.each([
    ["{{", 0, 1, 1],
    ["hello {{name", 6, 1, 7],
    ["hello {{name}", 6, 1, 7],
    ["one\ntwo {{}}", 8, 2, 5],
    ["{{  }}", 0, 1, 1],
    ["a\r\n\n{{first name}}", 12, 3, 9],
    ["{{a}b}}", 3, 1, 4],
    ["{{a {{b}}", 4, 1, 5],
    ["{{a\n}}", 3, 1, 4],
    ["{{#if a}}", 2, 1, 3],
    ["{{a..b}}", 2, 1, 3],
    ["{{.a}}", 2, 1, 3],
    ["{{a.}}", 2, 1, 3],
    ["hello name}}", 10, 1, 11],
    ["hello {name}}", 11, 1, 12],
    ["{{a}}}}", 5, 1, 6]
  ])("with broken braces is refused, with the position: %j", (text, offset, line, column) => {
    const fault = broken(text)
    assert.deepStrictEqual([fault.offset, fault.line, fault.column], [offset, line, column])
    assert.match(fault.reason, /\S/)
  })

  it("is either refused at a position inside it, or rendered with all its names supplied", () => {
    fc.assert(
      fc.property(bracey, (text) => {
        const result = Template.parse(text)
        if (Either.isLeft(result)) {
          const { offset, line, column } = result.left
          assert.isTrue(offset >= 0 && offset <= text.length)
          assert.strictEqual(
            text
              .split("\n")
              .slice(0, line - 1)
              .join("\n").length +
              (line > 1 ? 1 : 0) +
              column -
              1,
            offset
          )
        } else {
          const all = Template.placeholders(result.right)
          const prompt = Either.getOrThrow(
            Template.render(result.right, Object.fromEntries(all.map((name) => [name, "<>"])))
          )
          assert.strictEqual(prompt, text.replaceAll(/\{\{[ \t]*[a-zé.]+[ \t]*\}\}/g, "<>"))
        }
      }),
      { numRuns: 2000 }
    )
  })

  it("is read in linear time", () => {
    /** Milliseconds of a processor, whatever else the machine does. */
    const cost = (text: string) => {
      const before = process.cpuUsage()
      Template.parse(text)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000
    }
    for (const piece of ["{", "}", "{{", "{{a", "{ ", "{{a}}", "{{{", "}} ", "{{a ", "{{a.", "{}"]) {
      // Quadratic work on this many would take minutes.
      assert.isBelow(cost(piece.repeat(1_000_000)), 2_000, piece)
    }
    assert.isBelow(cost("{".repeat(50_000)), 100)
    assert.isBelow(cost(`{{${" ".repeat(1_000_000)}`), 1_000)
  })
})

const renderer = (maxPrompt: number) => Renderer.layer.pipe(Layer.provide(Settings.layer({ maxPrompt })))

describe("Renderer", () => {
  it.effect("finds the placeholders", () =>
    Effect.gen(function* () {
      const { placeholders } = yield* Renderer
      assert.deepStrictEqual(yield* placeholders("{{b}} {{a.x}} {{ b }}"), ["b", "a.x"])
      const refusal = yield* Effect.flip(placeholders("{{b"))
      assert.strictEqual(refusal._tag, "TemplateInvalid")
    }).pipe(Effect.provide(renderer(100)))
  )

  it.effect("bounds the prompt in bytes of UTF-8", () =>
    Effect.gen(function* () {
      const { render } = yield* Renderer
      assert.strictEqual(yield* render("{{a}}", { a: "é".repeat(50) }), "é".repeat(50))
      const refusal = yield* Effect.flip(render("{{a}}!", { a: "é".repeat(50) }))
      assert.deepInclude(refusal, { _tag: "PromptTooLarge", limit_bytes: 100 })
    }).pipe(Effect.provide(renderer(100)))
  )

  it.effect("tells of missing values before it tells of the size", () =>
    Effect.gen(function* () {
      const { render } = yield* Renderer
      const refusal = yield* Effect.flip(render("{{a}}{{b}}{{c}}", { a: "x".repeat(101) }))
      assert.deepInclude(refusal, { _tag: "MissingVariables", names: ["b", "c"] })
    }).pipe(Effect.provide(renderer(100)))
  )

  it.effect("refuses a prompt of many times a large value without building it", () =>
    Effect.gen(function* () {
      const { render } = yield* Renderer
      // As text this would be 10 GB, more than a string can be.
      const refusal = yield* Effect.flip(render("{{a}}".repeat(10_000), { a: "x".repeat(1_000_000) }))
      assert.strictEqual(refusal._tag, "PromptTooLarge")
      const nested = yield* Effect.flip(render("{{a}}".repeat(10_000), { a: { b: "x".repeat(1_000_000) } }))
      assert.strictEqual(nested._tag, "PromptTooLarge")
    }).pipe(Effect.provide(renderer(256 * 1024)))
  )
})

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
const pointers = (json: string) => checkVariables(JSON.parse(json)).map(({ pointer }) => pointer)

describe("checkVariables", () => {
  it("accepts what JSON can carry unharmed", () => {
    const number = fc.oneof(fc.maxSafeInteger(), fc.double({ min: -1e15, max: 1e15, noNaN: true }))
    const text = fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\0", ""))
    const wellFormed = fc.anything({ key: text, values: [text, number, fc.boolean(), fc.constant(null)], maxDepth: 5 })
    fc.assert(fc.property(fc.dictionary(names, wellFormed, { maxKeys: 100 }), (v) => assert.isEmpty(checkVariables(v))))
    assert.isEmpty(checkVariables({ a: Number.MAX_SAFE_INTEGER, b: -Number.MAX_SAFE_INTEGER, c: 1e-300, d: "😀" }))
    assert.isEmpty(checkVariables(JSON.parse('{"__proto__":1}')))
  })

  it("lists every fault with its place", () => {
    assert.deepStrictEqual(
      pointers(
        String.raw`{"nul":"a\u0000b","sur":"\ud800","ok":"😀","inf":1e400,"big":9007199254740992,"deep":{"x~/y":[0,"\udc00"]},"k\u0000":1}`
      ),
      [
        "/variables/nul",
        "/variables/sur",
        "/variables/inf",
        "/variables/big",
        "/variables/deep/x~0~1y/1",
        "/variables/k\\0"
      ]
    )
  })

  it("finds what cannot be stored in the names inside a value too", () => {
    assert.deepStrictEqual(pointers(String.raw`{"a":{"b\u0000":1}}`), ["/variables/a/b\\0"])
  })

  it("allows 32 levels and not 33", () => {
    assert.isEmpty(checkVariables({ a: nested(32) }))
    assert.deepStrictEqual(
      checkVariables({ a: nested(33) }).map(({ pointer }) => pointer),
      [`/variables/a${"/0".repeat(32)}`]
    )
  })

  it("allows 100 variables and not 101", () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`v${i}`, i]))
    assert.isEmpty(checkVariables(many(100)))
    assert.deepStrictEqual(
      checkVariables(many(101)).map(({ pointer }) => pointer),
      ["/variables"]
    )
  })

  it("allows a name of 256 bytes and not of 257", () => {
    assert.isEmpty(checkVariables({ ["é".repeat(128)]: 1 }))
    assert.lengthOf(checkVariables({ [`${"é".repeat(128)}a`]: 1 }), 1)
  })

  it("survives JSON of any depth and answers with a list of bounded size", () => {
    const deep = `{"a":${"[".repeat(500_000)}${"]".repeat(500_000)}}`
    assert.lengthOf(pointers(deep), 1)
    const wide = `{"${"n".repeat(100_000)}":[${'"\\u0000",'.repeat(50_000)}0]}`
    const faults = checkVariables(JSON.parse(wide))
    assert.isBelow(JSON.stringify(faults).length, 100_000)
    assert.strictEqual(faults.at(-1)?.detail, "and more")
  })

  it("refuses what is not JSON at all", () => {
    for (const value of [undefined, () => 1, Symbol.iterator, 1n, new Date(0), new Map()]) {
      assert.lengthOf(checkVariables({ value }), 1)
    }
    const cyclic: Record<string, unknown> = {}
    cyclic.self = cyclic
    assert.lengthOf(checkVariables(cyclic), 1)
  })
})
