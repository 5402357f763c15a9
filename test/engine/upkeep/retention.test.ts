import { DateTime, Duration, Effect, Layer, Option } from "effect"
import { auditEventIdAt, makeRunId } from "../../../src/domain/Id.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import * as Upkeep from "../../../src/engine/upkeep/Upkeep.ts"
import { HistoryStore } from "../../../src/repo/history/HistoryStore.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance, layerRepo } from "../../../src/testing.ts"
import { acceptOne, step } from "../../repo/contract/fixtures.ts"
import { describe, expect, it } from "../../support/It.ts"

const team = TeamName.make("ops")

const accept = Effect.gen(function* () {
  const run_id = yield* makeRunId
  const run = { run_id, source: "chat", team, mode: "async", prompt: "hello", variables: {} } as const
  const accepted_at = yield* DateTime.now
  yield* acceptOne({ ...run, timeout: Duration.seconds(1), accepted_at })
  return run_id
})

const world = (retention: Option.Option<Duration.Duration>) =>
  Upkeep.runRetention(retention).pipe(Layer.provideMerge(layerRepo))

describe("audit events past their retention", () => {
  const story = Effect.gen(function* () {
    const repo = yield* Repo
    const now = yield* DateTime.now
    const id = auditEventIdAt(now.epochMilliseconds)
    yield* repo.recordAudit({ id, at: now, action: "session.ended", actor: "session" })
    const left = Effect.map(repo.auditEvents({ limit: 9 }), ({ data }) => data.length)
    yield* advance("9 hours")
    const before = yield* left
    yield* advance("3 hours")
    return [before, yield* left]
  })
  const world = (retention: Option.Option<Duration.Duration>) =>
    Upkeep.auditRetention(retention).pipe(Layer.provideMerge(layerRepo))

  it.effect("are removed once they are too old", () =>
    Effect.gen(function* () {
      expect(yield* story).toEqual([1, 0])
    }).pipe(Effect.provide(world(Option.some(Duration.hours(10)))))
  )

  it.effect("stay when there is no retention", () =>
    Effect.gen(function* () {
      expect(yield* story).toEqual([1, 1])
    }).pipe(Effect.provide(world(Option.none())))
  )
})

describe("steps past their retention", () => {
  const story = Effect.gen(function* () {
    const repo = yield* Repo
    yield* repo.createTeam(team, yield* DateTime.now)
    const run_id = yield* accept
    yield* repo.addProgress([
      { run_id, first_seq: 0, seq: 0, steps: [{ title: "Bash: ls", at: "2026-01-02T03:04:05Z" }] }
    ])
    const left = Effect.map(repo.stepsOf([run_id]), (steps) => steps.size)
    yield* advance("9 hours")
    const before = yield* left
    yield* advance("3 hours")
    return [before, yield* left]
  })
  const world = (retention: Option.Option<Duration.Duration>) =>
    Upkeep.stepsRetention(retention).pipe(Layer.provideMerge(layerRepo))

  it.effect("are removed once they are too old, and stay when there is no retention", function* () {
    expect(yield* story.pipe(Effect.provide(world(Option.some(Duration.hours(10)))))).toEqual([1, 0])
    expect(yield* story.pipe(Effect.provide(world(Option.none())))).toEqual([1, 1])
  })
})

describe("runs past their retention", () => {
  const story = Effect.gen(function* () {
    const repo = yield* Repo
    yield* repo.createTeam(team, yield* DateTime.now)
    const unfinished = yield* accept
    const ended = yield* accept
    yield* step({ ends: [{ run_id: ended, at: yield* DateTime.now, outcome: { status: "success", response: "hi" } }] })
    const left = Effect.filter([unfinished, ended], (id) => Effect.map(Effect.option(repo.run(id)), Option.isSome))
    yield* advance("9 minutes")
    const before = yield* left
    yield* advance("3 minutes")
    return { unfinished, ended, before, after: yield* left }
  })

  it.effect("are removed once they are too old, and unfinished runs never", () =>
    Effect.gen(function* () {
      const { after, before, ended, unfinished } = yield* story
      expect(before).toEqual([unfinished, ended])
      expect(after).toEqual([unfinished])
    }).pipe(Effect.provide(world(Option.some(Duration.minutes(10)))))
  )

  it.effect("stay when there is no retention", () =>
    Effect.gen(function* () {
      const { after, ended, unfinished } = yield* story
      expect(after).toEqual([unfinished, ended])
    }).pipe(Effect.provide(world(Option.none())))
  )

  it.effect("are removed a portion at a time, with a rest after each", () => {
    let portions = 0
    const store = Layer.effect(
      HistoryStore,
      Effect.map(HistoryStore, (store) =>
        HistoryStore.of({ ...store, purge: () => Effect.sync(() => (++portions < 3 ? 1_000 : 0)) })
      )
    ).pipe(Layer.provide(layerRepo))
    return Effect.gen(function* () {
      yield* Effect.yieldNow
      expect(portions).toBe(1)
      yield* advance("1 second")
      expect(portions).toBe(3)
    }).pipe(Effect.provide(Upkeep.runRetention(Option.some(Duration.days(1))).pipe(Layer.provide(store))))
  })
})
