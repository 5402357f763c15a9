import { describe, expect } from "@effect/vitest"
import { Effect, Queue } from "effect"
import { Bus } from "../../../src/bus/Bus.ts"
import { collectReplies, makePrompt, team } from "../contract/support.ts"
import { behaviour } from "./OnRabbitMq.ts"
import { declareTeam, nextMessage, rawChannel } from "./RawChannel.ts"

describe("dead letters", () => {
  behaviour("a prompt that a leader rejects is reported as dead-lettered", (url) =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const collected = yield* collectReplies
      const channel = yield* rawChannel(url)
      yield* declareTeam(channel, team)
      const prompt = yield* makePrompt()
      yield* bus.publish(prompt)
      channel.reject(yield* nextMessage(channel, "team.deploy"), false)
      expect(yield* Queue.take(collected)).toEqual({ _tag: "DeadLettered", run_id: prompt.run_id, reason: "rejected" })
    })
  )

  behaviour(
    "a prompt on a quorum queue that crashes its leader again and again is given up",
    (url) =>
      Effect.gen(function* () {
        const bus = yield* Bus
        const collected = yield* collectReplies
        const channel = yield* rawChannel(url)
        yield* declareTeam(channel, team, { "x-queue-type": "quorum", "x-delivery-limit": 20 })
        const prompt = yield* makePrompt()
        yield* bus.publish(prompt)
        let deliveries = 0
        yield* Effect.promise(() =>
          channel.consume("team.deploy", (message) => {
            if (message === null) return
            deliveries++
            channel.nack(message)
          })
        )
        expect(yield* Queue.take(collected)).toEqual({
          _tag: "DeadLettered",
          run_id: prompt.run_id,
          reason: "delivery_limit"
        })
        expect(deliveries).toBeGreaterThanOrEqual(20)
      }),
    "quorum"
  )

  behaviour("junk on the dead-letter queue holds up nothing", (url) =>
    Effect.gen(function* () {
      const collected = yield* collectReplies
      const channel = yield* rawChannel(url)
      channel.publish("webhook.dlx", "", Buffer.from("junk"), {})
      const { run_id } = yield* makePrompt()
      channel.publish("webhook.dlx", "", Buffer.from("junk"), { correlationId: run_id })
      expect(yield* Queue.take(collected)).toEqual({ _tag: "DeadLettered", run_id, reason: "rejected" })
    })
  )
})
