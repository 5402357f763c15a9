/** Filters and templates stay small, whatever their input grows to: each function of JMESPath, and each filter of Liquid. */
import { describe, expect, it } from "@effect/vitest"
import { getRegisteredFunctions } from "@jmespath-community/jmespath"
import { Result } from "effect"
import fc from "fast-check"
import { filters } from "liquidjs"
import { costs } from "../../../src/domain/evaluation/JmespathFunctions.ts"
import { boundedFilters } from "../../../src/domain/evaluation/LiquidFilters.ts"
import { filter } from "../../../src/domain/prompt/Filter.ts"
import * as Liquid from "../../../src/domain/prompt/Liquid.ts"
import { inBounds } from "../../support/time/Bounds.ts"

/** The test runner has to be answered meanwhile. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Grows by tens: short texts for one, and for the other two hundred million. */
const growing = fc.integer({ min: 0, max: 8 }).map((power) => 2 * 10 ** power)

const sizes = [2, 2_000, 200_000_000]

const inputOf = (n: number) => {
  const size = Math.min(n, 300_000)
  const text = "a".repeat(size)
  return {
    n,
    text,
    late: `ab${"a".repeat(size / 3)}`,
    blank: `${" \n".repeat(size / 3)}x`,
    marked: '"<&%\u00df'.repeat(size / 10),
    words: text.replaceAll("aa", "a "),
    list: Array.from({ length: size / 10 }, (_, at) => `${size - at}`),
    objects: Array.from({ length: size / 20 }, (_, at) => ({ k: `${at}`, v: at })),
    // Equal, and not the same.
    first: "b".repeat(size),
    second: "b".repeat(size),
    flags: Array.from({ length: size / 10 }, (_, at) => at % 2),
    wide: Object.fromEntries(Array.from({ length: size / 20 }, (_, at) => [`k${at}`, at]))
  }
}

const evaluates = (expression: string, n: number) =>
  inBounds(`${expression} with ${n}`, () => {
    const result = filter(expression, inputOf(n))
    expect(typeof ("failed" in result ? result.failed : result.accepted)).toMatch(/string|boolean/)
  })

describe("a filter", () => {
  const functions = getRegisteredFunctions()

  it("knows what each function of the library takes", () => {
    expect(Object.keys(costs).sort()).toEqual([...functions].sort())
  })

  const leaf = fc.constantFrom(
    ..."text late blank marked words list objects wide n".split(" "),
    ...'`"x"` `""` `"a"` `"$&$\'"` `1` `-1` `null` &k &v &@ &$.text &$.list $ @'.split(" ")
  )
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      leaf,
      fc
        .tuple(fc.constantFrom(...functions), fc.array(tie("value"), { minLength: 1, maxLength: 4 }))
        .map(([name, args]) => `${name}(${args.join(", ")})`),
      fc.tuple(tie("value"), tie("value")).map(([a, b]) => `[${a}, ${b}, ${a}][]`),
      fc.tuple(tie("value"), tie("value")).map(([a, b]) => `(${a})[?@ == ${b}]`),
      fc.tuple(tie("value"), tie("value")).map(([a, b]) => `map(&(${a}), ${b})`),
      fc.tuple(tie("value"), tie("value")).map(([a, b]) => `let $a = ${a} in {x: $a, y: [$a, ${b}]}`),
      tie("value").map((a) => `(${a})[::-1]`),
      tie("value").map((a) => `(${a}).*`)
    )
  }))

  it("takes a bounded time and memory", async () => {
    await fc.assert(
      fc.asyncProperty(value, growing, async (expression, n) => {
        evaluates(expression.replaceAll("&&", "&"), n)
        await turn()
      }),
      { numRuns: 100 }
    )
  })

  it.each([
    'length(split(pad_left(`"x"`, n, `"y"`), `""`)) > `0`',
    'upper(pad_left(`"x"`, n, `"y"`))',
    'pad_right(`"x"`, n)',
    "join(text, map(&$.text, list))",
    "replace(text, 'a', text)",
    "replace(text, 'a', '$`a', n)",
    "replace(text, '', text)",
    "contains(text, late)",
    "split(text, late)",
    "find_last(text, late)",
    "trim(blank)",
    "max(map(&$.text, list))",
    "sort(map(&$.text, list))",
    "sort_by(objects, &$.text)",
    "objects[?$.wide && $.objects == $.objects]",
    "to_string(let $a = [$, $] in let $b = [$a, $a] in let $c = [$b, $b] in [$c, $c, $c, $c])",
    "map(&$.list, list)[]",
    "max_by(flags, &(@ == `1` && $.first || $.second))",
    "min_by(flags, &(@ == `1` && $.first || $.second))",
    "group_by(flags, &(@ == `1` && $.first || $.second))",
    "length(map(&$.wide.*, list))",
    "length(map(&keys($.wide), list))",
    `${"[@, @][] | ".repeat(40)}length(@)`
  ])("takes a bounded time and memory: %.200s", async (expression) => {
    for (const n of sizes) evaluates(expression, n)
    await turn()
  })
})

it("a filter takes expressions from its own text only, and none from literals and the input", () => {
  const doubled = {
    type: "Flatten",
    child: { type: "MultiSelectList", children: [{ type: "Current" }, { type: "Current" }] }
  }
  const node = Array.from({ length: 40 }).reduce<object>((left) => ({ type: "Pipe", left, right: doubled }), doubled)
  const expression = { expref: true, ...node }
  const given = `\`${JSON.stringify(expression)}\``
  for (const call of [
    "map(given, [[`1`]])",
    "sort_by([[`1`]], given)",
    "max_by([[`1`]], given)",
    "group_by([`1`], given)"
  ]) {
    inBounds(call, () => {
      for (const text of [call, call.replace("given", given)]) {
        expect(filter(text, { given: expression }), text).toEqual({ failed: expect.stringContaining("Invalid type") })
      }
    })
  }
})

const renders = (template: string, n: number) =>
  inBounds(`${template} with ${n}`, () => {
    const parsed = Liquid.parse(template)
    if (Result.isFailure(parsed)) throw new Error(`${template}: ${parsed.failure.reason}`)
    expect(Liquid.fill(parsed.success, inputOf(n), { limit: 256 * 1024 })).toHaveProperty("_tag")
  })

describe("a template in Liquid", () => {
  it("knows what each filter of the library takes", () => {
    expect([...Object.keys(boundedFilters), "raw"].sort()).toEqual([...Object.keys(filters), "adf_to_text"].sort())
  })

  const leaf = fc.constantFrom(
    ...["text", "late", "blank", "marked", "words", "list", "objects", "wide", "n"],
    ...["'a'", "''", "'k'", "'k == v'", "3", "-1", "(1..n)", "nil"]
  )
  const use = fc
    .tuple(fc.constantFrom(...Object.keys(boundedFilters)), fc.array(leaf, { maxLength: 3 }))
    .map(([name, args]) => (args.length === 0 ? name : `${name}: ${args.join(", ")}`))
  const chain = fc.tuple(leaf, fc.array(use, { minLength: 1, maxLength: 5 })).map((parts) => parts.flat().join(" | "))

  it("takes a bounded time and memory", async () => {
    await fc.assert(
      fc.asyncProperty(chain, growing, async (chain, n) => {
        renders(`{% assign x = ${chain} %}{{ x | size }}{{ x }}`, n)
        await turn()
      }),
      { numRuns: 100 }
    )
  })

  it.each([
    `{% capture s %}{{ text }}{% endcapture %}${"{% capture s %}{{ s }}{{ s }}{% endcapture %}".repeat(25)}{{ s | replace: "a", "bb" | size }}`,
    `{% assign s = "a" %}${"{% assign s = s | replace: 'a', 'aa' %}".repeat(40)}{{ s | size }}`,
    `{% assign s = list %}${"{% assign s = s | concat: s %}".repeat(40)}{{ s | size }}`,
    `{% assign s = list %}${"{% assign s = s | push: s %}".repeat(60)}{{ s | join: '' | size }}`,
    `{% assign s = list %}${"{% assign s = s | push: s %}".repeat(60)}{{ s | plus: 1 }}`,
    `{% assign s = list %}${"{% assign s = s | push: s %}".repeat(60)}{% if s < s %}{% endif %}{{ s }}`,
    "{{ list | join: text | size }}",
    "{{ objects | sort_natural: list | size }}",
    "{{ objects | sort: text | size }}",
    "{{ text | replace: '', text | size }}",
    "{{ text | remove_last: late | size }}",
    "{% for x in list %}{% if text contains late %}{% endif %}{% endfor %}",
    "{{ text | split: late | size }}",
    "{{ 0 | date: '%200000000N' | size }}",
    "{% for i in (1..n) %}{% endfor %}",
    "{% for x in list %}{% for y in list limit: 1 reversed %}{% endfor %}{% endfor %}",
    "{% for x in list %}{% cycle text, late %}{% endfor %}",
    "{% tablerow x in list %}{% tablerow y in list %}{% endtablerow %}{% endtablerow %}",
    "{{ objects | where_exp: 'o', text | size }}",
    "{% for i in (9007199254740992..9007199254740994) %}{% endfor %}",
    "{{ (1..2) | where_exp: 'i', 'i > (9007199254740992..9007199254740994)' | size }}",
    "{{ objects | where: 'k[(9007199254740992..9007199254740994)]' | size }}",
    ...[
      "{% if wide[s] %}{% endif %}",
      "{{ wide[s] }}",
      "{% if [s] %}{% endif %}",
      "{% for i in list limit: s offset: s %}{% endfor %}",
      "{% for i in (1..s) %}{% endfor %}",
      "{% for i in s reversed %}{% break %}{% endfor %}",
      "{% tablerow i in list cols: s limit: s %}{% endtablerow %}",
      "{% cycle s: 'a' %}",
      "{% case s %}{% when other %}{% endcase %}"
    ].map((use) => {
      const nested = (name: string) =>
        `{% assign ${name} = list %}${`{% assign ${name} = ${name} | push: ${name} %}`.repeat(60)}`
      return nested("s") + nested("other") + use
    }),
    `{% assign s = "" | split: "" | push: first | push: second %}${"{% assign s = s | concat: s %}".repeat(17)}{{ s | uniq | size }}`,
    "{% for i in (1..n) %}{% case first %}{% when second %}{% endcase %}{% endfor %}",
    "{% for i in (1..n) %}{% cycle first: 'a', 'b' %}{% endfor %}",
    "{% for i in (1..n) %}{% if wide.size > 3 or wide == empty %}{% endif %}{% endfor %}",
    "{% for i in (1..n) %}{% for x in wide %}{% break %}{% endfor %}{% endfor %}",
    "{% for i in (1..n) %}{% for x in list reversed %}{% break %}{% endfor %}{% endfor %}",
    "{% for i in (1..n) %}{% assign x = 0 | date: '%Y', 'Europe/Berlin' %}{% endfor %}",
    "{% for i in (1..n) %}{% assign x = 0 | date: '%A %c' %}{% endfor %}",
    "{% for i in (1..n) %}{% assign x = 0 | date_to_string %}{% endfor %}",
    "{% for i in (1..n) %}{% assign x = list | sample %}{% endfor %}",
    "{% for i in (1..n) %}{% assign x = 'a' | sample: objects %}{% endfor %}",
    "{% for i in (1..n) %}{% assign x = wide[text] %}{% endfor %}",
    `{% for i in (1..n) %}${"{% if text == late or text == 'a' %}{% elsif late == text %}{% endif %}".repeat(50)}{% endfor %}`
  ])("takes a bounded time and memory: %.200s", async (template) => {
    for (const n of sizes) renders(template, n)
    await turn()
  })
})
