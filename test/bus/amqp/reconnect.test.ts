/** The bus while its broker goes away, falls silent, blocks, or loses queues. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import {
  Cause,
  DateTime,
  Deferred,
  Effect,
  Exit,
  Fiber,
  Layer,
  Logger,
  LogLevel,
  Metric,
  Queue,
  Redacted,
  Schedule,
  Scope
} from "effect"
import { afterAll, beforeAll } from "vitest"
import * as BusAmqp from "../../../src/bus/amqp/BusAmqp.ts"
import * as LeaderAmqp from "../../../src/bus/amqp/LeaderAmqp.ts"
import { reconnects } from "../../../src/bus/amqp/Metrics.ts"
import { Bus, type LeaderBus, type Reply } from "../../../src/bus/Bus.ts"
import {
  collectReplies,
  consume,
  echo,
  makePrompt,
  startLeader,
  team,
  untilQueue,
  untilUp
} from "../../../src/bus/contract.ts"
import { Unavailable } from "../../../src/domain/Errors.ts"
import { Leader } from "../../../src/leader/index.ts"
import { freshVhost } from "../../support/fresh.ts"
import { Proxy } from "../../support/Proxy.ts"
import { type RabbitMqServer, startRabbitMq } from "../../support/RabbitMq.ts"
import { rawChannel, reply } from "./RawChannel.ts"

interface Wires {
  /** The broker itself. */
  readonly url: string
  /** Between the server's side of the bus and the broker. */
  readonly server: Proxy
  /** Between the leader's side of the bus and the broker. */
  readonly leader: Proxy
}

const proxied = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(() => Proxy.of(url)),
    (proxy) => Effect.promise(() => proxy.close())
  )

const behaviour = (
  name: string,
  test: (wires: Wires) => Effect.Effect<unknown, unknown, Bus | LeaderBus | Scope.Scope>,
  options: {
    readonly before?: (wires: Wires) => void
    readonly url?: () => string
    /** Seconds, in place of the usual ones. */
    readonly heartbeat?: number
  } = {}
) =>
  it.live(
    name,
    () =>
      Effect.gen(function* () {
        const url = options.url?.() ?? (yield* freshVhost)
        const wires = { url, server: yield* proxied(url), leader: yield* proxied(url) }
        options.before?.(wires)
        const query = options.heartbeat === undefined ? "" : `?heartbeat=${options.heartbeat}`
        const through = (proxy: Proxy) => ({
          url: Redacted.make(proxy.through(url) + query),
          queueType: "classic" as const
        })
        const layer = Layer.merge(BusAmqp.layer(through(wires.server)), LeaderAmqp.layer(through(wires.leader)))
        yield* Effect.provide(Effect.scoped(test(wires)), layer)
      }).pipe(Effect.scoped, Logger.withMinimumLogLevel(LogLevel.None)),
    120_000
  )

const again = { schedule: Schedule.spaced("20 millis"), times: 1500 }

/** Why the broker is out of reach for the request. */
const refusal = <E>(request: Effect.Effect<unknown, E>) =>
  Effect.map(Effect.flip(request), (error) => (error instanceof Unavailable ? error.detail : String(error)))

/** A prompt goes out and its answer comes back, as soon as the bus can. */
const roundTrip = (replies: Queue.Dequeue<Reply>) =>
  Effect.gen(function* () {
    const bus = yield* Bus
    const prompt = yield* makePrompt()
    yield* Effect.retry(bus.publish([prompt]), again)
    let run_id: string
    do run_id = (yield* Queue.take(replies)).run_id
    while (run_id !== prompt.run_id)
  })

describe("the bus and its connections", () => {
  behaviour(
    "starts while the broker is down, says so while it is, and works once it is up",
    ({ server }) =>
      Effect.gen(function* () {
        const bus = yield* Bus
        for (const request of [
          bus.ping,
          bus.queue(team),
          Effect.flatMap(makePrompt(), (prompt) => bus.publish([prompt]))
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
        const publish = Effect.uninterruptible(bus.publish([yield* makePrompt()]))
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
        const prompt = yield* makePrompt({ deadline: DateTime.unsafeMake(Date.now() - 1) })
        yield* bus.publish([prompt])
        server.pass()
        expect(yield* Queue.take(replies)).toEqual({ _tag: "DeadLettered", run_id: prompt.run_id, reason: "expired" })
      }),
    { before: ({ server }) => server.reset({ refuse: true }) }
  )

  for (const how of ["reset", "cut"] as const) {
    behaviour(`works again after every connection was ${how}`, ({ leader, server }) =>
      Effect.gen(function* () {
        const replies = yield* collectReplies
        yield* startLeader(echo)
        yield* roundTrip(replies)
        const before = yield* Metric.value(Metric.tagged(reconnects, "connection", "consume"))
        for (let i = 0; i < 3; i++) {
          server[how]()
          leader[how]()
          yield* roundTrip(replies)
        }
        const after = yield* Metric.value(Metric.tagged(reconnects, "connection", "consume"))
        expect(after.count).toBeGreaterThan(before.count)
      })
    )
  }

  behaviour(
    "a prompt in work when the leader's connection breaks is interrupted, and delivered again first",
    ({ leader }) =>
      Effect.gen(function* () {
        const bus = yield* Bus
        const replies = yield* collectReplies
        const begun = yield* Deferred.make<void>()
        let stopped = false
        const seen: Array<readonly [string, boolean]> = []
        yield* startLeader((delivery) => {
          seen.push([delivery.prompt.prompt, delivery.redelivered])
          if (seen.length > 1) return echo(delivery)
          return Deferred.succeed(begun, undefined).pipe(
            Effect.zipRight(Effect.never),
            Effect.onInterrupt(() => Effect.sync(() => (stopped = true)))
          )
        })
        yield* bus.publish([yield* makePrompt({ prompt: "first" })])
        yield* bus.publish([yield* makePrompt({ prompt: "second" })])
        yield* Deferred.await(begun)
        leader.reset()
        yield* Queue.takeN(replies, 2)
        expect(stopped).toBe(true)
        expect(seen).toEqual([
          ["first", false],
          ["first", true],
          ["second", false]
        ])
      })
  )

  behaviour(
    "a prompt in work when a stopping leader's connection breaks is interrupted, whatever its grace",
    ({ leader }) =>
      Effect.gen(function* () {
        const bus = yield* Bus
        const begun = yield* Deferred.make<void>()
        let interrupted = false
        const stop = yield* startLeader(
          () =>
            Deferred.succeed(begun, undefined).pipe(
              Effect.zipRight(Effect.never),
              Effect.onInterrupt(() => Effect.sync(() => (interrupted = true)))
            ),
          { grace: 3_600_000 }
        )
        yield* bus.publish([yield* makePrompt()])
        yield* Deferred.await(begun)
        const stopping = yield* Effect.fork(stop)
        yield* Effect.yieldNow()
        leader.reset()
        yield* Fiber.join(stopping)
        expect(interrupted).toBe(true)
      })
  )

  behaviour("an answer that was given while the broker was away arrives, and the work is done once", ({ leader }) =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const replies = yield* collectReplies
      let worked = 0
      yield* Leader.start({
        team,
        handler: () =>
          Effect.sync(() => {
            worked++
            leader.reset({ refuse: true })
            setTimeout(() => leader.pass(), 300)
            return "done"
          }).pipe(Effect.uninterruptible)
      })
      yield* untilQueue(({ consumers }) => consumers === 1)
      const prompt = yield* makePrompt()
      yield* bus.publish([prompt])
      let reply = yield* Queue.take(replies)
      while (reply._tag === "Started") reply = yield* Queue.take(replies)
      expect(reply).toEqual({ _tag: "Answered", run_id: prompt.run_id, response: "done" })
      expect(worked).toBe(1)
    })
  )

  behaviour("a broker that falls silent is noticed by requests, then by prompts, and the bus recovers", ({ server }) =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const replies = yield* collectReplies
      yield* startLeader(echo)
      yield* roundTrip(replies)
      server.silence("all")
      const prompt = yield* makePrompt()
      const requests = {
        prompt: bus.publish([prompt]),
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
    })
  )

  behaviour(
    "closes although the broker is silent, and nobody has noticed that",
    ({ server }) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        yield* consume(() => Effect.void).pipe(Scope.extend(scope))
        yield* untilUp
        server.silence("all")
        const before = server.connections
        yield* Scope.close(scope, Exit.void)
        expect(server.connections).toBe(before)
      }),
    { heartbeat: 60 }
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
      const dead = yield* Effect.raceFirst(Queue.take(replies), Effect.forever(Effect.delay(bury, "100 millis")))
      expect(dead).toEqual({ _tag: "DeadLettered", run_id, reason: "rejected" })
    })
  )

  behaviour("a leader whose queue was deleted declares it again", ({ url }) =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const replies = yield* collectReplies
      yield* startLeader(echo)
      const channel = yield* rawChannel(url)
      for (let i = 0; i < 3; i++) {
        yield* Effect.promise(() => channel.deleteQueue("team.deploy"))
        const prompt = yield* makePrompt()
        yield* Effect.retry(bus.publish([prompt]), again)
        expect((yield* Queue.take(replies)).run_id).toBe(prompt.run_id)
      }
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
          const refusal = yield* Effect.repeat(Effect.map(Effect.flip(Effect.sandbox(bus.ping)), Cause.pretty), {
            until: (text) => !text.includes("not connected yet")
          })
          lines.push(refusal)
        }).pipe(
          Effect.scoped,
          Effect.provide(BusAmqp.layer({ url: Redacted.make(url), queueType: "classic" })),
          Effect.provide(Logger.replace(Logger.defaultLogger, logger))
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

describe("a broker with an alarm", () => {
  const dir = mkdtempSync(join(tmpdir(), "bus-alarm-"))
  let broker: RabbitMqServer
  beforeAll(async () => {
    broker = await startRabbitMq({ dir })
  }, 180_000)
  afterAll(async () => {
    await broker.dispose()
    rmSync(dir, { recursive: true, force: true })
  })

  behaviour(
    "refuses prompts while it is on, at once when it is known, still answers requests about queues, and delivers each prompt once when it is over",
    () =>
      Effect.gen(function* () {
        const bus = yield* Bus
        const replies = yield* collectReplies
        const seen: Array<string> = []
        yield* startLeader((delivery) => {
          seen.push(delivery.prompt.run_id)
          return echo(delivery)
        })
        yield* roundTrip(replies)
        yield* Effect.promise(() => broker.control("set_vm_memory_high_watermark", "absolute", "1"))
        const prompt = yield* makePrompt()
        expect(yield* refusal(bus.publish([prompt]))).toBe("the broker did not confirm in time")
        // It fails unless the refusal comes without any wait.
        for (let i = 0; i < 5; i++) Effect.runSync(refusal(bus.publish([prompt])))
        expect((yield* Effect.either(bus.ping))._tag).toBe("Left")
        expect((yield* bus.queue(team)).consumers).toBe(1)
        yield* Effect.promise(() => broker.control("set_vm_memory_high_watermark", "0.4"))
        yield* Effect.retry(bus.publish([prompt]), again)
        yield* roundTrip(replies)
        expect(seen.filter((id) => id === prompt.run_id)).toHaveLength(1)
      }),
    { url: () => broker.url }
  )
})
