/** How replies are passed to the server's handler, and what becomes of them by how it ends. */
import { expect } from "@effect/vitest"
import { Deferred, Effect, Exit, Option, Queue, Schedule, Scope } from "effect"
import { Bus, type Reply, type ReplyChecks } from "../../../src/bus/Bus.ts"
import { Unavailable } from "../../../src/domain/Errors.ts"
import type { RunId } from "../../../src/domain/Id.ts"
import { type Behaviour, collectReplies, consume, echo, makePrompt, startLeader, untilQueue } from "./support.ts"

const ids = (replies: Iterable<Reply>) => Array.from(replies, ({ run_id }) => run_id)

/** Sends a prompt with each of these answers, those after the first one after `then`, and waits until the leader has sent them all. */
const answerAll = (answers: ReadonlyArray<string>, then: Effect.Effect<void> = Effect.void) =>
  Effect.gen(function* () {
    const bus = yield* Bus
    const answered = yield* Queue.unbounded<RunId>()
    yield* startLeader((delivery) => Effect.andThen(echo(delivery), Queue.offer(answered, delivery.prompt.run_id)))
    for (const [index, prompt] of answers.entries()) {
      if (index === 1) yield* then
      yield* bus.publish(yield* makePrompt({ prompt }))
    }
    return Array.from(yield* Queue.takeN(answered, answers.length))
  })

/**
 * Consumes, and holds the first group up until `goOn`. `groups` are all that were handled, `handled` their replies, and
 * `overlaps` says whether two groups were handled at once.
 */
const consumeAfterPause = Effect.fnUntraced(function* (checks?: Pick<ReplyChecks, "atOnce">) {
  const begun = yield* Deferred.make<void>()
  const goOn = yield* Deferred.make<void>()
  const groups: Array<ReadonlyArray<Reply>> = []
  const handled = yield* Queue.unbounded<Reply>()
  let busy = 0
  let overlaps = false
  yield* consume(
    (replies) =>
      Effect.gen(function* () {
        if (++busy > 1) overlaps = true
        yield* Deferred.succeed(begun, undefined)
        yield* Deferred.await(goOn)
        yield* Effect.yieldNow
        groups.push(replies)
        yield* Queue.offerAll(handled, replies)
        // Also if it is interrupted, as when a busy machine loses the connection: then the broker gives the replies again.
      }).pipe(Effect.ensuring(Effect.sync(() => busy--))),
    checks
  )
  return {
    begun: Deferred.await(begun),
    goOn: Deferred.succeed(goOn, undefined),
    groups,
    handled,
    overlaps: () => overlaps
  }
})

/** Waits until no more than this many replies are still stored by a broker, and not with the consumer. */
const untilWaiting = (most: number) =>
  Effect.flatMap(
    Bus,
    (bus): Effect.Effect<unknown, Unavailable> =>
      bus.durable
        ? Effect.repeat(bus.repliesWaiting, { until: (count) => count <= most, schedule: Schedule.spaced("20 millis") })
        : Effect.void
  )

export const handling = (behaviour: Behaviour): void => {
  behaviour("a leader that says that it has started is heard before its answer", function* () {
    const bus = yield* Bus
    const collected = yield* collectReplies
    yield* startLeader((delivery) => Effect.andThen(delivery.reply({ _tag: "Started" }), echo(delivery)))
    const { run_id } = yield* Effect.tap(makePrompt(), (prompt) => bus.publish(prompt))
    expect(Array.from(yield* Queue.takeN(collected, 2))).toEqual([
      { _tag: "Started", run_id },
      { _tag: "Answered", run_id, response: "hello" }
    ])
  })

  behaviour("replies that arrive while a group is handled come in groups, in order, one group at a time", function* () {
    const { begun, goOn, groups, handled, overlaps } = yield* consumeAfterPause({ atOnce: 60 })
    const answered = yield* answerAll(Array.from({ length: 60 }, (_, i) => `answer ${i}`))
    yield* begun
    yield* untilWaiting(0)
    yield* goOn
    expect(ids(yield* Queue.takeN(handled, 60))).toEqual(answered)
    expect(groups.length).toBeLessThan(30)
    expect(overlaps()).toBe(false)
  })

  behaviour("all that the server takes at a time may be one group, and no more", function* () {
    const { begun, goOn, groups, handled } = yield* consumeAfterPause({ atOnce: 40 })
    // The first group is the first answer alone.
    yield* answerAll(
      Array.from({ length: 60 }, (_, i) => `answer ${i}`),
      begun
    )
    // Of 60, the consumer has got 40.
    yield* untilWaiting(20)
    yield* goOn
    yield* Queue.takeN(handled, 60)
    const sizes = groups.map(({ length }) => length)
    expect(Math.max(...sizes)).toBeGreaterThan(20)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(40)
  })

  behaviour("a group holds at most 4 MB of answers, or one longer answer", function* () {
    const { begun, goOn, groups, handled } = yield* consumeAfterPause()
    const sizes = [1, 1_500_000, 1_500_000, 1_500_000, 5_000_000, 1, 1]
    const answered = yield* answerAll(sizes.map((size) => "x".repeat(size)))
    yield* begun
    yield* goOn
    expect(ids(yield* Queue.takeN(handled, sizes.length))).toEqual(answered)
    for (const group of groups) {
      const text = group.map((reply) => (reply._tag === "Answered" ? reply.response : "")).join("")
      expect(group.length === 1 || text.length <= 4_000_000).toBe(true)
    }
  })

  behaviour("a reply whose handling fails is passed on again until it succeeds", function* () {
    const tries = yield* Queue.unbounded<RunId>()
    let failures = 2
    yield* consume((replies) =>
      Effect.gen(function* () {
        yield* Queue.offerAll(tries, ids(replies))
        if (failures-- > 0) yield* new Unavailable({ what: "database", detail: "for the test" })
      })
    )
    const [run_id] = yield* answerAll(["answer"])
    expect(Array.from(yield* Queue.takeN(tries, 3))).toEqual([run_id, run_id, run_id])
    yield* untilQueue(({ messages }) => messages === 0)
    expect(yield* Queue.poll(tries)).toEqual(Option.none())
  })

  behaviour(
    "a reply on which the handler dies holds up no other, and each is handled once when the fault is gone",
    function* () {
      const goOn = yield* Deferred.make<void>()
      const died = yield* Queue.unbounded<number>()
      const handled = yield* Queue.unbounded<Reply>()
      let faulty = true
      const isPoison = (reply: Reply) => reply._tag === "Answered" && reply.response === "poison"
      yield* consume((replies) =>
        Effect.gen(function* () {
          yield* Deferred.await(goOn)
          if (faulty && replies.some(isPoison)) {
            yield* Queue.offer(died, replies.length)
            yield* Effect.die("for the test")
          }
          yield* Queue.offerAll(handled, replies)
        })
      )
      const [first, poison, third, fourth] = yield* answerAll(["first", "poison", "third", "fourth"])
      yield* Deferred.succeed(goOn, undefined)
      expect(ids(yield* Queue.takeN(handled, 3))).toEqual([first, third, fourth])
      yield* Effect.repeat(Queue.take(died), { until: (size) => size === 1 })
      faulty = false
      expect((yield* Queue.take(handled)).run_id).toBe(poison)
      expect(yield* Queue.poll(handled)).toEqual(Option.none())
    }
  )

  behaviour(
    "replies that are being handled or waiting when their consumer stops go to the next one, in order",
    function* () {
      const begun = yield* Deferred.make<void>()
      const scope = yield* Scope.make()
      yield* consume(() => Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)).pipe(Scope.provide(scope))
      const answered = yield* answerAll(Array.from({ length: 10 }, (_, i) => `answer ${i}`))
      yield* Deferred.await(begun)
      yield* Scope.close(scope, Exit.void)
      const collected = yield* collectReplies
      expect(ids(yield* Queue.takeN(collected, 10))).toEqual(answered)
      expect(yield* Queue.poll(collected)).toEqual(Option.none())
    }
  )

  behaviour("replies without a consumer are counted, and wait for the first one", function* () {
    const bus = yield* Bus
    expect(yield* bus.repliesWaiting).toBe(0)
    const answered = yield* answerAll(["one", "two"])
    expect(yield* bus.repliesWaiting).toBe(2)
    const collected = yield* collectReplies
    expect(ids(yield* Queue.takeN(collected, 2))).toEqual(answered)
  })
}
