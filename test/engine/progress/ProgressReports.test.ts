import { Effect, Fiber, Layer } from "effect"
import { Unavailable } from "../../../src/domain/Errors.ts"
import { makeRunId } from "../../../src/domain/Id.ts"
import { ProgressReports } from "../../../src/engine/progress/ProgressReports.ts"
import { type ProgressReport, ProgressStore } from "../../../src/repo/run/ProgressStore.ts"
import { advance } from "../../../src/testing.ts"
import { describe, expect, it } from "../../support/It.ts"

const make = (refuse: () => boolean = () => false) =>
  Effect.gen(function* () {
    const written: Array<ReadonlyArray<ProgressReport>> = []
    const store = Layer.succeed(
      ProgressStore,
      ProgressStore.of({
        addProgress: (reports) =>
          Effect.suspend(() => {
            if (refuse()) return new Unavailable({ what: "database", detail: "for the test" })
            written.push(reports)
            return Effect.void
          }),
        newsOf: () => Effect.succeed([]),
        stepsOf: () => Effect.succeed(new Map()),
        removeSteps: () => Effect.succeed(0),
        removeProgress: () => Effect.void
      })
    )
    const context = yield* Layer.build(Layer.provide(ProgressReports.layer, store))
    return { written, reports: yield* Effect.provide(ProgressReports, context) }
  })

describe("the progress that leaders report", () => {
  it.effect("is written four times a second, for all runs together, each with one report", function* () {
    const { reports, written } = yield* make()
    const [one, two] = [yield* makeRunId, yield* makeRunId]
    for (let seq = 0; seq < 100; seq++) {
      reports.add({ run_id: one, seq, text: "." })
      reports.add({ run_id: two, seq, activity: `step ${seq}` })
      yield* advance("10 millis")
    }
    expect(written.length).toBeLessThanOrEqual(5)
    const ofOne = written.flat().filter(({ run_id }) => run_id === one)
    expect(ofOne.map(({ text }) => text).join("")).toBe(".".repeat(100))
    expect(written.at(-1)).toMatchObject([{ run_id: one }, { run_id: two }])
  })

  it.effect("is merged, and starts anew when the work starts over", function* () {
    const { reports, written } = yield* make()
    const run_id = yield* makeRunId
    reports.add({ run_id, seq: 4, text: "a", activity: "one" })
    reports.add({ run_id, seq: 5, text: "b" })
    yield* advance("250 millis")
    reports.add({ run_id, seq: 6, text: "c" })
    reports.add({ run_id, seq: 0, text: "d" })
    reports.add({ run_id, seq: 1, activity: "two" })
    yield* advance("250 millis")
    expect(written).toEqual([
      [{ run_id, first_seq: 4, seq: 5, text: "ab", activity: "one" }],
      [{ run_id, first_seq: 0, seq: 1, text: "d", activity: "two" }]
    ])
  })

  it.effect("takes no more memory than 8 Mi characters, whatever leaders send", function* () {
    const { reports, written } = yield* make()
    for (let run = 0; run < 1_000; run++) {
      const run_id = yield* makeRunId
      for (let seq = 0; seq < 10; seq++) reports.add({ run_id, seq, text: "x".repeat(64 * 1024) })
    }
    yield* advance("1 second")
    const length = written.map((group) => group.reduce((sum, { text = "" }) => sum + text.length, 0))
    expect(Math.max(...length)).toBeLessThanOrEqual(8 * 1024 * 1024)
  })

  it.effect("is known to be stored, or lost, by those who wait for it", function* () {
    let refusals = 0
    const { reports, written } = yield* make(() => refusals-- > 0)
    const run_id = yield* makeRunId
    yield* reports.record({ run_id, seq: 0, text: "stored" })
    expect(written).toEqual([[{ run_id, first_seq: 0, seq: 0, text: "stored" }]])
    refusals = 1
    const lost = yield* Effect.forkChild(reports.record({ run_id, seq: 1, text: "lost" }))
    yield* advance("250 millis")
    yield* Fiber.join(lost)
    const next = yield* Effect.forkChild(reports.record({ run_id, seq: 2, text: "next" }))
    yield* advance("250 millis")
    yield* Fiber.join(next)
    expect(written.flat().map(({ text }) => text)).toEqual(["stored", "next"])
  })
})
