/** Replies of one team keep their order, and a long one keeps no other team's waiting. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as RoundRobin from "../../src/bus/RoundRobin.ts"

interface Item extends RoundRobin.Item {
  readonly team: string
  readonly n: number
}

const start = () => {
  const passed: Array<Item> = []
  let isReady = false
  const order: RoundRobin.RoundRobin<Item> = RoundRobin.make(
    (item) => passed.push(item),
    () => {
      isReady = true
    }
  )
  let n = 0
  const arrive = (team: string, isLong = false): Item => {
    const item = { team, isLong, n: n++ }
    order.arrived(item)
    return item
  }
  return { order, passed, arrive, isReady: () => isReady }
}

describe("the order of replies", () => {
  it("pass short ones on as they arrive, and long ones of several teams one each", () => {
    const { arrive, isReady, passed, order } = start()
    const [a, b] = [arrive("a"), arrive("b")]
    expect(passed).toEqual([a, b])
    expect(isReady()).toBe(false)
    const [long, next, other] = [arrive("a", true), arrive("a", true), arrive("c", true)]
    // What came before it is not done yet.
    expect(order.next()).toEqual([other])
    order.done(a)
    expect(order.next()).toEqual([long])
    expect(order.next()).toEqual([])
    order.done(long)
    expect(order.next()).toEqual([next])
  })

  it("keep what comes behind a long one until that is done, and nothing of other teams", () => {
    const { arrive, passed, order } = start()
    const long = arrive("a", true)
    const behind = [arrive("a"), arrive("a")]
    const other = arrive("b")
    expect(passed).toEqual([other])
    expect(order.next()).toEqual([long])
    expect(passed).toEqual([other])
    order.done(long)
    expect(passed).toEqual([other, ...behind])
  })

  it("handle everything once, each team's in order, whatever is done when", () => {
    const step = fc.record({
      team: fc.constantFrom("a", "b", "c"),
      isLong: fc.boolean(),
      finish: fc.nat(),
      take: fc.boolean()
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { arrive, passed, order } = start()
        const arrived: Array<Item> = []
        const atWork: Array<Item> = []
        const begun: Array<Item> = []
        const begin = (items: ReadonlyArray<Item>) => {
          for (const item of items) {
            if (item.isLong) expect(atWork.filter(({ team }) => team === item.team)).toEqual([])
            begun.push(item)
            atWork.push(item)
          }
        }
        const work = (finish: number) => {
          begin(passed.splice(0))
          begin(order.next())
          const [done] = atWork.splice(finish % Math.max(1, atWork.length), 1)
          if (done !== undefined) order.done(done)
        }
        for (const { team, isLong, finish, take } of steps) {
          arrived.push(arrive(team, isLong))
          if (take) work(finish)
        }
        for (let left = 3 * steps.length + 3; left > 0; left--) work(0)
        for (const team of ["a", "b", "c"]) {
          const of = (items: ReadonlyArray<Item>) => items.filter((item) => item.team === team).map(({ n }) => n)
          expect(of(begun)).toEqual(of(arrived))
        }
      })
    )
  })
})
