import { Effect, Exit, Logger, References, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Unavailable } from "../../../src/domain/Errors.ts"
import * as Upkeep from "../../../src/engine/upkeep/Upkeep.ts"
import { describe, expect, it } from "../../support/It.ts"

/** A task that counts how often it began. */
const counting = (fields: Partial<Upkeep.Task> = {}) => {
  const counted = { runs: 0 }
  const task: Upkeep.Task = {
    name: "a task",
    every: "10 seconds",
    alone: "no",
    ...fields,
    run: Effect.andThen(
      Effect.sync(() => counted.runs++),
      fields.run ?? Effect.void
    )
  }
  return { counted, task }
}

describe("upkeep", () => {
  it.effect("runs each task at the start and then as often as it says", function* () {
    const [often, seldom] = [counting(), counting({ every: "1 minute", alone: "lock" })]
    yield* Upkeep.keep([often.task, seldom.task])
    yield* TestClock.adjust("0 seconds")
    expect([often.counted.runs, seldom.counted.runs]).toEqual([1, 1])
    yield* TestClock.adjust("1 minute")
    expect([often.counted.runs, seldom.counted.runs]).toEqual([7, 2])
  })

  it.effect("runs some tasks only while this server does the work of each second", function* () {
    const { counted, task } = counting({ alone: "tick" })
    let isTicking = false
    yield* Upkeep.keep([task], () => isTicking)
    yield* TestClock.adjust("1 minute")
    expect(counted.runs).toBe(0)
    isTicking = true
    yield* TestClock.adjust("10 seconds")
    expect(counted.runs).toBe(1)
    isTicking = false
    yield* TestClock.adjust("1 minute")
    expect(counted.runs).toBe(1)
  })

  it.effect("goes on after a failure, which stops no other task, and logs a defect with the task's name", function* () {
    const logged: Array<string> = []
    const logger = Logger.make(({ fiber, logLevel, message }) => {
      logged.push(`${logLevel} ${String(Array.isArray(message) ? message[0] : message)}`)
      expect(fiber.getRef(References.CurrentLogAnnotations)).toEqual({})
    })
    const broken = counting({ name: "the broken task", run: Effect.die(new Error("a fault")) })
    const unavailable = counting({ run: new Unavailable({ what: "database", detail: "It is away." }) })
    const other = counting()
    yield* Upkeep.keep([broken.task, unavailable.task, other.task]).pipe(Effect.provide(Logger.layer([logger])))
    yield* TestClock.adjust("10 seconds")
    expect([broken, unavailable, other].map(({ counted }) => counted.runs)).toEqual([2, 2, 2])
    expect(logged).toEqual(["Error Upkeep failed: the broken task", "Error Upkeep failed: the broken task"])
  })

  it.effect("interrupts what is under way at a shutdown, and begins nothing more", function* () {
    let interrupted = 0
    const { counted, task } = counting({
      run: Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
    })
    const waiting = counting()
    const scope = yield* Scope.make()
    yield* Scope.provide(Upkeep.keep([task, waiting.task]), scope)
    yield* TestClock.adjust("1 second")
    yield* Scope.close(scope, Exit.void)
    yield* TestClock.adjust("1 minute")
    expect([counted.runs, interrupted, waiting.counted.runs]).toEqual([1, 1, 1])
  })
})
