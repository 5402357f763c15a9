import { queryObjects } from "node:v8"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Deadlines from "../../src/runtime/Deadlines.ts"
import { describe, expect, it } from "../support/It.ts"

/** What a deadline's callback keeps alive. */
class Caller {
  isTimedOut = false
  timeOut(): void {
    this.isTimedOut = true
  }
}

describe("Deadlines", () => {
  it.effect("calls back at each deadline and not before, the earlier first, however they were added", function* () {
    const deadlines = yield* Deadlines.make
    const passed: Array<number> = []
    for (const at of [300, 100, 200, 100]) deadlines.at(at, () => passed.push(at))
    yield* TestClock.adjust(99)
    expect(passed).toEqual([])
    yield* TestClock.adjust(1)
    expect(passed).toEqual([100, 100])
    deadlines.at(150, () => passed.push(150))
    yield* TestClock.adjust(200)
    expect(passed).toEqual([100, 100, 150, 200, 300])
  })

  it.effect("does not call back for a deadline that was cancelled", function* () {
    const deadlines = yield* Deadlines.make
    const passed: Array<string> = []
    const cancel = deadlines.at(100, () => passed.push("cancelled"))
    deadlines.at(100, () => passed.push("kept"))
    cancel()
    yield* TestClock.adjust(100)
    expect(passed).toEqual(["kept"])
  })

  it.effect(
    "calls back for a deadline that was added when another one for the same moment had been cancelled",
    function* () {
      const deadlines = yield* Deadlines.make
      const passed: Array<string> = []
      const cancel = deadlines.at(100, () => passed.push("cancelled"))
      cancel()
      deadlines.at(100, () => passed.push("kept"))
      cancel()
      yield* TestClock.adjust(100)
      expect(passed).toEqual(["kept"])
    }
  )

  it.effect("keeps nothing but the moment of a deadline that was cancelled, however far off it is", function* () {
    const deadlines = yield* Deadlines.make
    const count = 100_000
    const sets = () => Number(queryObjects(Set))
    const setsBefore = sets()
    const kept = yield* Effect.sync(() => {
      const callers = Array.from({ length: count }, () => new Caller())
      for (const [n, caller] of callers.entries()) {
        const cancel = deadlines.at(1_000_000 + n, () => caller.timeOut())
        if (n > 0) cancel()
      }
      return callers[0]!
    })
    // The first is still due. Another object is the class's prototype.
    expect(queryObjects(Caller)).toBeLessThan(10)
    // The callbacks of one moment are a set.
    expect(sets() - setsBefore).toBeLessThan(count)
    yield* TestClock.adjust(1_000_000)
    expect(kept.isTimedOut).toBe(true)
  })

  it.effect("calls back immediately for a deadline that is past", function* () {
    yield* TestClock.adjust(1_000)
    const deadlines = yield* Deadlines.make
    const passed: Array<string> = []
    deadlines.at(500, () => passed.push("past"))
    yield* TestClock.adjust(0)
    expect(passed).toEqual(["past"])
  })
})
