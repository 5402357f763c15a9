/** Long answers to runs that have ended: they are all kept, and no other reply waits for them. */
import { describe, expect, it } from "@effect/vitest"
import { Context, Deferred, Effect, Layer, Logger, LogLevel, Metric, Queue, Redacted } from "effect"
import * as BusAmqp from "../../src/bus/amqp/BusAmqp.ts"
import { received } from "../../src/bus/amqp/Metrics.ts"
import { Bus, type Correlation, type Reply } from "../../src/bus/Bus.ts"
import type { Received } from "../../src/bus/LongReplies.ts"
import { makeInbox } from "../../src/bus/Replies.ts"
import { Unavailable } from "../../src/domain/Errors.ts"
import { makeRunId, type RunId } from "../../src/domain/Id.ts"
import { TeamName } from "../../src/domain/Team.ts"
import { freshVhost } from "../support/fresh.ts"
import { rawChannel, reply } from "./amqp/RawChannel.ts"
import { untilUp } from "./contract/support.ts"

const newRuns = (count: number) => Effect.forEach(Array.from({ length: count }), () => makeRunId)

/** Of these runs, the late ones have ended. */
const answerable = (late: ReadonlySet<RunId>) => (runs: ReadonlyArray<RunId>) =>
  Effect.succeed(new Map(runs.map((id) => [id, late.has(id) ? ("late" as const) : ("live" as const)])))

describe("a consumer's long replies", () => {
  const start = Effect.fnUntraced(function* (late: ReadonlySet<RunId>) {
    const log = yield* Queue.unbounded<string>()
    const inbox = makeInbox()
    const receive = yield* inbox.consume(
      (replies) =>
        Queue.offerAll(
          log,
          replies.map(({ run_id }) => `handled ${run_id}`)
        ),
      { answerable: answerable(late) }
    )
    /** A long answer of the team to the run. */
    const long = (team: string, run_id: RunId, aside: Effect.Effect<void, Unavailable>): Received => ({
      ...{
        team: TeamName.make(team),
        run_id,
        bytes: 20_000,
        isLong: true,
        skip: () => log.unsafeOffer(`skipped ${run_id}`)
      },
      read: (): Reply => {
        log.unsafeOffer(`read ${run_id}`)
        return { _tag: "Answered", run_id, response: "long" }
      },
      setAside: Effect.zipRight(aside, Queue.offer(log, `aside ${run_id}`)),
      acknowledge: () => log.unsafeOffer(`acknowledged ${run_id}`)
    })
    return { receive, long, next: (count: number) => Effect.map(Queue.takeN(log, count), (lines) => [...lines]) }
  })

  it.scoped("that come late are set aside unread, and handled when they are received as late ones", () =>
    Effect.gen(function* () {
      const [a, b, live] = (yield* newRuns(3)) as [RunId, RunId, RunId]
      const { long, next, receive } = yield* start(new Set([a, b]))
      const mayGo = yield* Deferred.make<void>()
      for (const run_id of [a, b, live]) receive.reply(long("loud", run_id, Deferred.await(mayGo)))
      const handled = (run_id: RunId) => [`read ${run_id}`, `handled ${run_id}`, `acknowledged ${run_id}`]
      expect(yield* next(3)).toEqual(handled(live))
      yield* Deferred.succeed(mayGo, undefined)
      expect(yield* next(4)).toEqual([`aside ${a}`, `acknowledged ${a}`, `aside ${b}`, `acknowledged ${b}`])
      receive.late(long("loud", a, Effect.void))
      expect(yield* next(3)).toEqual(handled(a))
    })
  )

  it.scoped("that come late are handled immediately when they cannot be set aside", () =>
    Effect.gen(function* () {
      const [run_id] = (yield* newRuns(1)) as [RunId]
      const { long, next, receive } = yield* start(new Set([run_id]))
      receive.reply(long("loud", run_id, new Unavailable({ what: "broker", detail: "an alarm" })))
      expect(yield* next(3)).toEqual([`read ${run_id}`, `handled ${run_id}`, `acknowledged ${run_id}`])
    })
  )
})

describe("on RabbitMQ, long answers that come late", () => {
  /** `send` replies for a run of a team; `handled` are those that the server has handled, with how long they were. */
  const start = Effect.fnUntraced(function* (late: ReadonlySet<RunId>, isOver = (_: RunId) => false) {
    const url = yield* freshVhost
    const context = yield* Layer.build(BusAmqp.layer({ url: Redacted.make(url), queueType: "classic" }))
    const bus = Context.get(context, Bus)
    yield* Effect.provide(untilUp, context)
    const channel = yield* rawChannel(url)
    const handled = yield* Queue.unbounded<readonly [RunId, number]>()
    const correlation: Correlation = {
      subjectOf: (id) => ({ team: TeamName.make(id.split(" ")[0]!), run_id: id.split(" ")[1] as RunId })
    }
    yield* bus.consume(
      (replies) =>
        Queue.offerAll(
          handled,
          replies.map((one) => [one.run_id, one._tag === "Answered" ? one.response.length : 0] as const)
        ),
      { correlation, answerable: answerable(late), isOver }
    )
    const send = (team: string, run_id: RunId, length: number) =>
      reply(channel, "x".repeat(length), {
        type: "response",
        contentType: "text/plain",
        correlationId: `${team} ${run_id}`
      })
    return { channel, send, next: (count: number) => Effect.map(Queue.takeN(handled, count), (all) => [...all]) }
  })
  const countedLate = Effect.map(Metric.value(Metric.tagged(received, "kind", "late")), ({ count }) => count)
  const length = 300_000

  it.scopedLive("are all stored, in their order, by way of a queue of their own", () =>
    Effect.gen(function* () {
      // More than a server takes from the broker at a time.
      const runs = yield* newRuns(45)
      const [quiet] = (yield* newRuns(1)) as [RunId]
      const { next, send } = yield* start(new Set(runs))
      const before = yield* countedLate
      const sent = [runs[0]!, ...runs].map((run_id, n) => [run_id, length + n] as const)
      for (const [run_id, length] of sent) yield* send("loud", run_id, length)
      yield* send("quiet", quiet, length)
      const all = yield* next(47)
      expect(all.filter(([run_id]) => run_id !== quiet)).toEqual(sent)
      expect((yield* countedLate) - before).toBe(46)
    }).pipe(Logger.withMinimumLogLevel(LogLevel.None))
  )

  it.scopedLive("are not read, of a run that takes no reply any more, nor is anything else of it", () =>
    Effect.gen(function* () {
      const [over, other] = (yield* newRuns(2)) as [RunId, RunId]
      const { next, send } = yield* start(new Set([over, other]), (run_id: RunId) => run_id === over)
      const ended = Effect.map(Metric.value(Metric.tagged(received, "kind", "ended")), ({ count }) => count)
      const before = yield* ended
      yield* send("loud", over, length)
      yield* send("loud", over, 10)
      yield* send("loud", other, length)
      expect(yield* next(1)).toEqual([[other, length]])
      expect((yield* ended) - before).toBe(2)
    }).pipe(Logger.withMinimumLogLevel(LogLevel.None))
  )

  it.scopedLive("are stored although that queue's exchange was deleted", () =>
    Effect.gen(function* () {
      const [run_id] = (yield* newRuns(1)) as [RunId]
      const { channel, next, send } = yield* start(new Set([run_id]))
      yield* Effect.promise(() => channel.deleteExchange("webhook.replies.late"))
      yield* send("loud", run_id, length)
      expect(yield* next(1)).toEqual([[run_id, length]])
    }).pipe(Logger.withMinimumLogLevel(LogLevel.None))
  )
})
