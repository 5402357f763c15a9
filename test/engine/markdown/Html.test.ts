import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { toHtml } from "../../../src/engine/markdown/Html.ts"

const bodyOf = (html: string): string => /<body>([\s\S]*)<\/body>/.exec(html)![1]!

/** What agents could write to run code, to load something or to leave the form. */
const pieces = [
  ...[
    "<script>",
    "</script>",
    "<pre>",
    "</pre>",
    "<style>",
    "<img src=x onerror=y>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>"
  ],
  ...["</body>", "<a href='javascript:y'>", "&lt;b&gt;", "&#60;b&#62;", "<", ">", '"', "'", "`", "```", "\\<", "<b "],
  ...["[x](javascript:y)", '[x](https://a.example/"onclick=y)', "![x](https://a.example/x.png)", "<https://a.example>"],
  ...[
    "[x]: data:text/html,y 'z'",
    "[x]",
    "| a | b |\n|---|---|\n| <b> | `<i>` |",
    "- [x] ",
    "> ",
    "1. ",
    "# ",
    "\n",
    "\n\n"
  ]
]

const allowed =
  /^<(?:\/?(?:h[1-6]|p|ul|li|blockquote|strong|em|del|code|pre|table|thead|tbody|tr)|\/?ol|ol start="\d+"|br|hr|\/?t[hd]|t[hd] align="\w+"|\/a|a href="(?:https?|mailto):[^"<>\s]*")>$/

describe("HTML of e-mails", () => {
  it("has only harmless elements, whatever agents write", () => {
    const text = fc.array(fc.constantFrom(...pieces, "a ", " "), { maxLength: 30 }).map((all) => all.join(""))
    fc.assert(
      fc.property(text, (markdown) => {
        const body = bodyOf(toHtml(markdown))
        for (const [tag] of body.matchAll(/<[^>]*>?/g)) expect(tag).toMatch(allowed)
      }),
      { numRuns: 1_000 }
    )
  })

  it("shows tables, lists and code", () => {
    const html = toHtml("| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done\n- **two**\n\n```js\nif (a < b) {}\n```")
    expect(html).toContain("<th>a</th>")
    expect(html).toContain("<li>☑ done</li>")
    expect(html).toContain("<pre>if (a &lt; b) {}</pre>")
  })
})
