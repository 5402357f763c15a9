/** Prompts on their way to the leader. */
import { expect } from "@effect/vitest"
import { DateTime, Deferred, Effect, Queue, Schedule } from "effect"
import { Bus, type Delivery, type Prompt } from "../../../src/bus/Bus.ts"
import { makeRunId } from "../../../src/domain/Id.ts"
import { type Behaviour, collectReplies, makePrompt, startLeader, team, untilQueue } from "./support.ts"

export const prompts = (behaviour: Behaviour): void => {
  behaviour("prompts reach the leader one at a time, in the order of sending", function* () {
    const bus = yield* Bus
    const seen: Array<string> = []
    const again: Array<boolean> = []
    let atWork = 0
    let most = 0
    const done = yield* Deferred.make<void>()
    yield* startLeader(({ prompt, redelivered }) =>
      Effect.gen(function* () {
        most = Math.max(most, ++atWork)
        yield* Effect.sleep(1)
        seen.push(prompt.prompt)
        again.push(redelivered)
        atWork--
        if (seen.length === 100) yield* Deferred.succeed(done, undefined)
      })
    )
    const sent = Array.from({ length: 100 }, (_, i) => `prompt ${i}`)
    for (const text of sent) yield* bus.publish(yield* makePrompt({ prompt: text }))
    yield* Deferred.await(done)
    expect(seen).toEqual(sent)
    expect(again).toEqual(sent.map(() => false))
    expect(most).toBe(1)
  })

  behaviour("prompts arrive once each in their order, long ones among short ones", function* () {
    const bus = yield* Bus
    const arrived = yield* Queue.unbounded<string>()
    yield* startLeader(({ prompt }) => Effect.asVoid(Queue.offer(arrived, prompt.prompt)))
    const texts = Array.from({ length: 40 }, (_, n) => `${n} ${n % 5 === 3 ? "x".repeat(20_000) : "short"}`)
    const prompts = yield* Effect.forEach(texts, (prompt) => makePrompt({ prompt }))
    yield* Effect.forEach(prompts, (prompt) => bus.publish(prompt), { discard: true })
    yield* bus.publish(yield* makePrompt({ prompt: "last" }))
    for (const text of [...texts, "last"]) expect(yield* Queue.take(arrived)).toBe(text)
  })

  behaviour("a prompt whose deadline has passed is dead-lettered, and the others are delivered", function* () {
    const bus = yield* Bus
    const arrived = yield* Queue.unbounded<string>()
    const collected = yield* collectReplies
    yield* startLeader(({ prompt }) => Effect.asVoid(Queue.offer(arrived, prompt.prompt)))
    const late = yield* makePrompt({ prompt: "late", deadline: DateTime.makeUnsafe(Date.now() - 1) })
    for (const prompt of [yield* makePrompt({ prompt: "first" }), late, yield* makePrompt({ prompt: "second" })]) {
      yield* bus.publish(prompt)
    }
    expect([yield* Queue.take(arrived), yield* Queue.take(arrived)]).toEqual(["first", "second"])
    expect(yield* Queue.take(collected)).toEqual({ _tag: "DeadLettered", run_id: late.run_id, reason: "expired" })
  })

  behaviour("a prompt arrives as it was sent, whatever its size and characters", function* () {
    const bus = yield* Bus
    const arrived = yield* Queue.unbounded<Prompt>()
    yield* startLeader(({ prompt }) => Effect.asVoid(Queue.offer(arrived, prompt)))
    const id = yield* makeRunId
    const webhook = { id: id as never, name: "Ünïcode „quotes“ \u202e 🦊" }
    const deadline = DateTime.makeUnsafe(Date.now() + 60_000)
    const prompts = [
      yield* makePrompt({ prompt: "x".repeat(256 * 1024) }),
      yield* makePrompt({
        prompt: '日本語 🦊 \u0001 \r\n\t \\ " {{x}} \u2028',
        source: "webhook",
        webhook,
        deadline
      }),
      yield* makePrompt({
        template: "{{a}} {{__proto__}} {{constructor}}",
        values: Object.fromEntries([
          ["a", "</data> \u0001 🦊"],
          ["__proto__", "p"],
          ["constructor", "c"]
        ])
      }),
      yield* makePrompt({ thread: { id: id as never } }),
      yield* makePrompt({ thread: { id: id as never, session_id: "ses_ünïcode 🦊" } }),
      yield* makePrompt({
        thread: { id: id as never, session_id: "s-1", session_usage: { input_tokens: 1200, cost_usd: 0.0125 } }
      }),
      yield* makePrompt({ prompt: "" })
    ]
    for (const prompt of prompts) yield* bus.publish(prompt)
    for (const prompt of prompts) expect(yield* Queue.take(arrived)).toEqual(prompt)
  })

  behaviour("a prompt that waits past its deadline is reported as dead-lettered, and not delivered", function* () {
    const bus = yield* Bus
    const collected = yield* collectReplies
    const stop = yield* startLeader(() => Effect.never)
    yield* stop
    const [dated, plain] = [yield* makePrompt({ deadline: DateTime.makeUnsafe(Date.now() + 200) }), yield* makePrompt()]
    yield* bus.publish(dated)
    yield* bus.publish(plain)
    expect(yield* Queue.take(collected)).toEqual({ _tag: "DeadLettered", run_id: dated.run_id, reason: "expired" })
    const deliveries = yield* Queue.unbounded<Delivery>()
    yield* startLeader((delivery) => Effect.asVoid(Queue.offer(deliveries, delivery)))
    expect((yield* Queue.take(deliveries)).prompt.run_id).toBe(plain.run_id)
  })

  behaviour("a prompt whose deadline has passed is reported as dead-lettered without being sent", function* () {
    const bus = yield* Bus
    const collected = yield* collectReplies
    yield* Effect.flatMap(
      startLeader(() => Effect.never),
      (stop) => stop
    )
    yield* untilQueue(({ consumers }) => consumers === 0)
    const prompt = yield* makePrompt({ deadline: DateTime.makeUnsafe(Date.now() - 1) })
    yield* bus.publish(prompt)
    expect(yield* Queue.take(collected)).toEqual({ _tag: "DeadLettered", run_id: prompt.run_id, reason: "expired" })
    expect((yield* bus.queue(team)).messages).toBe(0)
  })

  behaviour(
    "an offered prompt reaches the leader only if it has none, and otherwise is dropped without a trace",
    function* () {
      const bus = yield* Bus
      const collected = yield* collectReplies
      const arrived = yield* Queue.unbounded<Delivery>()
      const answers = yield* Queue.unbounded<string>()
      const begun = new Set<Delivery>()
      yield* startLeader((delivery) =>
        Effect.gen(function* () {
          // A handler runs again with the same delivery if the broker did not take its reply.
          if (!begun.has(delivery)) yield* Queue.offer(arrived, delivery)
          begun.add(delivery)
          yield* delivery.reply({ _tag: "Answered", response: yield* Queue.take(answers) })
        })
      )
      yield* bus.publish(yield* makePrompt({ prompt: "before" }))
      yield* Queue.offer(answers, "before")
      expect((yield* Queue.take(arrived)).prompt.prompt).toBe("before")
      yield* Queue.take(collected)
      const [lost, next] = [yield* makePrompt({ prompt: "lost" }), yield* makePrompt({ prompt: "next" })]
      // Until the one before is acknowledged the leader is not free.
      yield* Effect.repeat(bus.offer(lost), {
        until: () => Effect.map(Queue.size(arrived), (size) => size > 0),
        schedule: Schedule.spaced("5 millis")
      })
      const { prompt, redelivered } = yield* Queue.take(arrived)
      expect([prompt, redelivered]).toEqual([lost, false])
      // It has one now.
      for (let n = 0; n < 3; n++) yield* bus.offer(lost)
      yield* untilQueue(({ messages }) => messages === 0)
      yield* bus.publish(next)
      // Behind another one that waits.
      yield* bus.offer(lost)
      yield* Queue.offerAll(answers, ["first", "second"])
      const second = yield* Queue.take(arrived)
      expect([second.prompt, second.redelivered]).toEqual([next, false])
      const replies = [yield* Queue.take(collected), yield* Queue.take(collected)]
      expect(replies).toEqual([
        { _tag: "Answered", run_id: lost.run_id, response: "first" },
        { _tag: "Answered", run_id: next.run_id, response: "second" }
      ])
      yield* bus.publish(yield* makePrompt({ prompt: "last" }))
      expect((yield* Queue.take(arrived)).prompt.prompt).toBe("last")
      expect(yield* Queue.size(collected)).toBe(0)
    }
  )
}
