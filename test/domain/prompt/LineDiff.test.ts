import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type DiffLine, diffLines, hunksOf } from "../../../src/domain/prompt/LineDiff.ts"

const marks = { same: " ", removed: "-", added: "+" } as const
const shown = (lines: ReadonlyArray<DiffLine>) => lines.map(({ kind, text }) => marks[kind] + text)

describe("a diff by lines", () => {
  it("shows what was removed and added between what has stayed", () => {
    expect(shown(diffLines("a\nb\nc", "a\nx\nc\nd"))).toEqual([" a", "-b", "+x", " c", "+d"])
    expect(shown(diffLines("a", "a"))).toEqual([" a"])
    expect(shown(diffLines("", "a"))).toEqual(["-", "+a"])
  })

  it("makes one text of the other, with the lines' numbers, and with no more changes than needed", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 12 }).map((lines) => lines.join("\n"))
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = diffLines(before, after)
        const [was, is] = [lines.filter(({ kind }) => kind !== "added"), lines.filter(({ kind }) => kind !== "removed")]
        expect(was.map(({ text }) => text).join("\n")).toBe(before)
        expect(is.map(({ text }) => text).join("\n")).toBe(after)
        expect(was.map(({ before }) => before)).toEqual(was.map((_, i) => i + 1))
        expect(is.map(({ after }) => after)).toEqual(is.map((_, i) => i + 1))
        expect(lines.filter(({ kind }) => kind === "same")).toHaveLength(common(before.split("\n"), after.split("\n")))
      })
    )
  })

  it("is quick, however much has changed", () => {
    const numbered = (word: string) => Array.from({ length: 20_000 }, (_, n) => `${word} ${n}`).join("\n")
    expect(diffLines(numbered("old"), numbered("new"))).toHaveLength(40_000)
  })

  it("leaves out what has stayed, but for a few lines around each change", () => {
    const before = Array.from({ length: 30 }, (_, n) => `line ${n}`)
    const after = before.with(10, "ten").with(13, "thirteen").with(28, "twenty-eight")
    const hunks = hunksOf(diffLines(before.join("\n"), after.join("\n")))
    expect(hunks.map(({ lines, skipped }) => [skipped, lines[0]!.text, lines.at(-1)!.text])).toEqual([
      [7, "line 7", "line 16"],
      [8, "line 25", "line 29"]
    ])
    expect(hunksOf(diffLines("a\nb", "a\nb"))).toEqual([])
  })
})

/** The length of the longest common subsequence, by the plain rule. */
const common = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): number => {
  let row = new Array<number>(b.length + 1).fill(0)
  for (const x of a) {
    const next = [0]
    b.forEach((y, j) => next.push(x === y ? row[j]! + 1 : Math.max(row[j + 1]!, next[j]!)))
    row = next
  }
  return row.at(-1)!
}
