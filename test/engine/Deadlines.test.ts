import { describe, expect, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import * as Deadlines from "../../src/engine/Deadlines.ts"

describe("Deadlines", () => {
  it.scoped("calls back at each deadline and not before, the earlier first, however they were added", () =>
    Effect.gen(function* () {
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
  )

  it.scoped("does not call back for a deadline that was cancelled", () =>
    Effect.gen(function* () {
      const deadlines = yield* Deadlines.make
      const passed: Array<string> = []
      const cancel = deadlines.at(100, () => passed.push("cancelled"))
      deadlines.at(100, () => passed.push("kept"))
      cancel()
      yield* TestClock.adjust(100)
      expect(passed).toEqual(["kept"])
    })
  )

  it.scoped("calls back immediately for a deadline that is past", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust(1_000)
      const deadlines = yield* Deadlines.make
      const passed: Array<string> = []
      deadlines.at(500, () => passed.push("past"))
      yield* TestClock.adjust(0)
      expect(passed).toEqual(["past"])
    })
  )
})
