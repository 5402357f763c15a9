import { Effect, Logger, Metric, Redacted } from "effect"
import * as BusAmqp from "../../src/bus/amqp/BusAmqp.ts"
import { reconnects } from "../../src/bus/amqp/Metrics.ts"
import { Bus } from "../../src/bus/Bus.ts"
import { byRunId } from "../bus/contract/support.ts"
import { freshVhost } from "../support/fresh.ts"
import { describe, expect, it } from "../support/It.ts"
import { Proxy } from "../support/Proxy.ts"
import { repeatUntil } from "../support/Until.ts"

const names = ["publish", "consume", "probe"]

describe("the log while the broker is away", () => {
  it.live(
    "has one line when a connection is lost and one when it is back, however many attempts are made in between",
    function* () {
      const url = yield* freshVhost
      const proxy = yield* Effect.acquireRelease(
        Effect.promise(() => Proxy.of(url)),
        (proxy) => Effect.promise(() => proxy.close())
      )
      const lines: Array<string> = []
      const logger = Logger.make(({ logLevel, message }) => lines.push(`${logLevel.toUpperCase()} ${message}`))
      const attempts = Effect.forEach(names, (name) =>
        Effect.map(Metric.value(Metric.withAttributes(reconnects, { connection: name })), ({ count }) => count)
      )
      const whileAway = Effect.gen(function* () {
        const before = yield* attempts
        yield* repeatUntil(attempts, (now) => now.every((count, index) => count >= before[index]! + 2))
        proxy.pass()
        const said = lines.length
        yield* repeatUntil(
          Effect.void,
          () => lines.slice(said).filter((line) => line.startsWith("INFO")).length === names.length
        )
      })
      proxy.reset({ refuse: true })
      yield* Effect.gen(function* () {
        yield* (yield* Bus).consume(() => Effect.void, { correlation: byRunId })
        yield* whileAway
        proxy.reset({ refuse: true })
        yield* whileAway
      }).pipe(
        Effect.scoped,
        Effect.provide(BusAmqp.layer({ url: Redacted.make(proxy.through(url)), queueType: "classic" })),
        Effect.provide(Logger.layer([logger]))
      )
      const of = (name: string) => lines.filter((line) => line.includes(`broker connection ${name}: `))
      for (const name of names) {
        expect(of(name), name).toEqual([
          expect.stringMatching(/^WARN .*reconnecting$/),
          expect.stringMatching(/^INFO .*connected to/),
          expect.stringMatching(/^WARN .*reconnecting$/),
          expect.stringMatching(/^INFO .*connected to/)
        ])
      }
    }
  )
})
