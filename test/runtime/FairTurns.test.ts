import { Deferred, Effect, Fiber } from "effect"
import { makeFairTurns } from "../../src/runtime/FairTurns.ts"
import { describe, expect, it } from "../support/It.ts"

/** Works until it is let go, and notes when it begins. */
const board = (turns: ReturnType<typeof makeFairTurns>) => {
  const begun: Array<string> = []
  const start = (name: string) =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const work = Effect.andThen(
        Effect.sync(() => begun.push(name)),
        Deferred.await(gate)
      )
      const fiber = yield* Effect.forkChild(turns.inTurn(name[0]!)(work))
      yield* Effect.yieldNow
      return {
        finish: Effect.andThen(Deferred.succeed(gate, undefined), Fiber.await(fiber)),
        interrupt: Fiber.interrupt(fiber)
      }
    })
  return { begun, start }
}

describe("fair turns", () => {
  it.effect("give each team one of its own, however many others hang", function* () {
    const { begun, start } = board(makeFairTurns({ each: 3, shared: 2 }))
    for (const name of ["a1", "a2", "a3", "a4", "b1", "b2", "c1", "d1", "e1"]) yield* start(name)
    expect(begun).toEqual(["a1", "a2", "a3", "b1", "c1", "d1", "e1"])
  })

  it.effect("that are free go to the team that waited longest, and in order within a team", function* () {
    const { begun, start } = board(makeFairTurns({ each: 2, shared: 1 }))
    const [a1, a2] = [yield* start("a1"), yield* start("a2")]
    for (const name of ["a3", "b1", "b2", "c1", "c2", "a4"]) yield* start(name)
    expect(begun).toEqual(["a1", "a2", "b1", "c1"])
    yield* a2.finish
    expect(begun.at(-1)).toBe("b2")
    yield* a1.finish
    expect(begun.slice(5)).toEqual(["a3"])
  })

  it.effect("are not lost with work that is interrupted or fails, at work or while it waits", function* () {
    const turns = makeFairTurns({ each: 1, shared: 0 })
    const { begun, start } = board(turns)
    const [a1, a2] = [yield* start("a1"), yield* start("a2")]
    yield* start("a3")
    yield* a2.interrupt
    yield* a1.interrupt
    expect(begun).toEqual(["a1", "a3"])
    const next = yield* start("b1")
    const failing = yield* Effect.forkChild(Effect.exit(turns.inTurn("b")(Effect.fail("no"))))
    yield* next.finish
    yield* Fiber.join(failing)
    yield* start("b2")
    expect(begun.at(-1)).toBe("b2")
  })
})
