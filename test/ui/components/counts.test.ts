import { describe, expect, it } from "vitest"
import { successShare } from "../../../src/domain/run/RunStatus.ts"
import { successRate, summarizeCounts } from "../../../src/ui/components/run/Counts.ts"

const none = { success: 0, error: 0, timeout: 0, cancelled: 0, live: 0 }

describe("the success rate", () => {
  it("is the share of successes among runs that succeeded, failed or timed out", () => {
    expect(successRate({ ...none, success: 1, cancelled: 1 })).toBe("100%")
    expect(successRate({ ...none, success: 1, error: 1, timeout: 2, cancelled: 6, live: 3 })).toBe("25%")
    expect(successShare({ ...none, error: 2 })).toBe(0)
    expect(successShare(none)).toBeUndefined()
  })

  it("is unknown while no run has succeeded, failed or timed out; then the others are named", () => {
    expect(summarizeCounts({ ...none, success: 1, error: 1, cancelled: 1 })).toBe("50% of 2 runs")
    expect(summarizeCounts({ ...none, live: 1 })).toBe("1 unfinished")
    expect(summarizeCounts({ ...none, cancelled: 2, live: 1 })).toBe("2 cancelled, 1 unfinished")
    expect(summarizeCounts(none)).toBeUndefined()
  })
})
