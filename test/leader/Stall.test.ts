import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Task } from "../../src/leader/agents/Agent.ts"
import { readEvents } from "../../src/leader/agents/output/EventReader.ts"
import { unlessStalled } from "../../src/leader/Stall.ts"
import { makePrompt } from "../bus/contract/support.ts"
import { describe, expect, it } from "../support/It.ts"

/** An agent at work that may show nothing for a minute. */
const working = Effect.gen(function* () {
  const [started, stopped] = [yield* Deferred.make<Task>(), yield* Deferred.make<void>()]
  const task = { prompt: yield* makePrompt({}), place: {}, progress: () => {}, report: () => {} }
  const fiber = yield* Effect.forkChild(
    unlessStalled("1 minute", "My agent", task, (task) =>
      Effect.andThen(Deferred.succeed(started, task), Effect.never).pipe(
        Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
      )
    )
  )
  const isAtWork = Effect.sync(() => fiber.pollUnsafe() === undefined)
  return { task: yield* Deferred.await(started), fiber, isAtWork, isStopped: Deferred.isDone(stopped) }
})

describe("an agent that may show nothing for a minute", () => {
  it.effect("is stopped then, and its run fails", function* () {
    const { fiber, isAtWork, isStopped } = yield* working
    yield* TestClock.adjust("59 seconds")
    expect(yield* isAtWork).toBe(true)
    yield* TestClock.adjust("1 second")
    expect(yield* Effect.flip(Fiber.join(fiber))).toMatchObject({
      code: "agent_stalled",
      message: "My agent was stopped: it had shown nothing for 1m"
    })
    expect(yield* isStopped).toBe(true)
  })

  it.effect("has another one after each sign of life", function* () {
    const { isAtWork, task } = yield* working
    const reader = readEvents({ read: (reading) => reading, progress: () => undefined }, task)
    const signs = [
      () => task.heard?.(),
      () => task.progress({ activity: "Reading" }),
      () => reader.take({ type: "thinking" })
    ]
    for (const sign of signs) {
      yield* TestClock.adjust("59 seconds")
      sign()
    }
    yield* TestClock.adjust("59 seconds")
    expect(yield* isAtWork).toBe(true)
    yield* TestClock.adjust("1 second")
    expect(yield* isAtWork).toBe(false)
  })

  it.effect("has not if it only keeps its connection open", function* () {
    const { isAtWork, task } = yield* working
    const reader = readEvents({ read: (reading) => reading, progress: () => undefined }, task)
    yield* TestClock.adjust("59 seconds")
    for (const type of ["ping", "keepalive", "keep_alive", "keep-alive", "heartbeat"]) reader.take({ type })
    yield* TestClock.adjust("1 second")
    expect(yield* isAtWork).toBe(false)
  })
})
