import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import fc from "fast-check"
import * as Template from "../../../src/domain/prompt/Template.ts"
import type { Variables } from "../../../src/domain/run/Run.ts"
import { Renderer } from "../../../src/engine/prompt/Renderer.ts"
import { Settings } from "../../../src/engine/Settings.ts"
import { cpuTimeOf } from "../../support/time/CpuTime.ts"

const parsed = (text: string) => Result.getOrThrow(Template.parse(text))
const render = (text: string, variables: Variables) => Result.getOrThrow(Template.render(parsed(text), variables))
const missing = (text: string, variables: Variables) =>
  Result.getOrThrow(Result.flip(Template.render(parsed(text), variables)))
const broken = (text: string) => Result.getOrThrow(Result.flip(Template.parse(text)))

const names = fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/)
const plain = fc.string({ unit: "binary" }).map((text) => text.replaceAll(/[{}]/g, ""))
/** Text with many braces, so that random texts pair them in every odd way. */
const bracey = fc.string({ unit: fc.constantFrom("{", "}", "{{", "}}", " ", "a", ".", "\n", "é") })

describe("a template", () => {
  it("without placeholders is its own prompt", () => {
    fc.assert(
      fc.property(plain, (text) => {
        expect(render(text, {})).toBe(text)
      })
    )
  })

  it("inserts a string verbatim, whatever it contains", () => {
    fc.assert(
      fc.property(plain, names, fc.string({ unit: "binary" }), plain, (before, name, value, after) => {
        expect(render(`${before}{{${name}}}${after}`, { [name]: value })).toBe(before + value + after)
      })
    )
    expect(render("{{a}}{{b}}", { a: "{{b}}", b: "$& $1 $$" })).toBe("{{b}}$& $1 $$")
  })

  it("inserts any other value as compact JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        expect(render("{{v}}", { v: value })).toBe(typeof value === "string" ? value : JSON.stringify(value))
      })
    )
    expect(render("{{a}} {{b}} {{c}} {{d}}", { a: 1.5, b: true, c: null, d: { x: [1, "y"] } })).toBe(
      '1.5 true null {"x":[1,"y"]}'
    )
  })

  it("names all its missing values together, each once, in order", () => {
    expect(missing("{{b}} {{a}} {{b}} {{c}}", { c: 1 })).toEqual(["b", "a"])
  })

  it("finds own properties only", () => {
    expect(
      missing("{{constructor}} {{__proto__}} {{toString.name}} {{s.length}} {{l.length}}", { s: "x", l: [] })
    ).toEqual(["constructor", "__proto__", "toString.name", "s.length", "l.length"])
    const own = JSON.parse('{"constructor":"c","__proto__":"p","o":{"__proto__":{"x":1}}}')
    expect(render("{{constructor}} {{__proto__}} {{o.__proto__.x}}", own)).toBe("c p 1")
  })

  it("reaches into objects by dots, and an exact key wins", () => {
    const variables = {
      alert: { labels: { severity: "page", "app.kubernetes.io": "api" } },
      "alert.name": "disk",
      "alert.labels.exact": "yes"
    }
    expect(
      render(
        "{{alert.labels.severity}} {{alert.name}} {{alert.labels.exact}} {{alert.labels.app.kubernetes.io}}",
        variables
      )
    ).toBe("page disk yes api")
    expect(missing("{{alert.labels.none}} {{alert.none.none}}", variables)).toEqual([
      "alert.labels.none",
      "alert.none.none"
    ])
  })

  it("reaches items of arrays by their numbers, and names with other characters in quotes", () => {
    const variables = { l: [1, ["a", { "b c": "deep" }]], 'q"uo\\te}}': "odd", "": "empty", a: { "x.y": { z: 1 } } }
    expect(render('{{l.0}} {{l.1.0}} {{l.1.1."b c"}} {{"q\\"uo\\\\te}}"}} {{ "" }} {{a."x.y".z}}', variables)).toBe(
      "1 a deep odd empty 1"
    )
    expect(missing('{{l.2}} {{l.00}} {{l.-1}} {{a.x.y.z}} {{"l".length}}', variables)).toEqual([
      "l.2",
      "l.00",
      "l.-1",
      "a.x.y.z",
      "l.length"
    ])
  })

  it("puts nothing in place of an optional value that is missing or null", () => {
    expect(render("<{{a?}}{{b.c.0?}}{{ n? }}{{o.n?}}>", { n: null, o: { n: null } })).toBe("<>")
    expect(render('{{n}}{{n?}}{{t?}}{{"x y"?}}', { n: null, t: "null", "x y": 0 })).toBe("nullnull0")
    expect(missing("{{a?}}{{a}}", {})).toEqual(["a"])
  })

  it("allows blanks inside the braces and letters of any language", () => {
    expect(render("{{ a }}|{{\tgröße }}|{{名前}}", { a: 1, größe: 2, 名前: 3 })).toBe("1|2|3")
  })

  it("has its blocks of data in pairs", () => {
    expect(render("a{{#data}}\n{{b}}{{ /data }}{{#data}}{{/data}}", { b: "x" })).toBe("a\nx")
    expect(broken("a\n{{#data}}{{/data}}{{/data}}")).toMatchObject({
      ...{ line: 2, column: 19, reason: "this `{{/data}}` closes nothing" }
    })
    expect(broken("a\n {{#data}}{{x}}")).toMatchObject({
      ...{ line: 2, column: 2, reason: "this `{{#data}}` is never closed by `{{/data}}`" }
    })
    for (const text of ["{{#if}}", "{{/datum}}", "{{#}}", "{{# data}}"]) {
      expect(broken(text), text).toMatchObject({ offset: 2, reason: "a block is `{{#data}}` … `{{/data}}`" })
    }
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
      expect(render(text, { x: "X" })).toBe(text.replace(/\{\{ ?x ?\}\}/, "X"))
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
    ["{{a}}}}", 5, 1, 6],
    ['{{"a}}', 2, 1, 3],
    ['{{"a\n"}}', 2, 1, 3],
    ['{{"a\\x"}}', 2, 1, 3],
    ['{{a."b}}', 4, 1, 5],
    ['{{"a"b}}', 5, 1, 6],
    ["{{a??}}", 4, 1, 5],
    ["{{?}}", 2, 1, 3],
    ["{{a.?}}", 2, 1, 3]
  ])("with broken braces is refused, with the position: %j", (text, offset, line, column) => {
    const fault = broken(text)
    expect([fault.offset, fault.line, fault.column]).toEqual([offset, line, column])
    expect(fault.reason).toMatch(/\S/)
  })

  it("is either refused at a position inside it, or rendered with all its names supplied", () => {
    fc.assert(
      fc.property(bracey, (text) => {
        const result = Template.parse(text)
        if (Result.isFailure(result)) {
          const { offset, line, column } = result.failure
          expect(offset).toBeGreaterThanOrEqual(0)
          expect(offset).toBeLessThanOrEqual(text.length)
          expect(
            text
              .split("\n")
              .slice(0, line - 1)
              .join("\n").length +
              (line > 1 ? 1 : 0) +
              column -
              1
          ).toBe(offset)
        } else {
          const all = Template.names(result.success)
          const prompt = Result.getOrThrow(
            Template.render(result.success, Object.fromEntries(all.map((name) => [name, "<>"])))
          )
          expect(prompt).toBe(text.replaceAll(/\{\{[ \t]*[a-zé.]+[ \t]*\}\}/g, "<>"))
        }
      }),
      { numRuns: 2000 }
    )
  })

  it("is parsed in linear time", () => {
    const cost = (text: string) => cpuTimeOf(() => Template.parse(text))
    for (const piece of [
      "{",
      "}",
      "{{",
      "{{a",
      "{ ",
      "{{a}}",
      "{{{",
      "}} ",
      "{{a ",
      "{{a.",
      "{}",
      '{{"',
      '{{"a".',
      '"'
    ]) {
      // Quadratic work on this many would take minutes.
      expect(cost(piece.repeat(1_000_000)), piece).toBeLessThan(20_000)
    }
    expect(cost(`{{${" ".repeat(1_000_000)}`)).toBeLessThan(20_000)
  })
})

const renderer = (maxPrompt: number) => Renderer.layer.pipe(Layer.provide(Settings.layer({ maxPrompt })))

describe("Renderer", () => {
  it.effect("finds the placeholders", () =>
    Effect.gen(function* () {
      const { placeholders } = yield* Renderer
      expect(yield* placeholders("{{b}} {{a.x}} {{ b }}")).toEqual(["b", "a.x"])
      const refusal = yield* Effect.flip(placeholders("{{b"))
      expect(refusal._tag).toBe("TemplateInvalid")
    }).pipe(Effect.provide(renderer(100)))
  )

  it.effect("limits the prompt by its bytes in UTF-8", () =>
    Effect.gen(function* () {
      const { render } = yield* Renderer
      expect((yield* render("{{a}}", { a: "é".repeat(50) })).prompt).toBe("é".repeat(50))
      const refusal = yield* Effect.flip(render("{{a}}!", { a: "é".repeat(50) }))
      expect(refusal).toMatchObject({ _tag: "PromptTooLarge", limit_bytes: 100 })
    }).pipe(Effect.provide(renderer(100)))
  )

  it.effect("reports missing values before the size", () =>
    Effect.gen(function* () {
      const { render } = yield* Renderer
      const refusal = yield* Effect.flip(render("{{a}}{{b}}{{c}}", { a: "x".repeat(101) }))
      expect(refusal).toMatchObject({ _tag: "MissingVariables", names: ["b", "c"] })
    }).pipe(Effect.provide(renderer(100)))
  )

  it.effect("refuses a prompt that repeats a large value many times without building it", () =>
    Effect.gen(function* () {
      const { render } = yield* Renderer
      // As text this would be 10 GB, more than a string can be.
      const refusal = yield* Effect.flip(render("{{a}}".repeat(10_000), { a: "x".repeat(1_000_000) }))
      expect(refusal._tag).toBe("PromptTooLarge")
      const nested = yield* Effect.flip(render("{{a}}".repeat(10_000), { a: { b: "x".repeat(1_000_000) } }))
      expect(nested._tag).toBe("PromptTooLarge")
    }).pipe(Effect.provide(renderer(256 * 1024)))
  )

  it.effect("searches no prompt that is too large for the key of its fence", () =>
    Effect.gen(function* () {
      const { render } = yield* Renderer
      const filled = render("{{a}}".repeat(600_000), { a: "é0123456789abcdef".repeat(60_000) }, { fence: true })
      // Searching 600 GB would take minutes.
      expect(cpuTimeOf(() => expect(Effect.runSync(Effect.flip(filled))._tag).toBe("PromptTooLarge"))).toBeLessThan(
        20_000
      )
    }).pipe(Effect.provide(renderer(256 * 1024)))
  )
})
