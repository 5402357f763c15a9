import { describe, expect, it } from "vitest"
import { RecentMap } from "../../src/runtime/RecentMap.ts"

const added = (capacity: number, count: number) => {
  const map = new RecentMap<number, string>(capacity)
  for (let n = 0; n < count; n++) map.set(n, `value ${n}`)
  const kept = Array.from({ length: count }, (_, n) => n).filter((n) => map.get(n) === `value ${n}`)
  return { map, kept }
}

describe("RecentMap", () => {
  it("keeps all until it is full, then at most its capacity, and the last half as many at least", () => {
    expect(added(10, 10).kept).toHaveLength(10)
    for (let count = 11; count < 40; count++) {
      const { kept } = added(10, count)
      expect(kept.length).toBeGreaterThanOrEqual(5)
      expect(kept.length).toBeLessThanOrEqual(10)
      expect(kept).toEqual(Array.from({ length: kept.length }, (_, n) => count - kept.length + n))
    }
  })

  it("has the newest value of a key, also when an older one is remembered", () => {
    const { map } = added(10, 7)
    map.set(0, "newer")
    expect(map.get(0)).toBe("newer")
    for (let n = 100; n < 105; n++) map.set(n, "others")
    expect(map.get(0)).toBe("newer")
  })

  it("does not forget others for a new value of what is among the newest", () => {
    const { map } = added(10, 5)
    for (let n = 0; n < 100; n++) map.set(4, `value ${n}`)
    expect(map.get(0)).toBe("value 0")
    expect(map.get(4)).toBe("value 99")
  })

  it("iterates over each entry once, and no longer has what was deleted", () => {
    const { map } = added(4, 3)
    map.set(0, "newer")
    expect(new Map(map)).toEqual(
      new Map([
        [0, "newer"],
        [1, "value 1"],
        [2, "value 2"]
      ])
    )
    expect([...map]).toHaveLength(3)
    map.delete(0)
    expect([map.has(0), map.get(0), map.has(1)]).toEqual([false, undefined, true])
    expect([...map].map(([key]) => key)).toEqual([2, 1])
  })
})
