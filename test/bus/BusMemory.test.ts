import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Queue, Scope, TestClock } from "effect"
import { Bus, type Delivery, LeaderBus } from "../../src/bus/Bus.ts"
import * as BusMemory from "../../src/bus/BusMemory.ts"
import { collectReports, contract, makePrompt, team } from "./contract.ts"

describe("the bus in process", () => {
  contract(BusMemory.layer)

  it.scoped("keeps time by Effect's clock", () =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const leaders = yield* LeaderBus
      const reports = yield* collectReports
      const scope = yield* Scope.make()
      yield* Scope.extend(
        leaders.lead(team, () => Effect.never),
        scope
      )
      yield* Scope.close(scope, Exit.void)
      const prompt = yield* makePrompt({ deadline: new Date(300_000) })
      yield* bus.publish(prompt)
      yield* TestClock.adjust("299 seconds")
      expect((yield* bus.queue(team)).messages).toBe(1)
      yield* TestClock.adjust("1 second")
      expect(yield* Queue.take(reports)).toEqual({ _tag: "Dead", run_id: prompt.run_id, reason: "expired" })
      expect((yield* bus.queue(team)).messages).toBe(0)
    }).pipe(Effect.provide(BusMemory.layer))
  )

  it.scopedLive("loses no prompt while leaders come and go", () =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const leaders = yield* LeaderBus
      const done: Array<string> = []
      const handle = ({ prompt }: Delivery) =>
        Effect.map(Effect.yieldNow(), () => {
          done.push(prompt.prompt)
        })
      yield* Effect.scoped(leaders.lead(team, handle))
      const sent = Array.from({ length: 2000 }, (_, i) => String(i))
      const sending = yield* Effect.fork(
        Effect.forEach(sent, (text) =>
          Effect.zipRight(
            Effect.yieldNow(),
            Effect.flatMap(makePrompt({ prompt: text }), (it) => bus.publish(it))
          )
        )
      )
      while (done.length < sent.length) {
        yield* Effect.scoped(Effect.zipRight(leaders.lead(team, handle), Effect.sleep(1)))
      }
      yield* Fiber.join(sending)
      expect(done).toEqual(sent)
    }).pipe(Effect.provide(BusMemory.layer))
  )
})
