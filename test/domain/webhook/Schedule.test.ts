import { DateTime, Result } from "effect"
import { expect, it } from "vitest"
import { nextTime } from "../../../src/domain/webhook/Schedule.ts"

/** The times that follow one another. */
const times = (schedule: string, after: string, count: number) => {
  const found: Array<string> = []
  let time = DateTime.makeUnsafe(after)
  for (let n = 0; n < count; n++) {
    time = Result.getOrThrow(nextTime(schedule, time))
    found.push(DateTime.formatIso(time))
  }
  return found
}

it("a time of the day comes once when clocks change, and each hour once", () => {
  expect(times("30 2 * * * Europe/Berlin", "2026-10-24T12:00:00Z", 2)).toEqual([
    "2026-10-25T00:30:00.000Z",
    "2026-10-26T01:30:00.000Z"
  ])
  expect(times("30 2 * * * Europe/Berlin", "2026-03-28T12:00:00Z", 2)).toEqual([
    "2026-03-29T01:30:00.000Z",
    "2026-03-30T00:30:00.000Z"
  ])
  expect(times("0 * * * * Europe/Berlin", "2026-10-24T23:30:00Z", 3)).toEqual([
    "2026-10-25T00:00:00.000Z",
    "2026-10-25T01:00:00.000Z",
    "2026-10-25T02:00:00.000Z"
  ])
})
