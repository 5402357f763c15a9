import { describe, expect } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { Bus } from "../../../src/bus/Bus.ts"
import { WebhookId } from "../../../src/domain/Id.ts"
import { makePrompt, team, untilQueue } from "../contract/support.ts"
import { behaviour } from "./OnRabbitMq.ts"
import { declareTeam, nextMessage, rawChannel } from "./RawChannel.ts"

describe("a prompt on the wire", () => {
  behaviour("is not sent to a queue that was deleted, which is known to be gone from then on", (url) =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const channel = yield* rawChannel(url)
      yield* declareTeam(channel, team)
      yield* Effect.promise(() => channel.consume("team.deploy", () => {}))
      yield* bus.publish(yield* makePrompt())
      yield* untilQueue(({ consumers }) => consumers === 1)
      yield* Effect.promise(() => channel.deleteQueue("team.deploy"))
      expect((yield* Effect.flip(bus.publish(yield* makePrompt())))._tag).toBe("QueueGone")
      // What said a moment ago that there is a leader is not believed any more: it would be published to again, in vain.
      expect(yield* bus.queue(team)).toEqual({ exists: false, consumers: 0, messages: 0 })
    })
  )

  behaviour("has the properties and the body that leaders rely on", (url) =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const channel = yield* rawChannel(url)
      yield* declareTeam(channel, team)
      const webhook = { id: WebhookId.make("01890a5d-ac96-774b-bcce-b302099a8057"), name: "nightly" }
      const deadline = DateTime.makeUnsafe(Date.now() + 60_000)
      const prompt = yield* makePrompt({ correlation_id: "opaque", source: "webhook", webhook, deadline })
      const left = () => DateTime.toEpochMillis(deadline) - Date.now()
      const most = left()
      yield* bus.publish(prompt)
      const least = left()
      const message = yield* nextMessage(channel, "team.deploy")
      expect(message.properties).toMatchObject({
        messageId: prompt.run_id,
        correlationId: "opaque",
        replyTo: "webhook.replies",
        type: "prompt",
        contentType: "application/json",
        deliveryMode: 2
      })
      expect(Number(message.properties.expiration)).toBeGreaterThanOrEqual(least)
      expect(Number(message.properties.expiration)).toBeLessThanOrEqual(most)
      expect(message.properties.headers?.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
      expect(JSON.parse(message.content.toString())).toEqual({
        run_id: prompt.run_id,
        source: "webhook",
        webhook,
        prompt: "hello",
        deadline: DateTime.formatIso(deadline)
      })
    })
  )

  behaviour("says that it may have been sent before, if it is sent again or offered", (url) =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const channel = yield* rawChannel(url)
      yield* declareTeam(channel, team)
      const prompt = yield* makePrompt()
      const header = Effect.map(
        nextMessage(channel, "team.deploy"),
        ({ properties }) => properties.headers?.["x-webhook-offer"]
      )
      yield* bus.publish(prompt)
      expect(yield* header).toBeUndefined()
      yield* bus.publish(prompt, { again: true })
      expect(yield* header).toBe(true)
    })
  )

  behaviour("does not expire when no caller waits for the answer", (url) =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const channel = yield* rawChannel(url)
      yield* declareTeam(channel, team)
      const prompt = yield* makePrompt()
      yield* bus.publish(prompt)
      const message = yield* nextMessage(channel, "team.deploy")
      expect(message.properties.expiration).toBeUndefined()
      expect(JSON.parse(message.content.toString())).toEqual({ run_id: prompt.run_id, source: "chat", prompt: "hello" })
    })
  )

  behaviour("carries the trace in which it is sent", (url) =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const channel = yield* rawChannel(url)
      yield* declareTeam(channel, team)
      const prompt = yield* makePrompt()
      const trace = yield* Effect.gen(function* () {
        yield* bus.publish(prompt)
        return (yield* Effect.currentSpan).traceId
      }).pipe(Effect.withSpan("test"))
      const message = yield* nextMessage(channel, "team.deploy")
      expect(message.properties.headers?.traceparent).toContain(trace)
    })
  )

  behaviour("has a trace of its own, not sampled, when tracing is off", (url) =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const channel = yield* rawChannel(url)
      yield* declareTeam(channel, team)
      yield* Effect.withTracerEnabled(bus.publish(yield* makePrompt()), false)
      const message = yield* nextMessage(channel, "team.deploy")
      expect(message.properties.headers?.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
    })
  )
})
