import { expect, it } from "@effect/vitest"
import { Chunk, Deferred, Effect, Logger, Queue, Redacted, TestClock } from "effect"
import { listenForCancellations } from "../../../src/bus/amqp/CancelListener.ts"
import { open } from "../../../src/bus/amqp/Connection.ts"
import { team } from "../../../src/bus/contract.ts"
import { makeRunId, type RunId } from "../../../src/domain/Id.ts"
import { freshVhost } from "../../support/fresh.ts"
import { untilEffect } from "../../support/Until.ts"
import { rawChannel } from "./RawChannel.ts"

const untilPausing = untilEffect("something sleeps", Effect.map(TestClock.sleeps(), Chunk.isNonEmpty))

/** The test's clock is still: no pause ends by itself. */
it.scoped("a leader that has waited for long listens as soon as its team's first prompt is there", () =>
  Effect.gen(function* () {
    const url = yield* freshVhost
    const logged: Array<unknown> = []
    const connection = yield* open(Redacted.make(url), "test")
    const attempts = yield* Queue.unbounded<"refused" | "listening">()
    const createChannel = connection.model.createChannel.bind(connection.model)
    connection.model.createChannel = async () => {
      const channel = await createChannel()
      channel.once("close", () => attempts.unsafeOffer("refused"))
      const consume = channel.consume.bind(channel)
      channel.consume = async (...request) => {
        const consumer = await consume(...request)
        attempts.unsafeOffer("listening")
        return consumer
      }
      return channel
    }
    const firstPrompt = yield* Deferred.make<void>()
    const cancelled = yield* Queue.unbounded<RunId>()
    yield* listenForCancellations(connection, team, firstPrompt, (id) => cancelled.unsafeOffer(id)).pipe(
      Effect.provide(
        Logger.replace(
          Logger.defaultLogger,
          Logger.make(({ message }) => logged.push(message))
        )
      )
    )
    expect(yield* Queue.take(attempts)).toBe("refused")
    yield* untilPausing
    yield* TestClock.adjust("10 seconds")
    expect(yield* Queue.take(attempts)).toBe("refused")
    yield* untilPausing
    const channel = yield* rawChannel(url)
    yield* Effect.promise(() => channel.assertExchange("webhook.cancel.deploy", "fanout"))
    yield* Deferred.succeed(firstPrompt, undefined)
    expect(yield* Queue.take(attempts)).toBe("listening")
    const run_id = yield* makeRunId
    channel.publish("webhook.cancel.deploy", "", Buffer.from(JSON.stringify({ run_id })))
    expect(yield* Queue.take(cancelled)).toBe(run_id)
    expect(logged).toEqual([])
  })
)
