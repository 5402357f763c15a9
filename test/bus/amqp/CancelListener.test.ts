import { Deferred, Duration, Effect, Logger, Queue, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { listenForCancellations } from "../../../src/bus/amqp/CancelListener.ts"
import { open } from "../../../src/bus/amqp/Connection.ts"
import { makeRunId, type RunId } from "../../../src/domain/Id.ts"
import { freshVhost } from "../../support/fresh.ts"
import { expect, it } from "../../support/It.ts"
import { reportingSleeps } from "../../support/time/Sleeps.ts"
import { team } from "../contract/support.ts"
import { rawChannel } from "./RawChannel.ts"

/** The test's clock is still: no pause ends by itself. */
it.effect("a leader listens from its first prompt on, and tries again if it is refused", function* () {
  const url = yield* freshVhost
  const logged: Array<unknown> = []
  const connection = yield* open(Redacted.make(url), "test")
  const attempts = yield* Queue.unbounded<"refused" | "listening">()
  const createChannel = connection.model.createChannel.bind(connection.model)
  connection.model.createChannel = async () => {
    const channel = await createChannel()
    channel.once("close", () => Queue.offerUnsafe(attempts, "refused"))
    const consume = channel.consume.bind(channel)
    channel.consume = async (...request) => {
      const consumer = await consume(...request)
      Queue.offerUnsafe(attempts, "listening")
      return consumer
    }
    return channel
  }
  const firstPrompt = yield* Deferred.make<void>()
  const cancelled = yield* Queue.unbounded<RunId>()
  const sleeps = yield* Queue.unbounded<string>()
  yield* listenForCancellations(connection, team, firstPrompt, {
    onCancel: (id) => Queue.offerUnsafe(cancelled, id),
    onFile: () => {}
  }).pipe(
    reportingSleeps((duration) => Queue.offerUnsafe(sleeps, Duration.format(duration))),
    Effect.provide(Logger.layer([Logger.make(({ message }) => logged.push(message))]))
  )
  yield* Deferred.succeed(firstPrompt, undefined)
  expect(yield* Queue.take(attempts)).toBe("refused")
  expect(yield* Queue.take(sleeps)).toBe("10s")
  expect(logged).toHaveLength(1)
  const channel = yield* rawChannel(url)
  yield* Effect.promise(() => channel.assertExchange("webhook.cancel.deploy", "fanout"))
  yield* TestClock.adjust("10 seconds")
  expect(yield* Queue.take(attempts)).toBe("listening")
  const run_id = yield* makeRunId
  channel.publish("webhook.cancel.deploy", "", Buffer.from(JSON.stringify({ run_id })))
  expect(yield* Queue.take(cancelled)).toBe(run_id)
  expect(logged).toHaveLength(1)
})
