/** The state of a team's queue. */
import { expect } from "@effect/vitest"
import { Deferred, Effect, Queue } from "effect"
import { Bus, QueueGone } from "../../../src/bus/Bus.ts"
import { type Behaviour, echo, makePrompt, startLeader, team, untilQueue } from "./support.ts"

export const queues = (behaviour: Behaviour, withStandby: number): void => {
  behaviour("a team that has had no leader yet has no queue, and a prompt to it fails with QueueGone", function* () {
    const bus = yield* Bus
    expect(yield* bus.queue(team)).toEqual({ exists: false, consumers: 0, messages: 0 })
    expect(yield* Effect.flip(bus.publish(yield* makePrompt()))).toBeInstanceOf(QueueGone)
  })

  behaviour("a queue counts its leaders and its waiting prompts, and outlives its leaders", function* () {
    const bus = yield* Bus
    const stopFirst = yield* startLeader(() => Effect.never)
    const stopSecond = yield* startLeader(() => Effect.never, { consumers: withStandby })
    for (let i = 0; i < 3; i++) yield* bus.publish(yield* makePrompt())
    yield* untilQueue(({ consumers, messages }) => consumers === withStandby && messages === 2)
    yield* stopSecond
    yield* stopFirst
    const left = yield* untilQueue(({ consumers, messages }) => consumers === 0 && messages === 3)
    expect(left).toEqual({ exists: true, consumers: 0, messages: 3 })
  })

  behaviour("a queue is removed only when nothing is in it and no leader consumes it", function* () {
    const bus = yield* Bus
    const stop = yield* startLeader(() => Effect.never)
    yield* bus.removeQueue(team)
    expect((yield* bus.queue(team)).exists).toBe(true)
    yield* bus.publish(yield* makePrompt())
    yield* stop
    yield* untilQueue(({ consumers, messages }) => consumers === 0 && messages === 1)
    yield* bus.removeQueue(team)
    expect((yield* bus.queue(team)).exists).toBe(true)
    const answered = yield* Deferred.make<void>()
    const worked = yield* startLeader(
      (delivery) => Effect.andThen(echo(delivery), Deferred.succeed(answered, undefined)),
      { grace: 10_000 }
    )
    yield* Deferred.await(answered)
    yield* untilQueue(({ messages }) => messages === 0)
    yield* worked
    yield* untilQueue(({ consumers, messages }) => consumers === 0 && messages === 0)
    yield* bus.removeQueue(team)
    expect((yield* bus.queue(team)).exists).toBe(false)
    yield* bus.removeQueue(team)
  })

  behaviour("prompts can be withdrawn as long as no leader has them", function* () {
    const bus = yield* Bus
    expect(yield* bus.withdraw(team)).toBe(0)
    const stop = yield* startLeader(() => Effect.never)
    for (let n = 0; n < 3; n++) yield* bus.publish(yield* makePrompt())
    yield* untilQueue(({ messages }) => messages === 2)
    expect(yield* bus.withdraw(team)).toBe(2)
    expect(yield* bus.withdraw(team)).toBe(0)
    yield* stop
    yield* untilQueue(({ consumers, messages }) => consumers === 0 && messages === 1)
    expect(yield* bus.withdraw(team)).toBe(1)
    yield* untilQueue(({ messages }) => messages === 0)
  })

  behaviour(
    "an inspection counts what waits, and shows that the queue of the published prompts was deleted, once",
    function* () {
      const bus = yield* Bus
      const stop = yield* startLeader(() => Effect.never)
      for (let n = 0; n < 2; n++) yield* bus.publish(yield* makePrompt())
      yield* untilQueue(({ messages }) => messages === 1)
      expect(yield* bus.inspect(team)).toEqual({ isReplaced: false, consumers: 1, messages: 1 })
      yield* stop
      const answered = yield* Queue.unbounded<void>()
      const worked = yield* startLeader(
        (delivery) => Effect.andThen(echo(delivery), Queue.offer(answered, undefined)),
        {
          grace: 10_000
        }
      )
      yield* Queue.takeN(answered, 2)
      yield* worked
      yield* untilQueue(({ consumers, messages }) => consumers === 0 && messages === 0)
      yield* bus.removeQueue(team)
      expect(yield* bus.inspect(team)).toMatchObject({ isReplaced: true, consumers: 0, messages: 0 })
      yield* startLeader(() => Effect.never)
      expect(yield* bus.inspect(team)).toMatchObject({ isReplaced: true, consumers: 1 })
      yield* bus.publish(yield* makePrompt())
      expect((yield* bus.inspect(team)).isReplaced).toBe(false)
    }
  )
}
