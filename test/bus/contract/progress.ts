/** What a leader reports while it works. */
import { expect } from "@effect/vitest"
import { Deferred, Effect, Queue } from "effect"
import { Bus, type Delivery, type RunProgress } from "../../../src/bus/Bus.ts"
import { type Behaviour, byRunId, collectReplies, makePrompt, startLeader } from "./support.ts"

/** All progress that servers get, each with the number of its server. Reports are lost until a server listens. */
const observe = (servers: number) =>
  Effect.gen(function* () {
    const bus = yield* Bus
    const observed = yield* Queue.unbounded<{ readonly server: number; readonly progress: RunProgress }>()
    const listening = yield* Deferred.make<void>()
    for (let server = 0; server < servers; server++) {
      yield* bus.consume(() => Effect.void, {
        correlation: byRunId,
        progress: (progress) => {
          if (progress.activity === "starting") Deferred.doneUnsafe(listening, Effect.void)
          else Queue.offerUnsafe(observed, { server, progress })
        }
      })
    }
    const untilListening = (delivery: Delivery) =>
      delivery
        .progress({ seq: 0, activity: "starting" })
        .pipe(Effect.andThen(Effect.sleep("20 millis")), Effect.repeat({ until: () => Deferred.isDone(listening) }))
    return { observed, untilListening }
  })

export const progress = (behaviour: Behaviour): void => {
  behaviour(
    "what a leader reports while it works comes back with the run's id, in order, to one of the servers; reports may be joined",
    function* () {
      const bus = yield* Bus
      const { observed, untilListening } = yield* observe(2)
      const texts = Array.from({ length: 200 }, (_, seq) => `${seq} 🦊`)
      yield* startLeader((delivery) =>
        untilListening(delivery).pipe(
          Effect.andThen(Effect.forEach(texts, (text, seq) => delivery.progress({ seq, text }))),
          Effect.andThen(Effect.never)
        )
      )
      const { run_id } = yield* Effect.tap(makePrompt(), (prompt) => bus.publish(prompt))
      const got = [yield* Queue.take(observed)]
      while (got.at(-1)!.progress.seq < 199) got.push(yield* Queue.take(observed))
      const reports = got.map(({ progress }) => progress)
      expect(reports.map(({ text }) => text).join("")).toBe(texts.join(""))
      expect(reports.map(({ seq }) => seq)).toEqual(reports.map(({ seq }) => seq).sort((a, b) => a - b))
      expect(new Set(reports.map((it) => it.run_id))).toEqual(new Set([run_id]))
      expect(new Set(got.map(({ server }) => server)).size).toBe(1)
    }
  )

  behaviour("progress is storable and short, and none without content is passed on", function* () {
    const bus = yield* Bus
    const { observed, untilListening } = yield* observe(1)
    const goOn = yield* Deferred.make<void>()
    const begun = { kind: "tool", title: "Bash: ls\0", status: "running", result_bytes: 0 } as const
    yield* startLeader((delivery) =>
      untilListening(delivery).pipe(
        Effect.andThen(delivery.progress({ seq: 1 })),
        Effect.andThen(delivery.progress({ seq: 2, text: "", activity: " \n" })),
        Effect.andThen(delivery.progress({ seq: -1, text: "no number" })),
        Effect.andThen(delivery.progress({ seq: 3, text: "a\0b\ud800", activity: " Running\ud800 \r\n the tests" })),
        Effect.andThen(Deferred.await(goOn)),
        Effect.andThen(
          delivery.progress({
            seq: 4,
            steps: [begun, { status: "ok" }],
            text: `${"x".repeat(70_000)}end`,
            activity: "y".repeat(300)
          })
        ),
        Effect.andThen(Effect.never)
      )
    )
    const { run_id } = yield* Effect.tap(makePrompt(), (prompt) => bus.publish(prompt))
    const first = yield* Queue.take(observed)
    yield* Deferred.succeed(goOn, undefined)
    const second = yield* Queue.take(observed)
    expect(first.progress).toEqual({ run_id, seq: 3, text: "a\uFFFDb\uFFFD", activity: "Running\uFFFD" })
    expect(second.progress).toEqual({
      run_id,
      seq: 4,
      steps: [{ ...begun, title: "Bash: ls\uFFFD" }],
      text: `${"x".repeat(64 * 1024 - 3)}end`,
      activity: "y".repeat(200)
    })
  })

  behaviour("a flood of progress does not keep the answer", function* () {
    const bus = yield* Bus
    const replies = yield* collectReplies
    yield* startLeader(({ progress, reply }) =>
      Effect.andThen(
        Effect.forEach(Array.from({ length: 20_000 }).keys(), (seq) => progress({ seq, text: "x".repeat(1000) })),
        reply({ _tag: "Answered", response: "done" })
      )
    )
    const { run_id } = yield* Effect.tap(makePrompt(), (prompt) => bus.publish(prompt))
    expect(yield* Queue.take(replies)).toEqual({ _tag: "Answered", run_id, response: "done" })
  })
}
