import { type AddressInfo, createServer } from "node:net"
import { Deferred, Duration, Effect, Exit, Fiber, Queue, Redacted, Schedule, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Broker from "../../../src/bus/amqp/Broker.ts"
import * as Link from "../../../src/bus/amqp/Link.ts"
import { freshVhost } from "../../support/fresh.ts"
import { expect, it } from "../../support/It.ts"
import { Proxy } from "../../support/Proxy.ts"
import { reportingSleeps } from "../../support/time/Sleeps.ts"

it.live("is given up also while what was on a lost connection is being closed", function* () {
  const url = Redacted.make(yield* freshVhost)
  const scope = yield* Scope.make()
  const isClosing = yield* Deferred.make<void>()
  const mayClose = yield* Deferred.make<void>()
  let connections = 0
  const link = yield* Scope.provide(
    Link.make({
      broker: Broker.make(url),
      name: "test",
      use: () =>
        Effect.gen(function* () {
          connections++
          yield* Effect.addFinalizer(() =>
            Effect.andThen(Deferred.succeed(isClosing, undefined), Deferred.await(mayClose))
          )
          yield* Effect.addFinalizer(() => Effect.void)
        })
    }),
    scope
  )
  const { connection } = yield* Effect.retry(link.get, Schedule.spaced("20 millis"))
  connection.markLost("for the test")
  yield* Deferred.await(isClosing)
  const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
  // The interruption is with the link's fiber once this one has had its turn.
  yield* Effect.sleep(0)
  yield* Deferred.succeed(mayClose, undefined)
  yield* Fiber.join(closing)
  expect(connections).toBe(1)
})

/** A link, and when it is connected. */
const linkTo = (broker: Broker.Broker, name: string) =>
  Effect.gen(function* () {
    const connected = yield* Deferred.make<void>()
    const link = yield* Link.make({ broker, name, use: () => Deferred.succeed(connected, undefined) })
    return { link, connected: Deferred.await(connected) }
  })

/** The test's clock stands still: no pause ends by itself. */
it.effect("tries again as soon as another link to the same broker has connected", function* () {
  const url = yield* freshVhost
  const proxy = yield* Effect.acquireRelease(
    Effect.promise(() => Proxy.of(url)),
    (proxy) => Effect.promise(() => proxy.close())
  )
  proxy.reset({ refuse: true })
  const broker = Broker.make(Redacted.make(proxy.through(url)))
  const waiting = yield* Effect.forEach(["a", "b"], (name) => linkTo(broker, name))
  for (const { link } of waiting) yield* Effect.flip(link.get)
  proxy.pass()
  const { connected } = yield* linkTo(broker, "c")
  yield* connected
  for (const { connected } of waiting) yield* connected
})

it.effect("pauses for a second at the most, however often it has failed", function* () {
  const attempts = yield* Queue.unbounded<void>()
  const server = createServer((client) => {
    client.resetAndDestroy()
    Queue.offerUnsafe(attempts, undefined)
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () => Effect.sync(() => server.close())
  )
  const { port } = server.address() as AddressInfo
  const pauses = yield* Queue.unbounded<void>()
  yield* linkTo(Broker.make(Redacted.make(`amqp://127.0.0.1:${port}`)), "refused").pipe(
    reportingSleeps((duration) => {
      if (Duration.toMillis(duration) <= 1_000) Queue.offerUnsafe(pauses, undefined)
    })
  )
  for (let i = 0; i < 8; i++) {
    yield* Queue.take(attempts)
    yield* Queue.take(pauses)
    yield* TestClock.adjust("1 second")
  }
  yield* Queue.take(attempts)
})
