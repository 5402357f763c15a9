import { expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type Content, commentOf, contentOf, contentWith } from "../../../../src/engine/delivery/kinds/Comment.ts"
import { gfm } from "../../../../src/engine/markdown/Dialects.ts"
import { shown } from "../../../../src/engine/markdown/Shown.ts"

const marker = "<!-- webhook-trigger 0123456789abcdef0123456789abcdef "
const sign = () => "0".repeat(32)

const markdowns = fc.oneof(
  fc.constantFrom("Done", "- a\n- b", "```\ncode\n```", "a\n\n---\n\n- b", "<!-- -->", "", "a\n\n---\n"),
  fc.string({ unit: "grapheme" })
)
/** The ends of runs, in any order, and perhaps more than once. */
const ends = fc.array(fc.record({ n: fc.integer({ min: 1, max: 9 }), body: markdowns }), { maxLength: 12 })

it("a comment has the newest answer, and below it a line for each later run without one", () => {
  fc.assert(
    fc.property(ends, fc.integer({ min: 0, max: 511 }), (delivered, answered) => {
      const isAnswer = (n: number) => (answered & (1 << (n - 1))) !== 0
      let content: Content | undefined
      for (const { body, n } of delivered) {
        const event = isAnswer(n) ? ("run.succeeded" as const) : ("run.cancelled" as const)
        const title = `${n} was cancelled`
        const text = shown.github({ body: isAnswer(n) ? `${n} ${body}` : title })
        const next = contentWith({ event, order: `run-${n}`, text, title }, gfm, content) ?? content
        const written = commentOf(next!, marker, sign)
        expect(written.length).toBeLessThan(65_536)
        // As the next run reads it.
        content = contentOf(written.replaceAll("\n", "\r\n"), marker)
        expect(commentOf(content!, marker, sign).trimEnd()).toBe(written.trimEnd())
      }
      const seen = [...new Set(delivered.map(({ n }) => n))].toSorted()
      const newest = seen.findLast(isAnswer)
      if (newest === undefined) return
      expect(content).toMatchObject({ isAnswer: true, main: { order: `run-${newest}` } })
      expect(content!.main.text.startsWith(String(newest))).toBe(true)
      const later = seen.filter((n) => n > newest)
      const lines = content!.lines.map(({ order, text }) => `${order} ${text}`)
      expect(later.map((n) => `run-${n} ${n} was cancelled`)).toEqual(expect.arrayContaining(lines))
      // The newest ones, unless they came before the answer.
      if (delivered.findIndex(({ n }) => n === newest) < delivered.findIndex(({ n }) => n > newest)) {
        expect(lines).toEqual(later.map((n) => `run-${n} ${n} was cancelled`).slice(-5))
      }
    })
  )
})

it("an event before the end of a run never replaces its end", () => {
  const ended = { text: "42", title: "review succeeded", order: "run-1", event: "run.succeeded" } as const
  const failed = { text: "no disk", title: "review failed", order: "run-2", event: "run.failed" } as const
  const asks = { text: "waits", title: "review waits for approval", event: "run.awaiting_approval" } as const
  for (const before of [contentWith(failed, gfm)!, contentWith(failed, gfm, contentWith(ended, gfm))!]) {
    expect(contentWith({ ...asks, order: "run-2" }, gfm, before)).toBeUndefined()
  }
  const waits = contentWith({ ...asks, order: "run-2" }, gfm)!
  expect(contentWith(failed, gfm, waits)).toMatchObject({ main: { text: "no disk" } })
})

it("a later run that ended without an answer stays in a line when an older answer comes", () => {
  const text = shown.github({ body: "**review** failed: no disk\n\n- a link" })
  const ended = { text, title: "review failed: no disk", order: "run-2" }
  const failed = contentWith({ ...ended, event: "run.failed" }, gfm)!
  expect(failed).toMatchObject({ isAnswer: false, main: { order: "run-2" }, lines: [] })
  const answer = { text: "42", title: "review succeeded", order: "run-1", event: "run.succeeded" } as const
  expect(contentWith(answer, gfm, failed)).toEqual({
    ...{ isAnswer: true, main: { order: "run-1", text: "42" } },
    lines: [{ order: "run-2", text: "**review** failed: no disk" }]
  })
  expect(contentWith({ ...ended, event: "run.failed", order: "run-0" }, gfm, failed)).toBeUndefined()
})
