import { describe, expect, it } from "@effect/vitest"
import { DateTime } from "effect"
import { age, ago, timeAndAge } from "../../src/cli/Output.ts"

describe("a past time", () => {
  const at = DateTime.makeUnsafe("2026-01-02T03:04:05.678Z")

  it("has an age in its largest unit", () => {
    for (const [seconds, text] of [
      // The clock of the server is ahead.
      [-60, "just now"],
      [0, "just now"],
      [9.9, "just now"],
      [10, "10 s ago"],
      [59, "59 s ago"],
      [60, "1 min ago"],
      [200, "3 min ago"],
      [3600, "1 h ago"],
      [86_399, "23 h ago"],
      [86_400, "1 d ago"],
      [40 * 86_400, "40 d ago"]
    ] as const) {
      expect(age(at, at.epochMilliseconds + seconds * 1000), `${seconds}`).toBe(text)
    }
  })

  it("is absolute where no terminal shows it", () => {
    for (const text of [ago, timeAndAge]) {
      expect([text(at), text(undefined)]).toEqual(["2026-01-02 03:04:05Z", undefined])
    }
  })
})
