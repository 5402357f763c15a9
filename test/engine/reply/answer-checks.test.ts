/** Answers that must match a schema, while the machine is busy. */

import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer, References } from "effect"
import { Bus, LeaderBus } from "../../../src/bus/Bus.ts"
import * as BusMemory from "../../../src/bus/BusMemory.ts"
import { Unavailable } from "../../../src/domain/Errors.ts"
import type { RunId } from "../../../src/domain/Id.ts"
import { Outcomes } from "../../../src/engine/outcome/Outcomes.ts"
import { Evaluator } from "../../../src/engine/prompt/Evaluator.ts"
import { ReplyRecorder } from "../../../src/engine/reply/ReplyRecorder.ts"
import { Steps } from "../../../src/engine/step/Steps.ts"
import { FileStore } from "../../../src/repo/run/FileStore.ts"
import { busy } from "../../../src/runtime/TimeLimit.ts"
import { byRunId, makePrompt, team } from "../../bus/contract/support.ts"
import { untilEffect } from "../../support/Until.ts"

/** A service with the methods that are used. */
const partly = <I, S>(tag: Context.Service<I, S>, methods: Partial<NoInfer<S>>) => Layer.succeed(tag, methods as S)

/** Records replies of a leader that sends each answer, and then that it failed. Valid JSON has a schema to match. */
const recording = Effect.gen(function* () {
  const state = { isBusy: true, isAway: false, tries: 0 }
  const ended = new Map<RunId, string>()
  const evaluate = () =>
    Effect.suspend(() => {
      state.tries++
      return state.isBusy ? busy : Effect.succeed([])
    })
  const endAll: Steps["Service"]["endAll"] = (ends) =>
    Effect.suspend(() => {
      if (state.isAway && ends.some(({ isChecked }) => isChecked)) {
        state.isAway = false
        return new Unavailable({ what: "database", detail: "away for the test" })
      }
      return Effect.succeed(
        ends.map(({ isChecked, outcome, run_id }, index) => {
          // As in the database, the first reply of a group decides.
          if (ends.findIndex((end) => end.run_id === run_id) < index || ended.has(run_id))
            return { recorded: false, run: undefined }
          if (outcome.status === "success" && outcome.response.startsWith("{") && !isChecked)
            return { recorded: false, run: undefined, unchecked: { team, answer_schema: {} } }
          ended.set(run_id, outcome.status)
          return { recorded: true, run: undefined }
        })
      )
    })
  const services = Layer.mergeAll(
    partly(Evaluator, { evaluate: evaluate as Evaluator["Service"]["evaluate"] }),
    partly(Steps, { endAll }),
    partly(Outcomes, { progress: () => {} }),
    partly(FileStore, {})
  )
  const recorder = yield* Layer.build(Layer.provide(ReplyRecorder.layer, services))
  const { handle, isOver } = Context.get(recorder, ReplyRecorder)
  const bus = yield* Bus
  yield* bus.consume(handle, { correlation: byRunId, isOver })
  yield* (yield* LeaderBus).lead(team, ({ prompt: { prompt }, reply }) =>
    Effect.andThen(reply({ _tag: "Answered", response: prompt }), reply({ _tag: "Failed", message: "no" }))
  )
  const answer = (text: string) =>
    Effect.gen(function* () {
      const prompt = yield* makePrompt({ prompt: text })
      yield* bus.publish(prompt)
      return prompt.run_id
    })
  const untilEnded = (run_id: RunId) =>
    untilEffect(
      "the run has ended",
      Effect.sync(() => ended.has(run_id))
    )
  const waiting = (count: number) =>
    untilEffect(
      `${count} replies are unacknowledged`,
      Effect.map(bus.repliesWaiting, (waiting) => waiting === count)
    )
  return { answer, ended, handle, state, untilEnded, waiting }
})

const test = (name: string, body: Effect.Effect<void, unknown, Effect.Services<typeof recording>>) =>
  it.live(name, () =>
    body.pipe(Effect.provide(BusMemory.layer), Effect.provideService(References.MinimumLogLevel, "None"))
  )

test(
  "a valid answer stays unacknowledged while the server is too busy to check it, delays no others, and then counts",
  Effect.gen(function* () {
    const { answer, ended, state, untilEnded, waiting } = yield* recording
    const slow = yield* answer('{"verdict":"approve"}')
    yield* untilEffect(
      "the check was tried again",
      Effect.sync(() => state.tries > 1)
    )
    const other = yield* answer("text")
    yield* untilEnded(other)
    yield* waiting(2)
    expect(ended.has(slow)).toBe(false)
    state.isBusy = false
    yield* waiting(0)
    expect(ended.get(slow)).toBe("success")
  })
)

test(
  "an answer is checked again if its end could not be committed",
  Effect.gen(function* () {
    const { answer, ended, state, waiting, untilEnded } = yield* recording
    Object.assign(state, { isBusy: false, isAway: true })
    const run_id = yield* answer('{"verdict":"approve"}')
    yield* untilEnded(run_id)
    yield* waiting(0)
    expect([ended.get(run_id), state.tries]).toEqual(["success", 2])
  })
)

test(
  "a leader over HTTP has sent its answer when that is checked and committed",
  Effect.gen(function* () {
    const { ended, handle, state } = yield* recording
    state.isBusy = false
    const { run_id } = yield* makePrompt({ prompt: "Review it." })
    yield* handle([{ _tag: "Answered", run_id, response: "{}" }])
    expect(ended.get(run_id)).toBe("success")
  })
)
