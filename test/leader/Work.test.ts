import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { type Delivery, LeaderBus } from "../../src/bus/Bus.ts"
import type { NumberedProgress } from "../../src/domain/run/Progress.ts"
import { Leader, type LeaderWork } from "../../src/leader/index.ts"
import { makePrompt, team } from "../bus/contract/support.ts"
import { describe, expect, it } from "../support/It.ts"

/** Leads with the handler, delivers one prompt, and collects what is sent; `deliver` delivers the prompt again. */
const leading = (handler: (work: LeaderWork) => Effect.Effect<string>) =>
  Effect.gen(function* () {
    const prompt = yield* makePrompt()
    const sent: Array<NumberedProgress | string> = []
    let deliver: Effect.Effect<void> = Effect.void
    const delivery: Delivery = {
      prompt,
      redelivered: false,
      cancelled: Deferred.makeUnsafe(),
      reply: (reply) => Effect.sync(() => void sent.push(reply._tag)),
      file: () => Effect.die("not asked for"),
      sendFile: () => Effect.die("not sent"),
      progress: (progress) => Effect.sync(() => void sent.push(progress))
    }
    const bus = LeaderBus.of({
      lead: (_team, handle) =>
        Effect.sync(() => {
          deliver = Effect.orDie(handle(delivery))
        })
    })
    yield* Leader.start({ team, handler: (_, work) => handler(work) }).pipe(Effect.provideService(LeaderBus, bus))
    return { sent, deliver }
  })

describe("the progress of a handler", () => {
  it.effect("is sent at once, and then as one report every quarter of a second", function* () {
    const { deliver, sent } = yield* leading((work) =>
      Effect.gen(function* () {
        for (let i = 0; i < 100; i++) {
          yield* work.progress({ text: `${i} ` })
          yield* work.progress({ activity: `step ${i}` })
          yield* Effect.sleep("9 millis")
        }
        return "done"
      })
    )
    yield* Effect.forkChild(deliver)
    yield* TestClock.adjust("1 second")
    const reports = sent.filter((it) => typeof it !== "string")
    expect(reports.map(({ activity, seq }) => [seq, activity])).toEqual([
      [0, "step 0"],
      [1, "step 27"],
      [2, "step 55"],
      [3, "step 83"],
      [4, "step 99"]
    ])
    expect(reports.map(({ text }) => text).join("")).toBe(Array.from({ length: 100 }, (_, i) => `${i} `).join(""))
    expect(sent.at(-1)).toBe("Answered")
  })

  it.effect("is sent before the answer, and does not delay it", function* () {
    const { deliver, sent } = yield* leading((work) =>
      Effect.as(Effect.andThen(work.progress({ text: "a" }), work.progress({ text: "b" })), "done")
    )
    yield* deliver
    expect(sent).toEqual(["Started", { seq: 0, text: "ab" }, "Answered"])
  })

  it.effect("is bounded in memory, and is not sent if it says nothing", function* () {
    const { deliver, sent } = yield* leading((work) =>
      Effect.gen(function* () {
        yield* work.progress({})
        yield* work.progress({ text: "" })
        for (let i = 0; i < 100; i++) yield* work.progress({ text: "x".repeat(10_000) })
        yield* work.progress({ text: "end" })
        return "done"
      })
    )
    yield* deliver
    const [, report, answer] = sent
    expect(report).toEqual({ seq: 0, text: `${"x".repeat(64 * 1024 - 3)}end` })
    expect(answer).toBe("Answered")
  })
})
