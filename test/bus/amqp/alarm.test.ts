import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll, beforeAll } from "vitest"
import { Bus } from "../../../src/bus/Bus.ts"
import { type RabbitMqServer, startRabbitMq } from "../../support/RabbitMq.ts"
import { collectReplies, echo, makePrompt, startLeader, team } from "../contract/support.ts"
import { again, behaviour, refusal, roundTrip } from "./Wires.ts"

describe("a broker with an alarm", () => {
  const dir = mkdtempSync(join(tmpdir(), "bus-alarm-"))

  let broker: RabbitMqServer

  beforeAll(async () => {
    broker = await startRabbitMq({ dir })
  })

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
        expect(yield* refusal(bus.publish(prompt))).toBe("the broker did not confirm in time")
        // It fails unless the refusal comes without any wait.
        for (let i = 0; i < 5; i++) Effect.runSync(refusal(bus.publish(prompt)))
        expect((yield* Effect.result(bus.ping))._tag).toBe("Failure")
        expect((yield* bus.queue(team)).consumers).toBe(1)
        yield* Effect.promise(() => broker.control("set_vm_memory_high_watermark", "0.4"))
        yield* Effect.retry(bus.publish(prompt), again)
        yield* roundTrip(replies)
        expect(seen.filter((id) => id === prompt.run_id)).toHaveLength(1)
      }),
    { url: () => broker.url }
  )
})
