/** Templates in Liquid: what they can do, and what they cannot. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import fc from "fast-check"
import { makeWebhookId, type WebhookId } from "../../../src/domain/Id.ts"
import * as Liquid from "../../../src/domain/prompt/Liquid.ts"
import { takeApart } from "../../../src/domain/prompt/PromptLayout.ts"
import type { Variables } from "../../../src/domain/run/Run.ts"
import { isStorable } from "../../../src/domain/StorableText.ts"
import { Renderer, type RenderOptions } from "../../../src/engine/prompt/Renderer.ts"
import { Settings } from "../../../src/engine/Settings.ts"
import { evaluatedHere } from "../../support/EvaluatedHere.ts"
import { cpuTimeOf } from "../../support/time/CpuTime.ts"

const layer = Renderer.layerWithEvaluator.pipe(
  Layer.provide([evaluatedHere, Settings.layer({ maxPrompt: 256 * 1024 })])
)
const liquid = { template_language: "liquid" } as const

const rendered = (template: string, variables: Variables, options: RenderOptions = {}) =>
  Effect.runSync(
    Effect.provide(
      Effect.flatMap(Renderer, (renderer) => renderer.render(template, variables, { ...options, ...liquid })),
      layer
    )
  )
const prompt = (...args: Parameters<typeof rendered>) => rendered(...args).prompt
const refused = (template: string, variables: Variables) =>
  Effect.runSync(
    Effect.provide(
      Effect.flatMap(Renderer, (renderer) => Effect.flip(renderer.render(template, variables, liquid))),
      layer
    )
  )
const placeholders = (template: string) =>
  Effect.flatMap(Renderer, (renderer) =>
    Effect.catchTag(renderer.placeholders(template, liquid), "Unavailable", Effect.die)
  )
const names = (template: string) => Effect.runSync(Effect.provide(placeholders(template), layer))
const broken = (template: string) => Effect.runSync(Effect.provide(Effect.flip(placeholders(template)), layer))

describe("a template in Liquid", () => {
  it("has filters, conditions and loops", () => {
    const alerts = ["a", "b", "c"].map((name, i) => ({ status: i === 1 ? "resolved" : "firing", labels: { name } }))
    const template = `{% for alert in payload.alerts -%}
{%- if alert.status == "firing" -%}
- {{ alert.labels.name | upcase }}{% if alert.labels.more %} more{% endif %}
{% endif -%}
{%- endfor -%}
{{ payload.alerts | size }} in all, first {{ payload.alerts.first.labels.name }}, {{ payload.none | default: "none" }}`
    expect(prompt(template, { payload: { alerts } })).toBe("- A\n- C\n3 in all, first a, none")
  })

  it("writes values as the simple language does", () => {
    expect(prompt("{{a}}|{{b}}|{{c}}|{{d}}|{{e}}", { a: "x", b: 1.5, c: true, d: { x: [1, "y"] }, e: null })).toBe(
      'x|1.5|true|{"x":[1,"y"]}|'
    )
  })

  it("inserts values as text, whatever they contain", () => {
    const hostile = fc.oneof(
      fc.string({ unit: "binary" }).filter(isStorable),
      fc.constantFrom(
        "{{ x }}",
        "{% for i in (1..9) %}x{% endfor %}",
        "{% raw %}",
        "%}",
        "}}",
        "\u0000".slice(1),
        "\u001b[31m"
      )
    )
    fc.assert(
      fc.property(hostile, hostile, (a, b) => {
        expect(prompt("<{{ v.a }}>{% for x in v.list %}[{{ x }}]{% endfor %}", { v: { a, list: [a, b] } })).toBe(
          `<${a}>[${a}][${b}]`
        )
        expect(prompt("{% capture c %}{{ a }}{% endcapture %}{{ c }}{% assign d = b %}{{ d }}", { a, b })).toBe(a + b)
      })
    )
    const own = JSON.parse('{"__proto__":{"x":"p"},"constructor":"c"}')
    expect(prompt("{{ o.__proto__.x }}{{ o.constructor }}", { o: own })).toBe("pc")
    expect(prompt("{{ v }}", { v: "x".repeat(200_000) })).toHaveLength(200_000)
  })

  it("names what it reads: of a computed path the part before, and of a loop the list", () => {
    expect(
      names(
        '{{ payload.a.b | upcase }}{% for x in payload.list %}{{ x.y }}{% if headers["x-y"] %}{% endif %}{% endfor %}{{ payload.list[0].z }}{{ payload.m[query.k] }}{{ payload.l.size }}{{ payload["odd name"] }}{% assign q = 1 %}{{ q }}'
      )
    ).toEqual([
      "payload.a.b",
      "payload.list",
      "payload.list.0.z",
      "payload.m",
      "payload.l",
      'payload."odd name"',
      "headers.x-y",
      "query.k"
    ])
  })

  it("names the first value that is missing", () => {
    expect(refused("{{ payload.a }}{{ payload.b.c }}", { payload: { a: 1 } })).toMatchObject({
      _tag: "MissingVariables",
      names: ["payload.b.c"]
    })
    for (const inherited of [
      "constructor",
      "__proto__",
      "toString",
      "list.constructor",
      "list.map",
      "text.constructor"
    ]) {
      expect(refused(`{{ payload.${inherited} }}`, { payload: { list: [1], text: "x" } })._tag, inherited).toBe(
        "MissingVariables"
      )
    }
  })

  it("is refused when it is saved, with the position", () => {
    const cases: ReadonlyArray<readonly [template: string, line: number, column: number, reason: RegExp]> = [
      ["a\n  {% if x %}", 2, 3, /not closed/],
      ["{{ a", 1, 1, /not closed/],
      ["x {{ a | nofilter }}", 1, 3, /undefined filter: nofilter/],
      ["{% nothing %}", 1, 1, /not found/],
      ["{% include 'a' %}", 1, 1, /not found/],
      ["{% render '/etc/passwd' %}", 1, 1, /not found/],
      ["{% layout 'a' %}", 1, 1, /not found/],
      ["{% block a %}{% endblock %}", 1, 1, /not found/],
      ["{{ a | raw }}", 1, 1, /undefined filter: raw/],
      ["\n{% for i in (1..1000000000) %}{% endfor %}", 2, 1, /too much work/],
      ["{% for i in (1..2000) %}{% for j in (1..2000) %}x{% endfor %}{% endfor %}", 1, 25, /too much work/]
    ]
    for (const [template, line, column, reason] of cases) {
      const fault = broken(template)
      expect([fault.line, fault.column], template).toEqual([line, column])
      expect(fault.reason).toMatch(reason)
      expect(fault.reason).not.toMatch(/line:|file:/)
    }
    const nested = (depth: number) => "{% if x %}".repeat(depth) + "{% endif %}".repeat(depth)
    expect(names(nested(100))).toEqual(["x"])
    expect(broken(nested(102))).toMatchObject({ reason: "this is nested too deep", line: 1, column: 1011 })
    expect(broken(nested(6_000)).reason).toMatch(/nested too deep|ms/)
    expect(broken(`{{ ${"a[".repeat(20_000)}b${"]".repeat(20_000)} }}`).reason).toMatch(/nested too deep|ms/)
  })

  it("does a bounded work, whatever it and its input are, and says where it stopped", () => {
    const list = Array.from({ length: 50_000 }, () => 0)
    const text = "x".repeat(1_000_000)
    const tooMuch: ReadonlyArray<readonly [template: string, column: number]> = [
      ["{% for a in list %}{% for b in list %}{% endfor %}{% endfor %}", 20],
      ["{% assign s = text %}{% for i in list %}{% assign s = s | append: s %}{% endfor %}{{ s }}", 41],
      ["{% for i in list %}{% capture s %}{{ s }}{{ text }}{% endcapture %}{% endfor %}", 42]
    ]
    for (const [template, column] of tooMuch) {
      const parsed = Result.getOrThrow(Liquid.parse(template))
      const filled = Liquid.fill(parsed, { text, list, s: "" }, { limit: 256 * 1024 })
      expect(Result.getFailure(filled)).toMatchObject({ value: { isOverBudget: true, column } })
    }
    expect(refused("{% for i in list %}{{ text }}{% endfor %}", { text, list })).toMatchObject({
      _tag: "PromptTooLarge"
    })
  })

  it.effect("that takes too much with one webhook's input delays no other webhook with the same template", () =>
    Effect.gen(function* () {
      const renderer = yield* Renderer
      const [first, second] = [yield* makeWebhookId, yield* makeWebhookId]
      const template = "{% for a in list %}{% for b in list %}{% endfor %}{% endfor %}done"
      const render = (id: WebhookId, length: number) =>
        Effect.result(renderer.render(template, { list: Array(length).fill(0) }, { ...liquid, id }))
      expect(yield* render(first, 50_000)).toMatchObject({ failure: { _tag: "TemplateFailed" } })
      expect(yield* render(second, 300)).toMatchObject({ success: { prompt: "done" } })
    }).pipe(Effect.provide(layer))
  )

  it("takes time that grows with the list that it loops over, and not with its square", () => {
    const work = (length: number) =>
      cpuTimeOf(() => prompt("{% for a in list %}{% if a %}x{% endif %}{% endfor %}", { list: Array(length).fill(1) }))
    /** Of ten times, since some include the collection of garbage. */
    const least = (length: number) => Math.min(...Array.from({ length: 10 }, () => work(length)))
    expect(least(20_000)).toBeLessThan(40 * least(2_000) + 50)
  })

  it("marks each value as data with fence, and gives leaders template and values apart", () => {
    const template = "{% for x in list %}{{ x }}, {% endfor %}{% echo list[0] %}{% cycle list[0], 'b' %}."
    const fenced = rendered(template, { list: ["a", "b"] }, { fence: true })
    const [, key] = /<data-([0-9a-f]+)>/.exec(fenced.prompt)!
    const mark = (text: string) => `<data-${key}>${text}</data-${key}>`
    expect(fenced.prompt.endsWith(`\n${mark("a")}, ${mark("b")}, ${mark("a")}${mark("a")}.`)).toBe(true)
    const { prompt, layout } = rendered(template, { list: ["a", "b"] })
    expect(takeApart(prompt, layout!)).toEqual({
      template: "{{1}}, {{2}}, {{3}}{{4}}.",
      values: { 1: "a", 2: "b", 3: "a", 4: "a" }
    })
  })

  it("has blocks of data in loops, until a break, and none in a capture", () => {
    const template = `{% for x in list %}{% data %}{{ x }}{% if x == 2 %}{% break %}{% endif %};{% enddata %}{% endfor %}
{% capture c %}{% data %}{{ list }}{% enddata %}{% endcapture %}{{ c }}`
    const { prompt } = rendered(template, { list: [1, 2, 3] }, { fence: true })
    const [, key] = /<data-([0-9a-f]+)>/.exec(prompt)!
    const mark = (text: string) => `<data-${key}>${text}</data-${key}>`
    expect(prompt.slice(prompt.indexOf("\n\n") + 2)).toBe(`${mark("1;")}${mark("2")}\n${mark("[1,2,3]")}`)
    expect(names(template)).toEqual(["list"])
    expect(broken("\n{% data %}{{ x }}")).toMatchObject({ line: 2, column: 1, reason: "tag {% data %} not closed" })
    expect(broken("{% enddata %}").reason).toBe('tag "enddata" not found')
  })

  it("writes dates in English, by any time zone", () => {
    const at = "2026-03-29T01:30:05Z"
    const date = (format: string, zone = "") => prompt(`{{ at | date: "${format}"${zone} }}`, { at })
    expect(date("%Y-%m-%d %H:%M %z", `, "Europe/Berlin"`)).toBe("2026-03-29 03:30 +0200")
    expect(date("%a %-d %b, %I %p, %Z", `, "America/New_York"`)).toBe("Sat 28 Mar, 09 PM, America/New_York")
    expect(date("%A|%B|%h|%^b|%10B|%-10B|%010a|%%b|%q")).toBe("Sunday|March|Mar|MAR|     March|March|0000000Sun|%b|th")
    expect(date("%c|%x|%X").replaceAll("\u202f", " ")).toBe("3/29/2026, 1:30:05 AM|3/29/2026|1:30:05 AM")
    expect(date("%b %H", ", 90")).toBe("Mar 00")
    const filters = ["date_to_string", "date_to_long_string: 'ordinal', 'US'", "date_to_rfc822", "date_to_xmlschema"]
    expect(filters.map((filter) => prompt(`{{ at | ${filter} }}`, { at }))).toEqual([
      "29 Mar 2026",
      "March 29th, 2026",
      "Sun, 29 Mar 2026 01:30:05 +0000",
      "2026-03-29T01:30:05+00:00"
    ])
    expect(prompt("{{ 'no date' | date: '%b' }}", {})).toBe("no date")
    expect(refused("{{ 0 | date: '%b', 'Europe/Atlantis' }}", {})).toMatchObject({ _tag: "TemplateFailed" })
  })

  it("takes numbers, lists and names in tags as it is written", () => {
    const template = `{% for i in (first..n) offset: 1 limit: two reversed %}{{ i }}{% endfor %}|{% for i in list limit: 1 %}{{ i }}{% endfor %}{% for i in list offset: continue %}{{ i }}{% endfor %}|{% tablerow i in list cols: 2 limit: two %}{{ i }}{% endtablerow %}|{% case list[1] %}{% when "x", "b" %}B{% endcase %}|{% case none %}{% when empty %}E{% endcase %}|{% cycle n: 1, 2 %}{% cycle n: 1, 2 %}|{{ map[list[0]] }}{{ map.size }}`
    const input = { first: 1, n: 5, two: "2", list: ["a", "b", "c"], none: {}, map: { a: "A", b: "B" } }
    expect(prompt(template, input)).toBe(
      '32|abc|<tr class="row1"><td class="col1">a</td><td class="col2">b</td></tr>|B|E|12|A2'
    )
  })

  it("changes nothing in its input", () => {
    const input = { count: 1 }
    expect(prompt("{% increment count %}{% decrement other %}{{ count }}", input)).toBe("1-12")
    expect(input).toEqual({ count: 1 })
  })

  it("makes no text that cannot be stored", () => {
    expect(prompt('{{ t | split: "" | first }}{{ u | url_decode }}', { t: "😀", u: "a%00b" })).toBe("\ufffda\ufffdb")
  })
})
