/** What does not fit is cut, and never left out: of any Markdown, each service shows the longest beginning that fits. */
import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { card, discord, gfm, gitlab, mrkdwn } from "../../../../src/engine/markdown/Dialects.ts"
import { type Dialect, toBlocks } from "../../../../src/engine/markdown/Markdown.ts"
import { toParts } from "../../../../src/engine/markdown/Parts.ts"
import { shown, teamsSizeOf } from "../../../../src/engine/markdown/Shown.ts"

const words = fc
  .array(fc.constantFrom("word", "`@team`", "**bold**", "a_b", "<b>", "👍", "@team", "[docs](https://a.example/x)"), {
    minLength: 1,
    maxLength: 30
  })
  .map((all) => all.join(" "))
const lines = fc.array(words, { minLength: 1, maxLength: 20 })
const block = fc.oneof(
  words,
  lines.map((all) => all.map((one) => `- ${one}`).join("\n")),
  lines.map((all) => all.map((one, i) => `${i + 1}. ${one}\n   - nested ${one}`).join("\n")),
  lines.map((all) => `\`\`\`ts\n${all.join("\n")}\n\`\`\``),
  lines.map((all) => `| a | b |\n|---|---|\n${all.map((one) => `| ${one} | 1 |`).join("\n")}`),
  lines.map((all) => all.map((one) => `> ${one}`).join("\n")),
  words.map((one) => `## ${one}`)
)
const markdowns = fc.array(block, { minLength: 1, maxLength: 6 }).map((all) => all.join("\n\n"))

/** The whole blocks that fit, and whether all do. */
const wholeIn = (markdown: string, dialect: Dialect, size: number) => {
  const texts = toBlocks(markdown, dialect).map(({ text }) => text)
  const count = texts.findIndex((_, i) => texts.slice(0, i + 1).join("\n\n").length > size)
  return { shown: texts.slice(0, count < 0 ? undefined : count).join("\n\n"), isAll: count < 0 }
}

describe("what does not fit", () => {
  it("is cut inside the first block that does not, by any limit", () => {
    fc.assert(
      fc.property(markdowns, fc.integer({ min: 40, max: 1_000 }), (markdown, size) => {
        for (const dialect of [gfm, gitlab, discord, mrkdwn, card]) {
          const { isCut, parts } = toParts(markdown, { count: 1, dialect, size })
          const [part = ""] = parts
          const { isAll, shown } = wholeIn(markdown, dialect, size)
          expect(part.length).toBeLessThanOrEqual(size)
          expect([part.startsWith(shown), isCut]).toEqual([true, !isAll])
          // Of the next one, something is shown.
          if (!isAll && size - shown.length > 120) expect(part.length).toBeGreaterThan(shown.length + 2)
          if (isAll) expect(part).toBe(shown)
        }
      })
    )
  })

  it("is continued in the next part, if there is one", () => {
    const items = Array.from({ length: 40 }, (_, i) => `- item ${i} of the list`).join("\n")
    const { isCut, parts } = toParts(items, { count: 10, dialect: mrkdwn, size: 200 })
    expect(isCut).toBe(false)
    expect(parts.join("\n")).toBe(items.replaceAll("- ", "• "))
  })

  const page = "https://hooks.example.com/runs/1"
  const title = "**review** succeeded"
  const long: ReadonlyArray<readonly [string, string]> = [
    ["a list of many items", Array.from({ length: 4_000 }, (_, i) => `- item ${i} of the list`).join("\n")],
    ["a paragraph", "word ".repeat(14_000)],
    ["a word", "x".repeat(70_000)],
    ["code", `\`\`\`sh\n${"echo 1\n".repeat(10_000)}\`\`\``],
    ["a table", `| a | b |\n|---|---|\n${"| one | two |\n".repeat(6_000)}`],
    ["a quote", "> quoted text\n".repeat(6_000)],
    ["an item", `- ${"word ".repeat(14_000)}`],
    ["escapes", '"\\" '.repeat(20_000)]
  ]

  for (const [what, text] of long) {
    it(`is shown up to the limit of each service, with a link to the run: ${what}`, () => {
      const body = `${title}\n\n${text}`
      for (const service of ["github", "gitlab"] as const) {
        const text = shown[service]({ body, page })
        expect(text.length).toBeLessThan(60_000)
        expect(text.length).toBeGreaterThan(40_000)
        expect(text.endsWith(`\n\n*The answer is longer.* [Show the run](${page})`)).toBe(true)
      }
      const { text: content } = shown.discord({ body, page })
      expect(content.length).toBeLessThanOrEqual(2_000)
      expect(content.length).toBeGreaterThan(1_500)
      expect(content).toContain(`*The whole text is attached.* [Show the run](${page})`)
      const all = shown.slack({ body, page })
      expect(Math.max(...all.map(({ length }) => length))).toBeLessThanOrEqual(3_000)
      expect(all.join("").length).toBeGreaterThan(25_000)
      expect(all.at(-1)).toBe(`_The answer is longer._ <${page}|Show the run>`)
      const card = shown.teams({ body, page })
      expect(teamsSizeOf(card)).toBeLessThanOrEqual(28 * 1024)
      expect(teamsSizeOf(card)).toBeGreaterThan(25 * 1024)
      expect(card.attachments[0]!.content.body.at(-1)!.text).toBe(`*The answer is longer.* [Show the run](${page})`)
    })
  }

  it("has no link where the address of the run's page is not known", () => {
    expect(shown.github({ body: "x".repeat(70_000) })).toMatch(/x\n\n\*The answer is longer\.\*$/)
  })
})
