import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { lexer, Marked, type Token, type Tokens } from "marked"
import { card, discord, gfm, gitlab, mrkdwn } from "../../../src/engine/markdown/Dialects.ts"
import { asCode, type Dialect, escapeMarkdown, toBlocks } from "../../../src/engine/markdown/Markdown.ts"
import { toParts } from "../../../src/engine/markdown/Parts.ts"

const write = (markdown: string, dialect: Dialect): string =>
  toBlocks(markdown, dialect)
    .map(({ text }) => text)
    .join("\n\n")

/** What agents could write to mention people, to run commands or to leave the form. */
const hostile = [
  ...["@octocat", "\\@octocat", "&#64;octocat", "&commat;octocat", "@", "octocat", "@everyone", "@here"],
  ...["<!channel>", "<@U012AB3CD>", "<#C012AB3CD>", "<!subteam^S012AB3CD>", "<at>Rosa</at>", "<b>", "<!--", "-->"],
  ...[
    "/close",
    "\\/close",
    "/merge",
    "`",
    "``",
    "```",
    "~~~",
    "`@octocat`",
    "``@octocat` ``",
    "[x](javascript:@octocat)"
  ],
  ...[
    "[@octocat](https://a.example/@octocat)",
    "![](https://a.example/x|y>z)",
    "**",
    "_",
    "~~",
    "|",
    "\\",
    "\n",
    "\n\n"
  ],
  ...[
    "\n- ",
    "\n1. ",
    "\n999999999. ",
    "\n> ",
    "\n# ",
    "\n    ",
    "\n---\n",
    "\n===\n",
    " ",
    "text",
    "<",
    ">",
    "&",
    "&lt;"
  ]
]

const markdowns = fc.array(fc.constantFrom(...hostile), { maxLength: 12 }).map((parts) => parts.join(""))

/** As a whole, and in parts of any size. */
const sizes = fc.oneof(fc.constant(100_000), fc.integer({ min: 1, max: 120 }))
const partsOf = (markdown: string, dialect: Dialect, size: number): ReadonlyArray<string> =>
  toParts(markdown, { count: 30, dialect, size }).parts

/**
 * Bare addresses are read as text. They may contain backticks, so code that touches one would be part of it; then it mentions
 * no one either, as nothing in a link does on GitHub and GitLab.
 */
const reader = new Marked({ tokenizer: { url: () => undefined } })

/** All text of the Markdown that is no code, as a reader of CommonMark finds it. */
const textOf = (tokens: ReadonlyArray<Token> = []): string =>
  tokens
    .map((token): string => {
      if (token.type === "code" || token.type === "codespan") return "`"
      if (token.type === "table") {
        const { header, rows } = token as Tokens.Table
        return [header, ...rows].map((cells) => cells.map(({ tokens }) => textOf(tokens)).join(" | ")).join("\n")
      }
      if (token.type === "list") return (token as Tokens.List).items.map(({ tokens }) => textOf(tokens)).join("\n")
      if (token.type === "html") return "(HTML)"
      if (token.type === "escape") return (token as Tokens.Escape).text
      const inner = (token as Tokens.Generic).tokens
      return inner ? textOf(inner) : token.raw
    })
    .join("")

const entities = (text: string): string => text.replace(/&#64;|&#x40;|&commat;/gi, "@")

describe("an agent's Markdown", () => {
  it("mentions no one on GitHub and GitLab, and holds no commands, whatever it is made of", () => {
    fc.assert(
      fc.property(markdowns, sizes, (markdown, size) => {
        for (const dialect of [gfm, gitlab]) {
          for (const written of partsOf(markdown, dialect, size)) {
            expect(entities(textOf(reader.lexer(written)))).not.toMatch(/@\w|\(HTML\)/)
            // Also in code, as older versions of GitLab read that.
            if (dialect === gitlab) expect(written).not.toMatch(/^\/[a-z]/m)
          }
        }
      }),
      { numRuns: 1_000 }
    )
  })

  it("has none of Slack's own syntax but links, whatever it is made of", () => {
    fc.assert(
      fc.property(markdowns, sizes, (markdown, size) => {
        const special = partsOf(markdown, mrkdwn, size).flatMap((part) => part.match(/<[^>]*>?/g) ?? [])
        for (const one of special) expect(one).toMatch(/^<(https?|mailto):[^|<>\s]*(\|[^<>]*>?|>|$)/)
      }),
      { numRuns: 1_000 }
    )
  })

  it("names no one for Discord and Teams outside of code", () => {
    fc.assert(
      fc.property(markdowns, sizes, (markdown, size) => {
        for (const dialect of [discord, card]) {
          const text = partsOf(markdown, dialect, size)
            // A backslash escapes what follows, but not the end of code.
            .map((text) => text.replace(/\\[\s\S]|```[\s\S]*?```|`[^`]*`/g, (part) => (part[0] === "\\" ? part : "")))
          for (const one of text) expect(one).not.toMatch(dialect === card ? /@\w/ : /@\w|(^|[^\\])<[#!@:]/)
        }
      }),
      { numRuns: 500 }
    )
  })

  it("stays in its code on Discord and Slack, however many backticks it has in a row", () => {
    for (const dialect of [discord, mrkdwn]) {
      for (const backticks of [3, 4, 5, 6, 9]) {
        const [code] = partsOf(`~~~\n${"`".repeat(backticks)}@octocat\n~~~`, dialect, 100_000)
        expect(code!.match(/```/g)).toHaveLength(2)
      }
    }
  })

  const answer = `# Review

**Two** things, *one* ~~urgent~~, see [the docs](https://a.example/docs?a=1&b=2) & \`a < b\`:

- first
  - nested \`x\`
- [x] done

3. three

> quoted <b>

\`\`\`ts
@Injectable()
const a = "<!channel>"
\`\`\`

| file | lines |
|---|---|
| a.ts | 10 |

---
`

  it("is written in Slack's form", () => {
    expect(write(answer, mrkdwn)).toBe(`*Review*

*Two* things, _one_ ~urgent~, see <https://a.example/docs?a=1&amp;b=2|the docs> &amp; \`a &lt; b\`:

• first
  • nested \`x\`
• ☑ done

3. three

> quoted &lt;b&gt;

\`\`\`
@Injectable()
const a = "&lt;!channel&gt;"
\`\`\`

\`\`\`
file  lines
----  -----
a.ts  10
\`\`\`

———`)
  })

  it("stays Markdown for GitHub, with its code as it was", () => {
    expect(write(answer, gfm)).toBe(`# Review

**Two** things, *one* ~~urgent~~, see [the docs](https://a.example/docs?a=1&b=2) &amp; \`a < b\`:

- first
  - nested \`x\`
- ☑ done

3. three

> quoted &lt;b&gt;

\`\`\`ts
@Injectable()
const a = "<!channel>"
\`\`\`

| file | lines |
| --- | --- |
| a.ts | 10 |

---`)
  })

  it("keeps the language of code that GitHub colors, and no other word that it would act on", () => {
    for (const [language, kept] of [
      ["TypeScript title=x", "typescript"],
      ["mermaid", ""],
      ["suggestion:-1+1", ""]
    ]) {
      expect(write(`\`\`\`${language}\na\n\`\`\``, gfm)).toBe(`\`\`\`${kept}\na\n\`\`\``)
    }
  })

  it("keeps the cells of a table on GitHub, whatever is in them", () => {
    const cells = ["`a \\| @b`", "c \\| @d", "[e](https://a.example/f)"]
    const written = write(`| 1 | 2 | 3 |\n|---|:-:|--:|\n| ${cells.join(" | ")} |`, gfm)
    expect(written).toBe(
      "| 1 | 2 | 3 |\n| --- | --- | --- |\n| `a \\| @b` | c \\| @\u200bd | [e](https://a.example/f) |"
    )
    expect((reader.lexer(written)[0] as Tokens.Table).rows[0]).toHaveLength(3)
  })

  it("is shown as it is where it is code, whatever is in it", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("`", "```", "~~~", "\n", "a", "> ", " ")), (pieces) => {
        const text = `a${pieces.join("")}a`
        expect([...lexer(asCode(text))]).toMatchObject([{ type: "code", text }])
      })
    )
  })

  it("shows plain text as it is, once it is escaped", () => {
    const name = "*Deploy* <b> @team `x` #1 [a](b)"
    expect(write(escapeMarkdown(name), mrkdwn)).toBe("*Deploy* &lt;b&gt; @\u200bteam `x` #1 [a](b)")
  })
})
