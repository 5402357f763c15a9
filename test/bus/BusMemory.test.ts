import { describe, expect, it } from "@effect/vitest"
import { DateTime, Deferred, Effect, Exit, Fiber, Logger, Queue, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Bus, type Delivery, LeaderBus } from "../../src/bus/Bus.ts"
import * as BusMemory from "../../src/bus/BusMemory.ts"
import { contract } from "./contract/BusContract.ts"
import { collectReplies, consume, echo, makePrompt, team } from "./contract/support.ts"

/** Sends a prompt, and waits until the leader that answers it has acknowledged it. */
const answerOne = Effect.gen(function* () {
  const bus = yield* Bus
  const leaders = yield* LeaderBus
  const answered = yield* Deferred.make<void>()
  const scope = yield* Scope.make()
  yield* leaders
    .lead(team, (delivery) => Effect.andThen(echo(delivery), Deferred.succeed(answered, undefined)), {
      grace: Effect.never
    })
    .pipe(Scope.provide(scope))
  const prompt = yield* makePrompt()
  yield* bus.publish(prompt)
  yield* Deferred.await(answered)
  yield* Scope.close(scope, Exit.void)
  return prompt.run_id
})

describe("the bus in process", () => {
  contract(BusMemory.layer)

  it.effect("keeps time by Effect's clock", () =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const leaders = yield* LeaderBus
      const collected = yield* collectReplies
      const scope = yield* Scope.make()
      yield* Scope.provide(
        leaders.lead(team, () => Effect.never),
        scope
      )
      yield* Scope.close(scope, Exit.void)
      const prompt = yield* makePrompt({ deadline: DateTime.makeUnsafe(300_000) })
      yield* bus.publish(prompt)
      yield* TestClock.adjust("299 seconds")
      expect((yield* bus.queue(team)).messages).toBe(1)
      yield* TestClock.adjust("1 second")
      expect(yield* Queue.take(collected)).toEqual({ _tag: "DeadLettered", run_id: prompt.run_id, reason: "expired" })
      expect((yield* bus.queue(team)).messages).toBe(0)
    }).pipe(Effect.provide(BusMemory.layer))
  )

  it.live("loses no prompt while leaders come and go", () =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const leaders = yield* LeaderBus
      const done: Array<string> = []
      const handle = ({ prompt }: Delivery) =>
        Effect.map(Effect.yieldNow, () => {
          done.push(prompt.prompt)
        })
      yield* Effect.scoped(leaders.lead(team, handle))
      const sent = Array.from({ length: 2000 }, (_, i) => String(i))
      const sending = yield* Effect.forkChild(
        Effect.forEach(sent, (text) =>
          Effect.andThen(
            Effect.yieldNow,
            Effect.flatMap(makePrompt({ prompt: text }), (it) => bus.publish(it))
          )
        )
      )
      while (done.length < sent.length) {
        yield* Effect.scoped(Effect.andThen(leaders.lead(team, handle), Effect.sleep(1)))
      }
      yield* Fiber.join(sending)
      expect(done).toEqual(sent)
    }).pipe(Effect.provide(BusMemory.layer))
  )

  it.live("loses no reply while consumers come and go, and passes none on twice", () =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const leaders = yield* LeaderBus
      const handled: Array<string> = []
      yield* leaders.lead(team, echo)
      const sent = Array.from({ length: 2000 }, (_, i) => String(i))
      const sending = yield* Effect.forkChild(
        Effect.forEach(sent, (text) =>
          Effect.andThen(
            Effect.yieldNow,
            Effect.flatMap(makePrompt({ prompt: text }), (it) => bus.publish(it))
          )
        )
      )
      const consuming = consume((replies) =>
        Effect.map(Effect.yieldNow, () => {
          for (const reply of replies) if (reply._tag === "Answered") handled.push(reply.response)
        })
      )
      while (handled.length < sent.length) {
        yield* Effect.scoped(Effect.andThen(Effect.andThen(consuming, consuming), Effect.sleep(1)))
      }
      yield* Fiber.join(sending)
      expect(handled).toEqual(sent)
    }).pipe(Effect.provide(BusMemory.layer))
  )

  it.effect("passes on the replies that arrived while a group was handled as one group", () =>
    Effect.gen(function* () {
      const groups = yield* Queue.unbounded<ReadonlyArray<string>>()
      const goOn = yield* Deferred.make<void>()
      yield* consume((replies) =>
        Effect.andThen(
          Queue.offer(
            groups,
            replies.map(({ run_id }) => run_id)
          ),
          Deferred.await(goOn)
        )
      )
      const first = yield* answerOne
      expect(yield* Queue.take(groups)).toEqual([first])
      const others = yield* Effect.replicateEffect(answerOne, 3)
      yield* Deferred.succeed(goOn, undefined)
      expect(yield* Queue.take(groups)).toEqual(others)
    }).pipe(Effect.provide(BusMemory.layer))
  )

  it.effect("drops a reply on which its handler has died eight times, with one error in the log", () =>
    Effect.gen(function* () {
      const errors: Array<string> = []
      const logger = Logger.make(({ logLevel, message }) => {
        if (logLevel === "Error") errors.push(String(message))
      })
      const tries = yield* Queue.unbounded<void>()
      const scope = yield* Scope.make()
      yield* consume(() => Effect.andThen(Queue.offer(tries, undefined), Effect.die("for the test"))).pipe(
        Scope.provide(scope),
        Effect.provide(Logger.layer([logger]))
      )
      const run_id = yield* answerOne
      yield* Queue.take(tries)
      yield* TestClock.adjust("1 hour")
      expect(yield* Queue.size(tries)).toBe(7)
      expect(errors).toEqual([`the reply about run ${run_id} is dropped because its handler keeps failing`])
      yield* Scope.close(scope, Exit.void)
      const collected = yield* collectReplies
      const next = yield* answerOne
      expect((yield* Queue.take(collected)).run_id).toBe(next)
    }).pipe(Effect.provide(BusMemory.layer))
  )
})
