import { Cause, Effect } from "effect"
import { describe, expect, it } from "./It.ts"
import { seeded } from "./Seeded.ts"
import { until, untilEffect, within } from "./Until.ts"

const never = new Promise<never>(() => {})

/** A condition that holds at the third check. */
const third = () => {
  let checks = 0
  return () => (++checks === 3 ? checks : undefined)
}

describe("until", () => {
  it("returns what the check gives once it gives something", async () => {
    expect(await until("the third check", third())).toBe(3)
    expect(await until("an empty string", () => "")).toBe("")
  })

  it("fails with the condition that did not come to hold", async () => {
    await expect(until("the moon is blue", () => false, 20)).rejects.toThrow("not within 20 ms: the moon is blue")
  })

  it("does not count the time in which this process did not run", async () => {
    let checks = 0
    const blocking = () => {
      const begun = performance.now()
      while (performance.now() - begun < 200);
      return ++checks === 5
    }
    expect(await until("the fifth check, a second later", blocking, 600, 1)).toBe(true)
  })

  it("fails with what the check throws", async () => {
    const check = () => {
      throw new Error("broken")
    }
    await expect(until("anything", check)).rejects.toThrow("broken")
  })

  it.effect("waits in real time for an effect, whatever the test's clock says", function* () {
    expect(yield* untilEffect("the third check", Effect.sync(third()))).toBe(3)
    const cause = yield* Effect.flip(Effect.sandbox(untilEffect("the moon is blue", Effect.succeed(false), 20)))
    expect(Cause.pretty(cause)).toContain("not within 20 ms: the moon is blue")
  })
})

describe("within", () => {
  it("gives the promise's value or its failure, and fails when it takes longer", async () => {
    expect(await within(1_000, "a value", Promise.resolve(1))).toBe(1)
    await expect(within(1_000, "a failure", Promise.reject(new Error("broken")))).rejects.toThrow("broken")
    await expect(within(20, "an answer", never)).rejects.toThrow("not within 20 ms: an answer")
  })
})

describe("seeded", () => {
  it("gives the same numbers for the same seed, and others for another", () => {
    const numbers = (seed: number) => {
      const random = seeded(seed)
      return [random.next(), random.between(5, 6), random.pick([1, 2, 3])]
    }
    expect(numbers(7)).toEqual(numbers(7))
    expect(numbers(7)).not.toEqual(numbers(8))
  })
})
