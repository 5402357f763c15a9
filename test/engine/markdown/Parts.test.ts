import { expect, it } from "@effect/vitest"
import { mrkdwn } from "../../../src/engine/markdown/Dialects.ts"
import { toParts } from "../../../src/engine/markdown/Parts.ts"

const parts = (markdown: string, size: number, count = 100) => toParts(markdown, { count, dialect: mrkdwn, size })

it("blocks share a part while they fit, and are split between words when they do not", () => {
  expect(parts("one\n\ntwo\n\nthree", 10)).toEqual({ parts: ["one\n\ntwo", "three"], isCut: false })
  expect(parts("one two three four", 10).parts).toEqual(["one two", "three four"])
  expect(parts("x".repeat(25), 10).parts.map((part) => part.length)).toEqual([10, 10, 5])
  expect(parts("👍".repeat(10), 5).parts.join("")).toBe("👍".repeat(10))
})

it("code that is too long becomes several blocks of code", () => {
  const code = Array.from({ length: 40 }, (_, i) => `line ${i} <`).join("\n")
  const split = parts(`\`\`\`\n${code}\n\`\`\``, 100)
  expect(split.parts.every((part) => part.startsWith("```\n") && part.endsWith("\n```") && part.length <= 100)).toBe(
    true
  )
  expect(split.parts.join("\n").replace(/```\n|\n```|\n(?=\n)/g, "")).toBe(code.replaceAll("<", "&lt;"))
})

it("more parts than are wanted are left out, which it says", () => {
  expect(parts("one\n\ntwo\n\nthree", 5, 2)).toEqual({ parts: ["one", "two"], isCut: true })
})
