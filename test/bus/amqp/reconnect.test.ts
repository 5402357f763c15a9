import { describe, expect, it } from "@effect/vitest"
import { Cause, DateTime, Effect, Exit, Logger, Metric, Queue, Redacted, Scope } from "effect"
import * as BusAmqp from "../../../src/bus/amqp/BusAmqp.ts"
import { reconnects } from "../../../src/bus/amqp/Metrics.ts"
import { Bus } from "../../../src/bus/Bus.ts"
import { Unavailable } from "../../../src/domain/Errors.ts"
import { freshVhost } from "../../support/fresh.ts"
import { repeatUntil } from "../../support/Until.ts"
import { collectReplies, consume, echo, makePrompt, startLeader, team, untilUp } from "../contract/support.ts"
import { rawChannel, reply } from "./RawChannel.ts"
import { again, behaviour, refusal, roundTrip } from "./Wires.ts"

// Most of the time is the bus's own waits: each test has a virtual host and proxies of its own.
describe.concurrent("the bus and its connections", () => {
  behaviour(
    "starts while the broker is down, says so while it is, and works once it is up",
    ({ server }) =>
      Effect.gen(function* () {
        const bus = yield* Bus
        for (const request of [
          bus.ping,
          bus.queue(team),
          Effect.flatMap(makePrompt(), (prompt) => bus.publish(prompt))
        ]) {
          expect(yield* Effect.flip(request)).toBeInstanceOf(Unavailable)
        }
        const replies = yield* collectReplies
        server.pass()
        yield* untilUp
        yield* startLeader(echo)
        yield* roundTrip(replies)
      }),
    { before: ({ server }) => server.reset({ refuse: true }) }
  )

  behaviour(
    "refuses a prompt while it still connects to a silent broker, also when that must not be interrupted",
    () =>
      Effect.gen(function* () {
        const bus = yield* Bus
        const publish = Effect.uninterruptible(bus.publish(yield* makePrompt()))
        // The first attempt has not ended: its end would be the reason.
        expect(yield* refusal(publish)).toBe("not connected yet")
      }),
    { before: ({ server }) => server.silence("all") }
  )

  behaviour(
    "reports a prompt that expired before it was sent, also when the broker was down then",
    ({ server }) =>
      Effect.gen(function* () {
        const bus = yield* Bus
        const replies = yield* collectReplies
        const prompt = yield* makePrompt({ deadline: DateTime.makeUnsafe(Date.now() - 1) })
        yield* bus.publish(prompt)
        server.pass()
        expect(yield* Queue.take(replies)).toEqual({ _tag: "DeadLettered", run_id: prompt.run_id, reason: "expired" })
      }),
    { before: ({ server }) => server.reset({ refuse: true }) }
  )

  behaviour(
    "a broker that falls silent is noticed by requests, then by prompts, and the bus recovers",
    ({ server }) =>
      Effect.gen(function* () {
        const bus = yield* Bus
        const replies = yield* collectReplies
        yield* startLeader(echo)
        yield* roundTrip(replies)
        server.silence("all")
        const prompt = yield* makePrompt()
        const requests = {
          prompt: bus.publish(prompt),
          queue: Effect.delay(bus.queue(team), "1100 millis"),
          ping: bus.ping
        }
        const refusals: Array<readonly [request: string, why: string]> = []
        yield* Effect.forEach(
          Object.entries(requests),
          ([name, request]) => Effect.map(refusal(request), (why) => refusals.push([name, why])),
          { concurrency: "unbounded" }
        )
        expect(refusals).toContainEqual(["ping", "the broker did not answer in 3 seconds"])
        expect(refusals.at(-1)).toEqual(["prompt", expect.stringContaining("rejected by the broker")])
        server.pass()
        yield* untilUp
        yield* roundTrip(replies)
      }),
    { usualHeartbeats: true }
  )

  behaviour("closes although the broker is silent, and nobody has noticed that", ({ server }) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      yield* consume(() => Effect.void).pipe(Scope.provide(scope))
      yield* untilUp
      server.silence("all")
      const before = server.connections
      yield* Scope.close(scope, Exit.void)
      expect(server.connections).toBe(before)
    })
  )

  behaviour("a deleted reply queue or dead-letter queue is declared again, and consumed", ({ url }) =>
    Effect.gen(function* () {
      const replies = yield* collectReplies
      yield* startLeader(echo)
      yield* roundTrip(replies)
      const channel = yield* rawChannel(url)
      for (const queue of ["webhook.replies.inbox", "webhook.dead"]) {
        yield* Effect.promise(() => channel.deleteQueue(queue))
        yield* roundTrip(replies)
      }
      const { run_id } = yield* makePrompt()
      // Until its queue is there again it is dropped, and the round trip needs the other queue only.
      const bury = Effect.sync(() => channel.publish("webhook.dlx", "", Buffer.from("x"), { correlationId: run_id }))
      // An answer of an earlier round trip may come once more.
      const ofRun = Effect.repeat(Queue.take(replies), { until: (reply) => reply.run_id === run_id })
      const dead = yield* Effect.raceFirst(ofRun, Effect.forever(Effect.delay(bury, "100 millis")))
      expect(dead).toEqual({ _tag: "DeadLettered", run_id, reason: "rejected" })
    })
  )

  behaviour("replies that wait for the database are handled once although their connection broke", ({ server, url }) =>
    Effect.gen(function* () {
      const begun = yield* Queue.unbounded<void>()
      const handled = yield* Queue.unbounded<string>()
      let first = true
      yield* consume((replies) =>
        Effect.gen(function* () {
          yield* Queue.offer(begun, undefined)
          if (first) {
            first = false
            yield* Effect.never
          }
          for (const { run_id } of replies) yield* Queue.offer(handled, run_id)
        })
      )
      yield* untilUp
      const channel = yield* rawChannel(url)
      const { run_id } = yield* makePrompt()
      yield* Effect.retry(
        Effect.tryPromise(() => channel.checkQueue("webhook.replies.inbox")),
        again
      )
      yield* reply(channel, "answer", { correlationId: run_id, contentType: "text/plain" })
      yield* Queue.take(begun)
      server.reset()
      expect(yield* Queue.take(handled)).toBe(run_id)
    })
  )

  it.live("the password of the broker's URL is never logged", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.make(({ cause, message }) => lines.push(String(message) + Cause.pretty(cause)))
      const run = (url: string) =>
        Effect.gen(function* () {
          const bus = yield* Bus
          yield* consume(() => Effect.void)
          const refusal = yield* repeatUntil(
            Effect.map(Effect.flip(Effect.sandbox(bus.ping)), Cause.pretty),
            (text) => !text.includes("not connected yet")
          )
          lines.push(refusal)
        }).pipe(
          Effect.scoped,
          Effect.provide(BusAmqp.layer({ url: Redacted.make(url), queueType: "classic" })),
          Effect.provide(Logger.layer([logger]))
        )
      yield* run("amqp://user:hunter2@127.0.0.1:1/vhost")
      yield* run("amqp://user:hunter2@127.0.0.1:99999999")
      yield* run("http://user:hunter2@127.0.0.1:1")
      const url = new URL(yield* freshVhost)
      url.password = "hunter2"
      yield* run(url.href)
      const text = lines.join("\n")
      expect(text).toContain("127.0.0.1:1/vhost")
      expect(text).toMatch(/ACCESS.REFUSED/)
      expect(text).not.toContain("hunter2")
    }).pipe(Effect.scoped)
  )
})

// One at a time, since the metric counts those of all buses.
describe("the bus", () => {
  for (const how of ["reset", "cut"] as const) {
    behaviour(`works again after every connection was ${how}`, ({ leader, server }) =>
      Effect.gen(function* () {
        const replies = yield* collectReplies
        yield* startLeader(echo)
        yield* roundTrip(replies)
        const before = yield* Metric.value(Metric.withAttributes(reconnects, { connection: "consume" }))
        for (let i = 0; i < 3; i++) {
          server[how]()
          leader[how]()
          yield* roundTrip(replies)
        }
        const after = yield* Metric.value(Metric.withAttributes(reconnects, { connection: "consume" }))
        expect(after.count).toBeGreaterThan(before.count)
      })
    )
  }
})
