import { Effect, Queue } from "effect"
import type { NumberedProgress } from "../../../src/domain/run/Progress.ts"
import type { Leader } from "../Server.ts"

/** A report of progress, or the end. */
type Step =
  | NumberedProgress
  | { readonly answer: string; readonly asks?: ReadonlyArray<string> }
  | { readonly error: string }

/** A leader that does what the test says. */
export const makeLeader = Effect.map(Queue.unbounded<Step>(), (steps) => {
  const leader: Leader = ({ progress, reply }) =>
    Effect.gen(function* () {
      yield* reply({ _tag: "Started" })
      for (;;) {
        const step = yield* Queue.take(steps)
        if ("answer" in step) {
          const report = step.asks === undefined ? {} : { report: { asks: step.asks } }
          return yield* reply({ _tag: "Answered", response: step.answer, ...report })
        }
        if ("error" in step) return yield* reply({ _tag: "Failed", message: step.error })
        yield* progress(step)
      }
    })
  return { leader, does: (...all: ReadonlyArray<Step>) => Queue.offerAll(steps, all) }
})
