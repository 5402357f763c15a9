/** The databases that tests share, one after the other. */

import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance, layerRepo } from "../../../src/testing.ts"
import { expect, it } from "../../support/It.ts"
import { at, createWebhook, queueRun } from "../contract/fixtures.ts"

const names = Effect.flatMap(Repo, (repo) => Effect.map(repo.teams, (teams) => teams.map(({ team }) => team)))

it.effect("have no rows of earlier tests, and still those that every database has", function* () {
  const before = yield* Effect.provide(
    Effect.gen(function* () {
      yield* queueRun(yield* createWebhook())
      expect(yield* names).toEqual(["ops"])
      return yield* Effect.flatMap(Repo, (repo) => repo.replyKey)
    }),
    layerRepo
  )
  yield* Effect.provide(
    Effect.gen(function* () {
      const repo = yield* Repo
      expect([yield* names, yield* repo.lanes]).toEqual([[], []])
      expect(yield* repo.replyKey).toEqual(before)
      expect((yield* repo.claimTick(at(0), false)).due).toBeDefined()
    }),
    layerRepo
  )
})

it.effect("are two when two are needed at once", function* () {
  const one = yield* Layer.build(layerRepo)
  const other = yield* Layer.build(Layer.fresh(layerRepo))
  yield* Effect.provide(createWebhook(), one)
  expect(yield* Effect.provide(names, one)).toEqual(["ops"])
  expect(yield* Effect.provide(names, other)).toEqual([])
})

it.effect("follow the test's clock", () =>
  Effect.gen(function* () {
    const repo = yield* Repo
    yield* TestClock.setTime(at(0).epochMilliseconds)
    expect(yield* repo.databaseTime).toBe(at(0).epochMilliseconds)
    yield* advance("3 seconds")
    expect(yield* repo.databaseTime).toBe(at(3_000).epochMilliseconds)
  }).pipe(Effect.provide(layerRepo))
)

it.live("follow the system's clock without a test's", () =>
  Effect.gen(function* () {
    const { databaseTime } = yield* Repo
    expect(Math.abs((yield* databaseTime) - Date.now())).toBeLessThan(60_000)
  }).pipe(Effect.provide(layerRepo))
)
