import { describe, expect, it } from "vitest"
import { countRated, successShare } from "../../../src/domain/run/RunStatus.ts"
import type { Counts } from "../../../src/domain/run/Statistics.ts"

const of = (counts: Partial<Counts>): Counts => ({
  ...{ success: 0, error: 0, timeout: 0, cancelled: 0, live: 0 },
  ...counts
})

describe("the success rate", () => {
  it("is the share of successes among runs that succeeded, failed or timed out", () => {
    expect(successShare(of({ success: 1, cancelled: 1 }))).toBe(1)
    expect(successShare(of({ success: 1, error: 1, timeout: 2, cancelled: 6, live: 3 }))).toBe(0.25)
    expect(successShare(of({ error: 2 }))).toBe(0)
    expect(countRated(of({ success: 1, error: 1, timeout: 2, cancelled: 5 }))).toBe(4)
  })

  it("is unknown while no run has succeeded, failed or timed out", () => {
    expect(successShare(of({ cancelled: 2, live: 1 }))).toBeUndefined()
  })
})
