import { DateTime, Deferred, Effect, Layer, Queue } from "effect"
import { Bus } from "../../../src/bus/Bus.ts"
import * as BusMemory from "../../../src/bus/BusMemory.ts"
import type { RunId } from "../../../src/domain/Id.ts"
import { makeRunId } from "../../../src/domain/Id.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import * as ProgressRecorder from "../../../src/engine/outcome/ProgressRecorder.ts"
import { RunStore } from "../../../src/repo/run/RunStore.ts"
import { advance } from "../../../src/testing.ts"
import { expect, it } from "../../support/It.ts"

it.effect("an end that is recorded while a start is being written has that start, too", () =>
  Effect.gen(function* () {
    const writing = yield* Deferred.make<ReadonlyArray<RunId>>()
    const mayWrite = yield* Deferred.make<void>()
    const written = yield* Deferred.make<void>()
    const store = {
      started: (events: ReadonlyArray<{ readonly run_id: RunId }>) =>
        Deferred.succeed(
          writing,
          events.map(({ run_id }) => run_id)
        ).pipe(
          Effect.andThen(Deferred.await(mayWrite)),
          Effect.andThen(Effect.as(Deferred.succeed(written, undefined), []))
        )
    } as unknown as typeof RunStore.Service
    const recorder = yield* Effect.provideService(ProgressRecorder.make, RunStore, store)
    const [run, other] = [yield* makeRunId, yield* makeRunId]
    const started_at = yield* DateTime.now
    recorder.add(run, { started_at })
    yield* advance("1 second")
    expect(yield* Deferred.await(writing)).toEqual([run])
    expect(recorder.take(run)).toEqual({ started_at })
    expect(recorder.take(other)).toEqual({})
    yield* Deferred.succeed(mayWrite, undefined)
    yield* Deferred.await(written)
    yield* advance("1 second")
    expect(recorder.take(run)).toEqual({})
  }).pipe(Effect.provide(BusMemory.layer))
)

it.effect("a leader that starts a run that is over is told to stop", function* () {
  const [live, over] = [yield* makeRunId, yield* makeRunId]
  const told = yield* Queue.unbounded<readonly [string, RunId]>()
  const recorder = yield* ProgressRecorder.make.pipe(
    Effect.provide(
      Layer.mock(RunStore, { started: () => Effect.succeed([{ run_id: over, team: TeamName.make("deploy") }]) })
    ),
    Effect.provide(
      Layer.mock(Bus, { durable: true, cancel: (team, id) => Effect.asVoid(Queue.offer(told, [team, id])) })
    )
  )
  const started_at = yield* DateTime.now
  for (const id of [live, over]) recorder.add(id, { started_at })
  yield* advance("1 second")
  expect(yield* Queue.take(told)).toEqual(["deploy", over])
  expect(yield* Queue.size(told)).toBe(0)
})
