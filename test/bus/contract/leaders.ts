/** What becomes of a prompt by what happens to its leader. */
import { expect } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, Queue } from "effect"
import { Bus, type Delivery } from "../../../src/bus/Bus.ts"
import { Unavailable } from "../../../src/domain/Errors.ts"
import { type Behaviour, collectReplies, echo, makePrompt, startLeader, untilQueue } from "./support.ts"

/** Asks again and again: a leader may lead before it listens. */
const untilCancelled = ({ cancelled }: Delivery, cancel: Effect.Effect<void, Unavailable>) =>
  cancel.pipe(
    Effect.andThen(Effect.timeoutOption(Deferred.await(cancelled), "100 millis")),
    Effect.repeat({ until: Option.isSome })
  )

interface Options {
  readonly withStandby: number
  readonly isRelayed: boolean
}

export const leaders = (behaviour: Behaviour, { isRelayed, withStandby }: Options): void => {
  behaviour("two leaders of one team never work at once; when one stops, the other takes over", function* () {
    const bus = yield* Bus
    let atWork = 0
    let most = 0
    const workers: Array<string> = []
    const done = yield* Queue.unbounded<string>()
    const leader = (name: string) => () =>
      Effect.gen(function* () {
        most = Math.max(most, ++atWork)
        yield* Effect.sleep(5)
        atWork--
        workers.push(name)
        yield* Queue.offer(done, name)
      })
    const stopFirst = yield* startLeader(leader("first"))
    yield* startLeader(leader("second"), { consumers: withStandby })
    for (let i = 0; i < 10; i++) yield* bus.publish(yield* makePrompt())
    yield* Queue.takeN(done, 10)
    expect(new Set(workers)).toEqual(new Set(["first"]))
    yield* stopFirst
    for (let i = 0; i < 10; i++) yield* bus.publish(yield* makePrompt())
    expect(new Set(yield* Queue.takeN(done, 10))).toEqual(new Set(["second"]))
    expect(most).toBe(1)
  })

  behaviour(
    "a prompt whose handling was interrupted is delivered again before all others, marked as redelivered",
    function* () {
      const bus = yield* Bus
      const begun = yield* Deferred.make<void>()
      const stop = yield* startLeader(() => Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
      const prompts = [yield* makePrompt(), yield* makePrompt(), yield* makePrompt()]
      for (const prompt of prompts) yield* bus.publish(prompt)
      yield* Deferred.await(begun)
      yield* stop
      const deliveries = yield* Queue.unbounded<Delivery>()
      yield* startLeader((delivery) => Effect.asVoid(Queue.offer(deliveries, delivery)))
      const got = yield* Queue.takeN(deliveries, 3)
      expect(got.map(({ prompt }) => prompt.run_id)).toEqual(prompts.map((it) => it.run_id))
      expect(got.map(({ redelivered }) => redelivered)).toEqual([true, false, false])
    }
  )

  behaviour(
    "a leader is asked to cancel a run, while it works on it or before its prompt arrives, and no other",
    function* () {
      const bus = yield* Bus
      const deliveries = yield* Queue.unbounded<Delivery>()
      yield* startLeader((delivery) =>
        Effect.andThen(Queue.offer(deliveries, delivery), Deferred.await(delivery.cancelled))
      )
      const prompts = [yield* makePrompt(), yield* makePrompt(), yield* makePrompt(), yield* makePrompt()]
      yield* Effect.forEach(prompts, (prompt) => bus.publish(prompt), { discard: true })
      const cancel = (index: number) => bus.cancel(prompts[index]!.team, prompts[index]!.run_id)
      // After the first one it is known that the leader listens.
      yield* untilCancelled(yield* Queue.take(deliveries), cancel(0))
      const second = yield* Queue.take(deliveries)
      yield* cancel(2)
      yield* untilCancelled(second, cancel(1))
      const third = yield* Queue.take(deliveries)
      yield* Deferred.await(third.cancelled)
      const fourth = yield* Queue.take(deliveries)
      expect(fourth.prompt.run_id).toBe(prompts[3]!.run_id)
      expect(yield* Deferred.isDone(fourth.cancelled)).toBe(false)
      yield* untilCancelled(fourth, cancel(3))
    }
  )

  behaviour("a cancellation that no leader listens for is dropped", function* () {
    const bus = yield* Bus
    const prompt = yield* makePrompt()
    yield* bus.cancel(prompt.team, prompt.run_id)
  })

  behaviour("a prompt whose handler interrupts itself is delivered again first, to the same leader", function* () {
    const bus = yield* Bus
    const seen = yield* Queue.unbounded<Delivery>()
    let first = true
    yield* startLeader((delivery) =>
      Effect.suspend(() => {
        if (first) {
          first = false
          return Effect.interrupt
        }
        return Effect.asVoid(Queue.offer(seen, delivery))
      })
    )
    const [one, two] = [yield* makePrompt(), yield* makePrompt()]
    yield* bus.publish(one)
    yield* bus.publish(two)
    const got = yield* Queue.takeN(seen, 2)
    expect(got.map(({ prompt, redelivered }) => [prompt.run_id, redelivered])).toEqual([
      [one.run_id, true],
      [two.run_id, false]
    ])
  })

  behaviour(
    "a handler that fails because the broker is out of reach is run again, before the next prompt",
    function* () {
      const bus = yield* Bus
      const seen = yield* Queue.unbounded<string>()
      let failures = 2
      yield* startLeader(({ prompt }) =>
        Effect.gen(function* () {
          yield* Queue.offer(seen, prompt.run_id)
          if (failures-- > 0) yield* new Unavailable({ what: "broker", detail: "for the test" })
        })
      )
      const [one, two] = [yield* makePrompt(), yield* makePrompt()]
      yield* bus.publish(one)
      yield* bus.publish(two)
      const order = yield* Queue.takeN(seen, 4)
      expect(order).toEqual([one.run_id, one.run_id, one.run_id, two.run_id])
    }
  )

  behaviour("a prompt on which the handler dies is rejected, and reported as dead-lettered", function* () {
    const bus = yield* Bus
    const collected = yield* collectReplies
    yield* startLeader(({ prompt }) => (prompt.prompt === "bad" ? Effect.die("for the test") : Effect.void))
    const prompt = yield* makePrompt({ prompt: "bad" })
    yield* bus.publish(prompt)
    expect(yield* Queue.take(collected)).toEqual({ _tag: "DeadLettered", run_id: prompt.run_id, reason: "rejected" })
  })

  behaviour("a leader that stops with grace finishes its prompt and takes no other", function* () {
    const bus = yield* Bus
    const collected = yield* collectReplies
    const begun = yield* Deferred.make<void>()
    const finish = yield* Deferred.make<void>()
    const stop = yield* startLeader(
      (delivery) =>
        Deferred.succeed(begun, undefined).pipe(Effect.andThen(Deferred.await(finish)), Effect.andThen(echo(delivery))),
      { grace: 60_000 }
    )
    const [one, two] = [yield* makePrompt(), yield* makePrompt()]
    yield* bus.publish(one)
    yield* bus.publish(two)
    yield* Deferred.await(begun)
    const stopping = yield* Effect.forkChild(stop)
    yield* Effect.yieldNow
    yield* Deferred.succeed(finish, undefined)
    yield* Fiber.join(stopping)
    expect(yield* Queue.take(collected)).toEqual({ _tag: "Answered", run_id: one.run_id, response: "hello" })
    // A relay that stops as well may leave an answered prompt in the queue, and passes it on to nobody.
    yield* untilQueue(({ consumers, messages }) => consumers === 0 && (isRelayed || messages === 1))
    const deliveries = yield* Queue.unbounded<Delivery>()
    yield* startLeader((delivery) => Effect.asVoid(Queue.offer(deliveries, delivery)))
    const next = yield* Queue.take(deliveries)
    expect(next.prompt.run_id).toBe(two.run_id)
    if (!isRelayed) expect(next.redelivered).toBe(false)
  })
}
