import { describe, expect } from "@effect/vitest"
import { Deferred, Effect, Fiber, Queue } from "effect"
import { Bus } from "../../../src/bus/Bus.ts"
import { Leader } from "../../../src/leader/index.ts"
import { collectReplies, echo, makePrompt, startLeader, team, untilQueue } from "../contract/support.ts"
import { rawChannel } from "./RawChannel.ts"
import { again, behaviour } from "./Wires.ts"

describe("the bus and its connections", () => {
  behaviour(
    "a prompt in work when the leader's connection breaks is interrupted, and delivered again first",
    ({ leader }) =>
      Effect.gen(function* () {
        const bus = yield* Bus
        const replies = yield* collectReplies
        const begun = yield* Deferred.make<void>()
        let stopped = false
        const seen: Array<readonly [string, boolean]> = []
        yield* startLeader((delivery) => {
          seen.push([delivery.prompt.prompt, delivery.redelivered])
          // Its connection for replies may take longer than a reply waits.
          if (seen.length > 1) return Effect.retry(echo(delivery), again)
          return Deferred.succeed(begun, undefined).pipe(
            Effect.andThen(Effect.never),
            Effect.onInterrupt(() => Effect.sync(() => (stopped = true)))
          )
        })
        yield* bus.publish(yield* makePrompt({ prompt: "first" }))
        yield* bus.publish(yield* makePrompt({ prompt: "second" }))
        yield* Deferred.await(begun)
        leader.reset()
        yield* Queue.takeN(replies, 2)
        expect(stopped).toBe(true)
        expect(seen).toEqual([
          ["first", false],
          ["first", true],
          ["second", false]
        ])
      })
  )

  behaviour(
    "a prompt in work when a stopping leader's connection breaks is interrupted, whatever its grace",
    ({ leader }) =>
      Effect.gen(function* () {
        const bus = yield* Bus
        const begun = yield* Deferred.make<void>()
        let interrupted = false
        const stop = yield* startLeader(
          () =>
            Deferred.succeed(begun, undefined).pipe(
              Effect.andThen(Effect.never),
              Effect.onInterrupt(() => Effect.sync(() => (interrupted = true)))
            ),
          { grace: 3_600_000 }
        )
        yield* bus.publish(yield* makePrompt())
        yield* Deferred.await(begun)
        const stopping = yield* Effect.forkChild(stop)
        yield* Effect.yieldNow
        leader.reset()
        yield* Fiber.join(stopping)
        expect(interrupted).toBe(true)
      })
  )

  behaviour(
    "an answered prompt that the server offers again at that moment does not reach the standby of a stopping leader",
    () =>
      Effect.gen(function* () {
        const bus = yield* Bus
        const replies = yield* collectReplies
        const [begun, finish] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const stop = yield* startLeader(
          (delivery) =>
            Effect.andThen(Deferred.succeed(begun, undefined), Effect.andThen(Deferred.await(finish), echo(delivery))),
          { grace: 60_000 }
        )
        const arrived = yield* Queue.unbounded<string>()
        yield* startLeader(({ prompt }) => Effect.asVoid(Queue.offer(arrived, prompt.prompt)), { consumers: 2 })
        const answered = yield* makePrompt({ prompt: "answered" })
        yield* bus.publish(answered)
        yield* Deferred.await(begun)
        const stopping = yield* Effect.forkChild(stop)
        yield* Effect.yieldNow
        yield* Deferred.succeed(finish, undefined)
        yield* Queue.take(replies)
        for (let n = 0; n < 10; n++) yield* bus.offer(answered)
        yield* Fiber.join(stopping)
        yield* bus.publish(yield* makePrompt({ prompt: "next" }))
        expect(yield* Queue.take(arrived)).toBe("next")
      })
  )

  behaviour("an answer that was given while the broker was away arrives, and the work is done once", ({ leader }) =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const replies = yield* collectReplies
      let worked = 0
      yield* Leader.start({
        team,
        handler: () =>
          Effect.sync(() => {
            worked++
            leader.reset({ refuse: true })
            setTimeout(() => leader.pass(), 300)
            return "done"
          }).pipe(Effect.uninterruptible)
      })
      yield* untilQueue(({ consumers }) => consumers === 1)
      const prompt = yield* makePrompt()
      yield* bus.publish(prompt)
      let reply = yield* Queue.take(replies)
      while (reply._tag === "Started") reply = yield* Queue.take(replies)
      expect(reply).toEqual({ _tag: "Answered", run_id: prompt.run_id, response: "done" })
      expect(worked).toBe(1)
    })
  )

  behaviour("a leader whose queue was deleted declares it again", ({ url }) =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const replies = yield* collectReplies
      yield* startLeader(echo)
      const channel = yield* rawChannel(url)
      for (let i = 0; i < 3; i++) {
        yield* Effect.promise(() => channel.deleteQueue("team.deploy"))
        const prompt = yield* makePrompt()
        yield* Effect.retry(bus.publish(prompt), again)
        yield* Effect.repeat(Queue.take(replies), { until: ({ run_id }) => run_id === prompt.run_id })
      }
    })
  )
})
