/** Work ends: what a timeout, a cancel and a deletion mean for an agent that is at work. */

import { Context, Deferred, Duration, Effect, Exit, Fiber, Layer, Logger, Scope } from "effect"
import { Bus, type Delivery } from "../../../src/bus/Bus.ts"
import * as BusMemory from "../../../src/bus/BusMemory.ts"
import type { RunId } from "../../../src/domain/Id.ts"
import { Cancellation } from "../../../src/engine/manage/Cancellation.ts"
import { Webhooks } from "../../../src/engine/manage/Webhooks.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance, layerRepo } from "../../../src/testing.ts"
import { describe, expect, it } from "../../support/It.ts"
import {
  engine,
  engineInMemory,
  inFlight,
  lead,
  makeTeam,
  makeWebhook,
  onEngine,
  onEngineWith,
  statusOf,
  until
} from "../Scenario.ts"

const runOf = (id: RunId) => Effect.flatMap(Repo, (repo) => repo.run(id))
const isTold = ({ cancelled }: Delivery) => Deferred.isDone(cancelled)
const slotIsFree = until(Effect.map(inFlight, (total) => total === 0))

const seconds = (count: number) => advance(Duration.seconds(count))

/** The run's leader has started it. */
const startOf = ({ prompt, reply }: Delivery) =>
  Effect.andThen(
    reply({ _tag: "Started" }),
    until(Effect.map(runOf(prompt.run_id), ({ started_at }) => started_at !== undefined))
  ).pipe(Effect.tap(advance("100 millis")))

describe("work ends", () => {
  onEngineWith({ maxConcurrent: 1 })(
    "an asynchronous run's timeout tells the leader to stop, and holds the slot until the leader is done",
    function* () {
      const team = yield* makeTeam("deploy")
      const leader = yield* lead(team)
      const webhook = yield* makeWebhook(team, { timeout_seconds: 10 })
      const [first, second] = [yield* webhook.submit("first"), yield* webhook.submit("second")]
      const delivery = yield* leader.next
      yield* delivery.reply({ _tag: "Started" })
      yield* seconds(9)
      expect([yield* statusOf(first), yield* isTold(delivery)]).toEqual(["running", false])
      yield* seconds(3)
      expect(yield* statusOf(first)).toBe("timeout")
      yield* Deferred.await(delivery.cancelled)
      yield* seconds(20)
      expect(yield* inFlight).toBe(1)
      expect((yield* runOf(second)).sent_at).toBeUndefined()
      yield* leader.fail("stopped", { usage: { cost_usd: 2 } })
      expect((yield* leader.next).prompt.run_id).toBe(second)
      const run = yield* runOf(first)
      expect(run).toMatchObject({ status: "timeout", usage: { cost_usd: 2 } })
      expect([run.released_at !== undefined, run.unconfirmed]).toEqual([true, undefined])
    }
  )

  onEngine("the agent of a caller who has stopped waiting goes on, but not for longer than it may work", function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const own = yield* makeWebhook(team, { timeout_seconds: 10, max_work_seconds: 30 })
    const brief = yield* makeWebhook(team, { timeout_seconds: 10, max_work_seconds: 1 })
    const asking = yield* Effect.forkChild(own.ask("slow"))
    const slow = yield* leader.next
    yield* startOf(slow)
    yield* seconds(12)
    const { run_id } = yield* Fiber.join(asking)
    expect(yield* statusOf(run_id)).toBe("timeout")
    yield* seconds(15)
    expect([yield* isTold(slow), yield* inFlight]).toEqual([false, 1])
    yield* seconds(10)
    yield* Deferred.await(slow.cancelled)
    yield* leader.answer("too late")
    yield* slotIsFree
    expect(yield* runOf(run_id)).toMatchObject({ status: "timeout", conversation: { response: "too late" } })

    // At least the timeout.
    const again = yield* Effect.forkChild(brief.ask("brief"))
    const late = yield* leader.next
    yield* startOf(late)
    yield* seconds(9)
    expect([yield* statusOf(late.prompt.run_id), yield* isTold(late)]).toEqual(["running", false])
    yield* seconds(4)
    expect((yield* Fiber.join(again)).status).toBe("timeout")
    yield* Deferred.await(late.cancelled)
  })

  onEngine("a run that has ended while its agent works can be cancelled", function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team, { timeout_seconds: 10 })
    const asking = yield* Effect.forkChild(webhook.ask("slow"))
    const delivery = yield* leader.next
    yield* startOf(delivery)
    yield* seconds(12)
    const { run_id } = yield* Fiber.join(asking)
    const { cancel } = yield* Cancellation
    const cancelled = yield* cancel(run_id)
    expect(cancelled).toMatchObject({ status: "timeout", cancelled_by: "host" })
    yield* seconds(1)
    yield* Deferred.await(delivery.cancelled)
    yield* leader.fail("stopped")
    yield* slotIsFree
    expect((yield* cancel(run_id)).status).toBe("timeout")
  })

  it.effect(
    "a leader that does not confirm the stop holds the slot for 30 seconds, and then that is known",
    function* () {
      const warnings: Array<unknown> = []
      const logger = Logger.make(({ logLevel, message }) => {
        if (logLevel === "Warn") warnings.push(message)
      })
      yield* Effect.gen(function* () {
        const team = yield* makeTeam("deploy")
        const leader = yield* lead(team)
        const id = yield* (yield* makeWebhook(team, { timeout_seconds: 10 })).submit("deaf")
        yield* startOf(yield* leader.next)
        yield* seconds(12)
        expect(yield* statusOf(id)).toBe("timeout")
        yield* seconds(25)
        expect([yield* inFlight, warnings]).toEqual([1, []])
        yield* seconds(6)
        yield* slotIsFree
        expect(warnings).toHaveLength(1)
        expect((yield* runOf(id)).unconfirmed).toBe(true)
        yield* leader.answer("after all")
        yield* until(Effect.map(runOf(id), ({ unconfirmed }) => unconfirmed === undefined))
        expect((yield* runOf(id)).conversation.response).toBe("after all")
      }).pipe(Effect.provide(engineInMemory()), Effect.provide(Logger.layer([logger])))
    }
  )

  it.effect(
    "a server that takes over holds the slot, and tells the leader to stop when its time has come",
    function* () {
      const durable = Layer.flatMap(BusMemory.layer, (context) =>
        Layer.succeedContext(Context.add(context, Bus, { ...Context.get(context, Bus), durable: true }))
      )
      const kept = yield* Layer.build(Layer.merge(layerRepo, durable))
      const start = (scope: Scope.Scope) =>
        Layer.buildWithScope(Layer.provide(engine(), Layer.succeedContext(kept)), scope)
      const first = yield* Scope.make()
      const { delivery, leader } = yield* Effect.gen(function* () {
        const team = yield* makeTeam("deploy")
        const leader = yield* lead(team)
        const webhook = yield* makeWebhook(team, { timeout_seconds: 10, max_work_seconds: 60 })
        const asking = yield* Effect.forkChild(webhook.ask("slow"))
        const delivery = yield* leader.next
        yield* startOf(delivery)
        yield* seconds(12)
        yield* Fiber.join(asking)
        return { delivery, leader }
      }).pipe(Effect.provide(yield* start(first)), Effect.provide(kept))
      yield* Scope.close(first, Exit.void)

      yield* Effect.gen(function* () {
        yield* until(Effect.map(inFlight, (total) => total === 1))
        yield* seconds(30)
        expect(yield* isTold(delivery)).toBe(false)
        yield* seconds(20)
        yield* Deferred.await(delivery.cancelled)
        expect(yield* inFlight).toBe(1)
        yield* leader.fail("stopped")
        yield* slotIsFree
      }).pipe(Effect.provide(yield* start(yield* Effect.scope)), Effect.provide(kept))
    }
  )

  onEngine("the leader of a deleted run is told to stop", function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team)
    yield* webhook.submit("work")
    const delivery = yield* leader.next
    yield* startOf(delivery)
    yield* (yield* Webhooks).remove(webhook.id)
    yield* slotIsFree
    yield* seconds(1)
    yield* Deferred.await(delivery.cancelled)
  })
})
