import { setImmediate } from "node:timers/promises"
import { Cause, Deferred, Effect, Exit, Fiber, Latch, Result, Scope } from "effect"
import * as GroupCommit from "../../src/runtime/GroupCommit.ts"
import { describe, expect, it } from "../support/It.ts"

/** A group commit whose groups are recorded, and wait for the gate. */
const recorded = (options: { readonly size?: number; readonly limit?: number } = {}) =>
  Effect.gen(function* () {
    const runs: Array<ReadonlyArray<number>> = []
    const gate = yield* Latch.make(false)
    const submitAll = yield* GroupCommit.make({
      size: options.size ?? 100,
      ...(options.limit !== undefined && { weight: { of: (n: number) => n, limit: options.limit } }),
      commit: (items: ReadonlyArray<number>) =>
        Effect.gen(function* () {
          runs.push(items)
          yield* gate.await
          if (items.includes(13)) return yield* Effect.die(new Error("13"))
          if (items.includes(-1)) return yield* Effect.fail("out of reach")
          return items.map((n) => n * 2)
        })
    })
    const submit = (item: number) => Effect.map(submitAll([item]), ([answer]) => answer)
    return { submit, submitAll, runs, gate }
  })

const turn = Effect.promise(() => setImmediate())
/** More turns of the event loop than a group waits for when nothing more comes. */
const settle = Effect.repeat(turn, { times: 10 })

describe("GroupCommit", () => {
  it.effect("runs the first call alone, and those that come meanwhile together, in order", function* () {
    const { submit, runs, gate } = yield* recorded()
    const first = yield* Effect.forkChild(submit(1))
    yield* settle
    expect(runs).toEqual([[1]])
    const others = yield* Effect.forkChild(
      Effect.forEach([2, 3, 4, 5], (n) => Effect.result(submit(n)), { concurrency: 9 })
    )
    yield* settle
    yield* gate.open
    expect(yield* Fiber.join(first)).toBe(2)
    const answers = yield* Fiber.join(others)
    expect(answers.map((answer) => Result.getOrThrow(answer))).toEqual([4, 6, 8, 10])
    expect(runs).toEqual([[1], [2, 3, 4, 5]])
  })

  it.effect("takes calls that come on one turn of the event loop after the other together", function* () {
    const { submit, runs, gate } = yield* recorded()
    yield* gate.open
    const calls = yield* Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8], (n) => Effect.tap(Effect.forkChild(submit(n)), turn))
    yield* Effect.forEach(calls, Fiber.join)
    expect(runs).toEqual([[1, 2, 3, 4, 5, 6, 7, 8]])
  })

  it.effect("does not wait forever for more", function* () {
    const { submit, runs, gate } = yield* recorded({ size: 10_000 })
    yield* gate.open
    const first = yield* Effect.forkChild(submit(1))
    const others = yield* Effect.forkChild(Effect.forever(Effect.andThen(Effect.forkChild(submit(2)), turn)))
    expect(yield* Fiber.join(first)).toBe(2)
    expect(runs).toHaveLength(1)
    yield* Fiber.interrupt(others)
  })

  it.effect("keeps groups to their size and weight, and takes an item that is too heavy alone", function* () {
    const { submit, runs, gate } = yield* recorded({ size: 3, limit: 10 })
    const calls = yield* Effect.forkChild(
      Effect.forEach([1, 1, 1, 1, 6, 4, 99, 5], submit, { concurrency: "unbounded" })
    )
    yield* settle
    yield* gate.open
    yield* Fiber.join(calls)
    expect(runs.flat()).toEqual([1, 1, 1, 1, 6, 4, 99, 5])
    for (const run of runs) {
      expect(run.length).toBeLessThanOrEqual(3)
      if (run.length > 1) expect(run.reduce((a, b) => a + b)).toBeLessThanOrEqual(10)
    }
    expect(runs).toContainEqual([99])
  })

  it.effect(
    "fails the waiting too when a commit finds the database out of reach: each in turn would wait as long again",
    function* () {
      const { submit, runs, gate } = yield* recorded({ size: 1 })
      const failing = yield* Effect.forkChild(
        Effect.forEach([-1, 2, 3], (n) => Effect.result(submit(n)), { concurrency: 9 })
      )
      yield* settle
      yield* gate.open
      expect((yield* Fiber.join(failing)).map((answer) => answer._tag)).toEqual(["Failure", "Failure", "Failure"])
      expect(runs).toEqual([[-1]])
    }
  )

  it.effect("lets an item that kills its group die alone", function* () {
    const { submit, gate } = yield* recorded()
    yield* Effect.forkChild(submit(0))
    yield* settle
    const calls = yield* Effect.forkChild(
      Effect.forEach([1, 13, 2], (n) => Effect.exit(submit(n)), { concurrency: "unbounded" })
    )
    yield* settle
    yield* gate.open
    const [one, thirteen, two] = yield* Fiber.join(calls)
    expect(one).toEqual(Exit.succeed(2))
    expect(two).toEqual(Exit.succeed(4))
    expect(Exit.isFailure(thirteen!) && Cause.hasDies(thirteen.cause)).toBe(true)
    expect(yield* submit(3)).toBe(6)
  })

  it.effect("fails every item of a group that fails, and goes on", function* () {
    const { submit, runs, gate } = yield* recorded()
    yield* Effect.forkChild(submit(0))
    yield* settle
    const calls = yield* Effect.forkChild(
      Effect.forEach([1, -1, 2], (n) => Effect.exit(submit(n)), { concurrency: "unbounded" })
    )
    yield* settle
    yield* gate.open
    expect(yield* Fiber.join(calls)).toEqual([1, 2, 3].map(() => Exit.fail("out of reach")))
    expect(yield* submit(3)).toBe(6)
    expect(runs).toEqual([[0], [1, -1, 2], [3]])
  })

  it.effect("leaves out a caller that has gone before its group starts, and no other", function* () {
    const { submit, runs, gate } = yield* recorded()
    const running = yield* Effect.forkChild(submit(1))
    yield* settle
    const [leaves, stays] = [yield* Effect.forkChild(submit(2)), yield* Effect.forkChild(submit(3))]
    yield* settle
    yield* Fiber.interrupt(leaves)
    // This one's group is under way: it is done without it.
    yield* Fiber.interrupt(running)
    yield* gate.open
    expect(yield* Fiber.join(stays)).toBe(6)
    expect(runs).toEqual([[1], [3]])
  })

  it.effect("answers several items of one call together, each in its place", function* () {
    const { submitAll, runs, gate } = yield* recorded()
    yield* gate.open
    expect(yield* submitAll([3, 1, 2])).toEqual([6, 2, 4])
    expect(runs).toEqual([[3, 1, 2]])
    expect(yield* submitAll([])).toEqual([])
  })

  it.effect("lets no caller wait forever once its scope is closed", function* () {
    const scope = yield* Scope.make()
    const { submit } = yield* Scope.provide(recorded(), scope)
    const [running, waiting] = [yield* Effect.forkChild(submit(1)), yield* Effect.forkChild(submit(2))]
    yield* settle
    const done = yield* Deferred.make<void>()
    yield* Effect.forkChild(Effect.andThen(Scope.close(scope, Exit.void), Deferred.succeed(done, undefined)))
    yield* Deferred.await(done)
    for (const fiber of [running, waiting]) expect(Exit.hasInterrupts(yield* Fiber.await(fiber))).toBe(true)
    expect(Exit.hasInterrupts(yield* Effect.exit(submit(3)))).toBe(true)
  })
})
