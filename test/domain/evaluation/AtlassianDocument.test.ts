/** Rich text of Jira in a template. The documents have the nodes that Atlassian describes. */
import { Result } from "effect"
import fc from "fast-check"
import { expect, it } from "vitest"
import { textOf } from "../../../src/domain/prompt/FilledPart.ts"
import * as Liquid from "../../../src/domain/prompt/Liquid.ts"

const template = Result.getOrThrow(Liquid.parse("{{ document | adf_to_text }}"))
const markdown = (document: unknown) =>
  textOf(Result.getOrThrow(Liquid.fill(template, { document }, { limit: 100_000 })))

const doc = (...content: ReadonlyArray<unknown>) => ({ type: "doc", version: 1, content })
const node = (type: string, content: ReadonlyArray<unknown> = [], attrs = {}) => ({ type, attrs, content })
const text = (text: string, ...marks: ReadonlyArray<unknown>) => ({ type: "text", text, marks })
const p = (...content: ReadonlyArray<unknown>) => node("paragraph", content)
const item = (...content: ReadonlyArray<unknown>) => node("listItem", content)

it("becomes Markdown, with its lists, code, links, tables and people", () => {
  const link = { type: "link", attrs: { href: "https://shop.example.com/cart" } }
  const document = doc(
    node("heading", [text("Steps")], { level: 2 }),
    node(
      "orderedList",
      [
        item(p(text("Open the "), text("cart", link), text("."))),
        item(p(text("Add:")), node("bulletList", [item(p(text("a coupon"))), item(p(text("another")))]))
      ],
      { order: 3 }
    ),
    node("codeBlock", [text("total(cart)\n// 0")], { language: "js" }),
    node("panel", [
      p(text("Seen by "), node("mention", [], { id: "1", text: "@Rosa" }), node("hardBreak"), text("twice"))
    ]),
    node("blockquote", [p(text("one")), p(text("two"))]),
    node("rule"),
    node("table", [
      node("tableRow", [node("tableHeader", [p(text("Coupon"))]), node("tableHeader", [p(text("Off"))])]),
      node("tableRow", [node("tableCell", [p(text("A"))]), node("tableCell", [p(text("5")), p(text("10"))])])
    ]),
    node("taskList", [
      node("taskItem", [text("reproduce")], { state: "DONE" }),
      node("taskItem", [text("repair")], { state: "TODO" })
    ]),
    node("expand", [p(text("Log"))], { title: "Details" }),
    node("mediaSingle", [node("media", [], { id: "6e7c", alt: "cart.png" })]),
    p(
      ...[node("status", [], { text: "OPEN" }), text(" "), node("date", [], { timestamp: "1777882512345" }), text(" ")],
      ...[node("emoji", [], { shortName: ":bug:" }), text(" "), node("inlineCard", [], { url: "https://a.example" })]
    )
  )
  expect(markdown(document)).toBe(`## Steps

3. Open the [cart](https://shop.example.com/cart).
4. Add:
   - a coupon
   - another

\`\`\`js
total(cart)
// 0
\`\`\`

Seen by @Rosa
twice

> one
>${" "}
> two

---

| Coupon | Off |
| A | 5  10 |

- [x] reproduce
- [ ] repair

Details

Log

[attachment: cart.png]

OPEN 2026-05-04 :bug: https://a.example`)
})

it("stays as it is if it is a text or nothing, and any other value is JSON", () => {
  expect(markdown("h1. Steps")).toBe("h1. Steps")
  expect(markdown(null)).toBe("")
  expect(markdown({ type: "other" })).toBe('{"type":"other"}')
})

it("is text, whatever a document has in place of what it should have", () => {
  const type = fc.constantFrom(
    ..."text paragraph heading bulletList orderedList taskList codeBlock blockquote table tableRow media date".split(
      " "
    )
  )
  const { node } = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 6 },
      fc.jsonValue(),
      fc.record(
        {
          type,
          text: fc.jsonValue(),
          attrs: fc.oneof(fc.jsonValue(), fc.record({ level: fc.jsonValue(), order: fc.jsonValue() })),
          marks: fc.jsonValue(),
          content: fc.oneof(fc.jsonValue(), fc.array(tie("node")))
        },
        { requiredKeys: ["type"] }
      )
    )
  }))
  fc.assert(fc.property(fc.array(node), (content) => typeof markdown(doc(...content)) === "string"))
})

it("spends its work, also on what it leaves out, and ends with a document that is too deep", () => {
  const wide = doc(p({ type: "text", text: "x", marks: Array(100_000).fill(1) }), ...Array(100_000).fill(1))
  const loop = Result.getOrThrow(Liquid.parse("{% for i in (1..1000) %}{{ document | adf_to_text }}{% endfor %}"))
  expect(Liquid.fill(loop, { document: wide }, { limit: 100_000 })).toMatchObject({ failure: { isOverBudget: true } })
  const deep = Array.from({ length: 40 }).reduce<object>(
    (inner, _, at) => node("panel", [p(text(`${40 - at}`)), inner]),
    p()
  )
  expect(markdown(doc(deep)).split("\n\n")).toEqual(Array.from({ length: 31 }, (_, at) => `${at + 1}`))
})
