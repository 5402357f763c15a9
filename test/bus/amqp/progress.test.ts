/** Progress on RabbitMQ, as leaders in other languages report it. */
import { describe, expect, it } from "@effect/vitest"
import type { Channel } from "amqplib"
import { Deferred, Effect, Metric, Queue, References, Schedule, type Scope } from "effect"
import * as BusAmqp from "../../../src/bus/amqp/BusAmqp.ts"
import { received } from "../../../src/bus/amqp/Metrics.ts"
import { Bus, type Reply, type RunProgress } from "../../../src/bus/Bus.ts"
import { freshVhost } from "../../support/fresh.ts"
import { byRunId, makePrompt, untilUp } from "../contract/support.ts"
import { patient } from "./OnRabbitMq.ts"
import { rawChannel } from "./RawChannel.ts"

const behaviour = (name: string, test: (url: string) => Effect.Effect<unknown, unknown, Bus | Scope.Scope>) =>
  it.live(name, () =>
    Effect.gen(function* () {
      const url = yield* freshVhost
      const layer = BusAmqp.layer({ url: patient(url), queueType: "classic" })
      yield* Effect.provide(Effect.scoped(Effect.andThen(untilUp, test(url))), layer)
    }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))
  )

const counted = (kind: string) =>
  Effect.map(Metric.value(Metric.withAttributes(received, { kind })), ({ count }) => count)

const publish = (channel: Channel, routingKey: string, correlationId: string, body: string) =>
  channel.publish("webhook.replies", routingKey, Buffer.from(body), { type: "progress", correlationId })

/** What a server gets, once it listens. */
const observe = (channel: Channel) =>
  Effect.gen(function* () {
    const bus = yield* Bus
    const observed = yield* Queue.unbounded<RunProgress>()
    const replies = yield* Queue.unbounded<Reply>()
    const listening = yield* Deferred.make<void>()
    yield* bus.consume((group) => Effect.asVoid(Queue.offerAll(replies, group)), {
      correlation: byRunId,
      progress: (progress) => {
        if (progress.activity === "starting") Deferred.doneUnsafe(listening, Effect.void)
        else Queue.offerUnsafe(observed, progress)
      }
    })
    const { run_id } = yield* makePrompt()
    yield* Effect.sync(() => publish(channel, "progress", run_id, '{"seq": 0, "activity": "starting"}')).pipe(
      Effect.repeat({ schedule: Schedule.spaced("20 millis"), until: () => Deferred.isDone(listening) })
    )
    return { observed, replies, run_id }
  })

describe("progress on the wire", () => {
  behaviour("has the routing key `progress`, or none", (url) =>
    Effect.gen(function* () {
      const channel = yield* rawChannel(url)
      const { observed, run_id } = yield* observe(channel)
      for (const key of ["progress", ""]) {
        publish(channel, key, run_id, `{"seq": 7, "text": "by '${key}'"}`)
        expect(yield* Queue.take(observed)).toEqual({ run_id, seq: 7, text: `by '${key}'` })
      }
    })
  )

  behaviour("is dropped and counted if it is unreadable, too long or from nobody who got a prompt", (url) =>
    Effect.gen(function* () {
      const channel = yield* rawChannel(url)
      const { observed, run_id } = yield* observe(channel)
      const [refused, malformed] = [yield* counted("refused"), yield* counted("malformed")]
      publish(channel, "progress", "somebody", '{"seq": 1, "text": "x"}')
      publish(channel, "progress", run_id, "{")
      publish(channel, "progress", run_id, '{"text": "without a number"}')
      publish(channel, "progress", run_id, `{"seq": 1, "text": "${"x".repeat(512 * 1024)}"}`)
      publish(channel, "progress", run_id, '{"seq": 1, "text": "readable"}')
      expect(yield* Queue.take(observed)).toEqual({ run_id, seq: 1, text: "readable" })
      expect([yield* counted("refused"), yield* counted("malformed")]).toEqual([refused + 1, malformed + 3])
    })
  )

  behaviour("fills the broker with no more than 10,000 messages and 16 MiB, and keeps no reply waiting", (url) =>
    Effect.gen(function* () {
      const channel = yield* rawChannel(url)
      const { observed, replies, run_id } = yield* observe(channel)
      const text = "x".repeat(4096)
      for (let seq = 0; seq < 25_000; seq++) {
        if (!publish(channel, "progress", run_id, JSON.stringify({ seq, text }))) {
          yield* Effect.callback<void>((resume) => void channel.once("drain", () => resume(Effect.void)))
        }
      }
      channel.publish("webhook.replies", "", Buffer.from('{"response": "done"}'), { correlationId: run_id })
      expect(yield* Queue.take(replies)).toEqual({ _tag: "Answered", run_id, response: "done" })
      const { messageCount } = yield* Effect.promise(() => channel.checkQueue("webhook.progress"))
      expect(messageCount).toBeLessThanOrEqual((16 * 1024 * 1024) / 4096)
      // Of a flood the newest is kept, in order.
      let last = -1
      while (last < 24_999) {
        const { seq } = yield* Queue.take(observed)
        expect(seq).toBeGreaterThan(last)
        last = seq
      }
    })
  )
})
